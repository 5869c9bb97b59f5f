import { AGENT_NAME_CHARS_MAX, MODELS_COUNTED_MAX } from "../../limits.ts";
import { addCounts, addTokens, costMicro, mostTokens, NO_TOKENS } from "../../price.ts";
import { cutText } from "../../text.ts";
import type { ContextUsage, CreditReservation } from "../../turn.ts";
import type { SessionEvent } from "../event.ts";
import { inTurn, type Session, type Totals } from "../state.ts";

/** The first slice opens the turn's reservation, each further one adds to it. */
export function reserved(session: Session, { data }: SessionEvent<"credits_reserved">): Session {
  const { turnId, amountMicro, price, model } = data;
  const open = session.connection.turn.currentReservation;
  const currentReservation: CreditReservation =
    open === null
      ? {
          turnId,
          reservedMicro: amountMicro,
          slices: 1,
          price,
          spentMicro: costMicro(price, NO_TOKENS),
          ...(model !== undefined && { model }),
        }
      : { ...open, reservedMicro: open.reservedMicro + amountMicro, slices: open.slices + 1 };
  return inTurn(session, { currentReservation });
}

/** What an agent reports covers its whole turn so far; a smaller report takes nothing back. */
export function usageReported(session: Session, { data }: SessionEvent<"usage_reported">): Session {
  const open = session.connection.turn.currentReservation;
  if (open === null || open.turnId !== data.turnId) return session;
  const before = session.connection.turn.lastContextUsage?.tokens ?? NO_TOKENS;
  const tokens = mostTokens(before, data.usage.tokens);
  const spentMicro = costMicro(open.price, tokens);
  return inTurn(session, {
    lastContextUsage: { ...data.usage, tokens },
    currentReservation: { ...open, spentMicro },
  });
}

export function settled(session: Session, { data }: SessionEvent<"credits_settled">): Session {
  const usage = session.connection.turn.lastContextUsage;
  const totals = {
    ...session.totals,
    chargedMicro: addCounts(session.totals.chargedMicro, data.chargedMicro),
    tokensByModel: usage === null ? session.totals.tokensByModel : withUsage(session.totals, usage),
  };
  return inTurn({ ...session, totals }, { currentReservation: null });
}

function withUsage({ tokensByModel }: Totals, usage: ContextUsage): Totals["tokensByModel"] {
  const named = cutText(usage.model ?? "unknown", AGENT_NAME_CHARS_MAX);
  const full = tokensByModel.size >= MODELS_COUNTED_MAX && !tokensByModel.has(named);
  const model = full ? "other" : named;
  const tokens = addTokens(tokensByModel.get(model) ?? NO_TOKENS, usage.tokens);
  return new Map(tokensByModel).set(model, tokens);
}
