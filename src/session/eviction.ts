import { type Refusal, refusal } from "../core/error.ts";
import { SUBMIT_TRIES_MAX } from "../core/limits.ts";
import type { Result } from "../core/result.ts";
import type { Session } from "../core/session/state.ts";
import { hasTurn } from "../core/status.ts";
import type { LiveSession } from "./live.ts";

/** The command came too late and was not looked at: it can be given to the session opened anew. */
export const EVICTED: Refusal = refusal("store_unavailable", {
  reason: "the session is being let go",
});

/** Does something once more if its session was evicted meanwhile: then it is opened anew. */
export async function retryIfEvicted<Value>(
  act: () => Promise<Result<Value>>,
): Promise<Result<Value>> {
  for (let tries = 1; ; tries += 1) {
    const result = await act();
    const isEvicted = !result.ok && result.refusal === EVICTED;
    if (!isEvicted || tries === SUBMIT_TRIES_MAX) return result;
  }
}

/**
 * Sees to it that a session has an agent, also one whose agent is just being taken down because
 * the last client has left. Answers why it has none; `EVICTED` is for a caller that can open the
 * session anew.
 */
export function ensureAgent(live: LiveSession): Promise<Refusal | null> {
  return onceRested(live, async () => (await live.activate()) ?? agentArrival(live));
}

/** Waits for the agent that is on its way, and asks for no other; answers why there is none. */
export async function agentArrival(live: LiveSession): Promise<Refusal | null> {
  const settled = await live.until(({ connection }) => connection.sessionState !== "activating");
  if (!settled.ok) return settled.refusal;
  const { sessionState: state } = settled.value.connection;
  if (state === "ready" || hasTurn(state)) return null;
  return live.agentFailure ?? refusal("agent_gone", { exit: "before it was ready" });
}

/** The same, without waiting for the agent: answers when it is durable that one is on its way. */
export function wakeAgent(live: LiveSession): Promise<Refusal | null> {
  return onceRested(live, () => live.activate());
}

async function onceRested(
  live: LiveSession,
  activate: () => Promise<Refusal | null>,
): Promise<Refusal | null> {
  for (let tries = 1; ; tries += 1) {
    await live.until((session) => !isResting(session));
    const why = await activate();
    if (why?.code === "store_unavailable") return EVICTED;
    if (why?.code !== "session_not_ready" || tries === SUBMIT_TRIES_MAX) return why;
  }
}

/** On its way to rest; one that a client closes does not come back from there by itself. */
function isResting({ connection, ending }: Session): boolean {
  return connection.sessionState === "deactivating" && ending?.reason !== "client_close";
}
