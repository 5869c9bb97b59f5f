import { fail, ok, type Result } from "../../core/result.ts";
import { describeHolder, isAliveHere, thisHolder } from "../../store/holder.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { operatorEntry, runOnStored } from "./stored-session.ts";

const SEIZE_USAGE = `Usage: fermata seize ID [--data DIR] [--tenant NAME]

Frees a session whose server is gone for good but cannot be proved to be, as after
a move to another machine or under another host name. The audit says so.

Only a person can know that. A server that still runs loses the session: what it
writes afterwards is refused. One that runs on this machine is not taken from.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
  --tenant NAME  Whose session it is (local).
`;

/** Takes a session from a holder that a person knows to be gone, and leaves it free. */
export function seize(args: readonly string[]): Promise<number> {
  return runOnStored({ name: "seize", usage: SEIZE_USAGE, act: seizeStored }, args);
}

async function seizeStored(store: SessionStore, key: SessionKey): Promise<Result<string>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const { holder } = record.value;
  if (holder === null) return ok(`Session ${key.sessionId} is free; nobody holds it.`);
  const from = describeHolder(holder);
  if (isAliveHere(holder)) return fail("session_locked", { holder: from });
  const entry = operatorEntry(record.value, "session_seized", { from });
  const seized = await store.seize(key, thisHolder("fermata seize"), [entry]);
  if (!seized.ok) return seized;
  const closed = await store.close(key, seized.value.term);
  return closed.ok ? ok(`Session ${key.sessionId} is free; it was held by ${from}.`) : closed;
}
