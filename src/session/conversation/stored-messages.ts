import type { AgentPast, PastMessage } from "../../agent/agent.ts";
import type { Session } from "../../core/session/state.ts";
import type { Range, SessionKey } from "../../store/store.ts";
import type { SessionWorld } from "../world.ts";
import { loggedTurns } from "./logged-turns.ts";
import { pastWith } from "./past.ts";

/** What an agent is told of the past; null for a session that has not had one yet. */
export function agentPast(
  world: SessionWorld,
  { key, epoch }: { readonly key: SessionKey; readonly epoch: string },
  { totals, agentUntold, agentEpoch, agentSessionId: known }: Session,
  hadMessages: boolean,
): AgentPast | null {
  const isNew = totals.turnsCompleted + totals.turnsFailed === 0 && !hadMessages;
  // An agent that was never given a prompt was not told of what had been before it either; one of
  // another epoch, as before a restored backup, may know of what never was.
  const agentSessionId = !agentUntold && agentEpoch === epoch ? known : null;
  if (agentSessionId === null && isNew) return null;
  return { agentSessionId, messages: () => storedMessages(world, key) };
}

/** What was said and done in a session, newest first; for an agent that comes to it. */
export async function* storedMessages(
  { store, log }: SessionWorld,
  key: SessionKey,
): AsyncGenerator<PastMessage> {
  const record = await store.readRecord(key);
  if (!record.ok) return;
  const { messageCount } = record.value;
  const missed = (reason: string) => {
    log("message not told to the agent", { sessionId: key.sessionId, reason });
  };
  const conversation = {
    messageCount,
    read: (range: Range) => store.readMessages(key, range),
    missed,
  };
  yield* pastWith(conversation, loggedTurns({ store, key, missed }));
}
