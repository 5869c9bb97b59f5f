import { randomUUID } from "node:crypto";
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
import type { RowValues } from "../parse-row.ts";
import { REPAIR, SEIZE } from "../table/care.ts";
import { type DataAction, inStore, OPERATOR, runCommand, wrong } from "./data-command.ts";

/** Takes a session from a server that the operator knows to be gone, and leaves it free. */
export function seize(args: readonly string[]): Promise<number> {
  return runOnSession({ row: SEIZE, act: seizeSession }, args);
}

/** Cuts the damaged end off a session's log. */
export function repair(args: readonly string[]): Promise<number> {
  return runOnSession({ row: REPAIR, act: repairSession }, args);
}

/** A command about one session, beside its server or without one. */
interface SessionCommand {
  readonly row: typeof SEIZE | typeof REPAIR;
  /** Answers with the sentence to print. */
  act(store: SessionStore, key: SessionKey): Promise<Result<string>>;
}

function runOnSession({ row, act }: SessionCommand, args: readonly string[]): Promise<number> {
  const read = (
    { tenant }: RowValues<typeof SEIZE>,
    [id = "", extra]: readonly string[],
  ): Result<DataAction> => {
    const tenantId = parseTenantId(tenant);
    const sessionId = parseSessionId(id);
    if (tenantId === null || sessionId === null || extra !== undefined) {
      return wrong("expected the id of one session");
    }
    return ok(async (data) => {
      const done = await inStore(data, (store) => act(store, { tenantId, sessionId }));
      return done.ok ? ok({ shown: done.value }) : done;
    });
  };
  return runCommand({ row, read }, args);
}

/** The audit entry for what an operator did to a session. */
function operatorEntry(
  { sessionId, epoch, term }: StoredRecord,
  act: ChangeAct,
  details: JsonObject,
): JournalEntry {
  // Unique, because each change to a session has its own term.
  const key = `${sessionId} ${epoch} ${act} ${term}`;
  return changeEntry({ act, by: OPERATOR, details, atMs: Date.now(), key, sessionId });
}

async function seizeSession(store: SessionStore, key: SessionKey): Promise<Result<string>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const { holder } = record.value;
  if (holder === null) return ok(`Session ${key.sessionId} is free; no server holds it.`);
  const from = describeHolder(holder);
  if (isAliveHere(holder)) return fail("session_locked", { holder: from });
  const entry = operatorEntry(record.value, "session_seized", { from });
  const seized = await store.seize(key, thisHolder("fermata seize"), [entry]);
  if (!seized.ok) return seized;
  const closed = await store.close(key, seized.value.term);
  return closed.ok ? ok(`Session ${key.sessionId} is free; it was held by ${from}.`) : closed;
}

async function repairSession(store: SessionStore, key: SessionKey): Promise<Result<string>> {
  const opened = await store.open(key, thisHolder("fermata repair"), []);
  if (!opened.ok) return opened;
  const repaired = await cutDamagedEnd(store, key, opened.value);
  const closed = await store.close(key, opened.value.term);
  return repaired.ok && !closed.ok ? closed : repaired;
}

async function cutDamagedEnd(
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
  return ok(`The log of ${key.sessionId} ended at event ${end}; now it ends at ${lastEventId}.`);
}

/** The last event before the first damaged one. Events before the snapshot are not needed. */
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
      // The store refuses a whole page with damage in it, so continue event by event.
      limit = 1;
    }
  }
}
