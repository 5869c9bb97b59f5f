import { stringAt } from "../../core/json.ts";
import { SNAPSHOT_BYTES_MAX } from "../../core/limits.ts";
import { type Notice, notice } from "../bus/frame.ts";
import type { LiveSession } from "../live.ts";
import { pendingInteractions } from "./summary.ts";
import { pendingTurn } from "./turn-status.ts";

/**
 * A `session_snapshot`: all that a client needs in order to join without further requests. It tells
 * what is durable, so a client that reads on from here misses nothing.
 */
export function sessionSnapshot(live: LiveSession): Notice {
  const { session } = live;
  const asks = pendingInteractions(session);
  const state = {
    sessionId: session.sessionId,
    currentModelId: currentModel(live),
    currentApprovalMode: session.chosen.approvalMode,
    status: session.connection.sessionState,
    turn: { ...pendingTurn(session) },
  };
  const whole = notice("session_snapshot", { ...state, asks });
  if (whole.bytes <= SNAPSHOT_BYTES_MAX) return whole;
  const named = asks.map(({ requestId, kind, createdAt }) => ({ requestId, kind, createdAt }));
  return notice("session_snapshot", { ...state, asks: named, asksCut: true });
}

/** Without a chosen model, the session uses the agent's own default. */
function currentModel({ session, agent }: LiveSession): string | null {
  const option = agent?.offer.configOptions.find(({ category }) => category === "model");
  const offered = option === undefined ? null : stringAt(option, "currentValue");
  return session.chosen.modelConfig.modelId ?? offered;
}
