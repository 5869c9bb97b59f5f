import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { parseSessionId, parseTenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { ChangeAct } from "../../session/audit/audited.ts";
import { changeEntry } from "../../session/audit/entries.ts";
import { describeHolder, isAliveHere, thisHolder } from "../../store/holder.ts";
import type {
  JournalEntry,
  Opened,
  SessionKey,
  SessionStore,
  StoredRecord,
} from "../../store/store.ts";
import {
  type DataAct,
  inStore,
  OPERATOR,
  outcomeOf,
  runCommand,
  TENANT_OPTIONS,
  wrong,
} from "./data-command.ts";

/** A command that a person gives about one session, while its server may be at work or not. */
interface StoredSessionCommand {
  readonly name: string;
  readonly usage: string;
  /** Answers with the sentence that the person is told. */
  act(store: SessionStore, key: SessionKey): Promise<Result<string>>;
}

/** Runs it over the store of a data directory and returns its exit code. */
export function runOnStored(
  { name, usage, act }: StoredSessionCommand,
  args: readonly string[],
): Promise<number> {
  const mistake = `${name} takes the id of one session`;
  const read = ({ tenant }: Given, [id = "", unknown]: readonly string[]): Result<DataAct> => {
    const tenantId = parseTenantId(tenant);
    const sessionId = parseSessionId(id);
    if (tenantId === null || sessionId === null || unknown !== undefined) return wrong(mistake);
    const key = { tenantId, sessionId };
    return ok(async (data) => outcomeOf(await inStore(data, (store) => act(store, key))));
  };
  return runCommand({ name, usage, mistake, parse, read }, args);
}

const parse = (args: readonly string[]) =>
  parseArgs({ args, options: TENANT_OPTIONS, allowPositionals: true });

type Given = ReturnType<typeof parse>["values"];

/** What the audit is to know of something that a person did to a session from outside. */
export function operatorEntry(
  { sessionId, epoch, term }: StoredRecord,
  act: ChangeAct,
  details: JsonObject,
): JournalEntry {
  // No two things are done to a session under one term.
  const key = `${sessionId} ${epoch} ${act} ${term}`;
  return changeEntry({ act, by: OPERATOR, details, atMs: Date.now(), key, sessionId });
}

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

const REPAIR_USAGE = `Usage: fermata repair ID [--data DIR] [--tenant NAME]

Cuts the log of a session before the first event that cannot be read any more, so
that the session can be opened again. What comes after that event is lost. A log
that can be read to its end stays as it is. The audit says what was cut.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
  --tenant NAME  Whose session it is (local).
`;

/** Gives a log whose end is damaged an earlier end. */
export function repair(args: readonly string[]): Promise<number> {
  return runOnStored({ name: "repair", usage: REPAIR_USAGE, act: repairStored }, args);
}

async function repairStored(store: SessionStore, key: SessionKey): Promise<Result<string>> {
  const opened = await store.open(key, thisHolder("fermata repair"), []);
  if (!opened.ok) return opened;
  const mended = await mend(store, key, opened.value);
  const closed = await store.close(key, opened.value.term);
  return mended.ok && !closed.ok ? closed : mended;
}

async function mend(
  store: SessionStore,
  key: SessionKey,
  { term, record }: Opened,
): Promise<Result<string>> {
  const { lastEventId: end } = record;
  const readable = await lastReadable(store, key, record.snapshotEventId);
  if (!readable.ok) return readable;
  const lastEventId = readable.value;
  if (lastEventId >= end) return ok(`The log of ${key.sessionId} can be read to its end, ${end}.`);
  const entry = operatorEntry(record, "log_cut", { lastEventId, end });
  const cut = { lastEventId, epoch: randomUUID(), audit: [entry] };
  const done = await store.cutLog(key, term, cut);
  if (!done.ok) return done;
  return ok(`The log of ${key.sessionId} ended at event ${end}; it ends at ${lastEventId} now.`);
}

/** The last event before the first that is damaged; what is before the snapshot is not needed. */
async function lastReadable(
  store: SessionStore,
  key: SessionKey,
  from: number,
): Promise<Result<number>> {
  let after = from;
  for (let limit = PAGE_ROWS_MAX; ; ) {
    const page = await store.readEvents(key, { after, limit });
    if (page.ok) {
      const last = page.value.events.at(-1)?.id;
      if (last === undefined) return ok(after);
      after = last;
    } else if (page.refusal.code !== "session_corrupt") {
      return page;
    } else if (limit === 1) {
      return ok(after);
    } else {
      // A page with damage in it is refused whole, so from here on it goes step by step.
      limit = 1;
    }
  }
}
