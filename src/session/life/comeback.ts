import type { Refusal } from "../../core/error.ts";
import { SUBMIT_TRIES_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import { LET_GO, type LiveSession } from "../live.ts";

/** What was let go between two steps is done once more: then it is opened anew. */
export async function unlessLetGo<Value>(
  act: () => Promise<Result<Value>>,
): Promise<Result<Value>> {
  for (let tries = 1; ; tries += 1) {
    const result = await act();
    const isLetGo = !result.ok && result.refusal === LET_GO;
    if (!isLetGo || tries === SUBMIT_TRIES_MAX) return result;
  }
}

/**
 * Sees to it that a session has an agent, also one whose agent is just being taken down because
 * the last client has left. Answers why it has none; `LET_GO` is for whoever can open it anew.
 */
export async function readied(live: LiveSession): Promise<Refusal | null> {
  for (let tries = 1; ; tries += 1) {
    await live.until((session) => !isResting(session));
    const why = await live.activated();
    if (why?.code === "store_unavailable") return LET_GO;
    if (why?.code !== "session_not_ready" || tries === SUBMIT_TRIES_MAX) return why;
  }
}

/** On its way to rest; one that a client closes does not come back from there by itself. */
function isResting({ connection, ending }: Session): boolean {
  return connection.sessionState === "deactivating" && ending?.reason !== "client_close";
}
