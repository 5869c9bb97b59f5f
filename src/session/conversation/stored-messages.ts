import type { PastMessage } from "../../agent/agent.ts";
import type { SessionKey } from "../../store/store.ts";
import type { SessionWorld } from "../world.ts";
import { pastOf } from "./past.ts";

/** What was said in a session, as it is stored, newest first; for an agent that comes to it. */
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
  yield* pastOf({ messageCount, read: (range) => store.readMessages(key, range), missed });
}
