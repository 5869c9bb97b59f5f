import type { SessionId } from "../../core/id.ts";
import { addCounts } from "../../core/price.ts";
import type { Session } from "../../core/session/state.ts";
import { type Sums, usedByAsides } from "./sums.ts";

/** What was used of a budget: charged for good, or set aside for now. */
export interface Use {
  readonly chargedMicro: number;
  readonly openMicro: number;
}

/** What the turns of a session have used, as its own log tells. */
export function usedByTurns({ totals, connection }: Session): Use {
  const openMicro = connection.turn.currentReservation?.reservedMicro ?? 0;
  return { chargedMicro: totals.chargedMicro, openMicro };
}

/** What was asked beside a session has used, which only the ledger knows. */
export function usedBeside(sums: Sums, sessionId: SessionId): Use {
  const chargedMicro = sums.asidesBySession.get(sessionId) ?? 0;
  return { chargedMicro, openMicro: usedByAsides(sums, sessionId) - chargedMicro };
}

/**
 * The one figure of what a session has used of its budget: by it turns are weighed and people are
 * warned, and it is what the session's own statistics show.
 */
export function usedInAll(turns: Use, beside: Use): Use {
  return {
    chargedMicro: addCounts(turns.chargedMicro, beside.chargedMicro),
    openMicro: addCounts(turns.openMicro, beside.openMicro),
  };
}
