import type { PastMessage } from "../../agent/agent.ts";
import type { Range, SessionKey } from "../../store/store.ts";
import type { SessionWorld } from "../world.ts";
import { loggedTurns } from "./logged-turns.ts";
import { pastWith } from "./past.ts";

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
