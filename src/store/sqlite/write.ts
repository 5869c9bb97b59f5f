import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { Claim, SuspectPast } from "../backend.ts";
import { checkCut, checkPosition, trimmedThrough } from "../check.ts";
import { describeHolder, type Holder, isThisProcess, mayTake } from "../holder.ts";
import type { SecretPatterns } from "../secret-filter.ts";
import type * as S from "../store.ts";
import { LAST_NUMBER, LAST_TERM, type WriteBatch } from "./batch.ts";
import { noSession, operation } from "./calls.ts";
import { step } from "./failpoint.ts";
import { copyPages } from "./past.ts";
import { readSlots } from "./read.ts";
import * as rows from "./row.ts";
import {
  INSERT_MESSAGE,
  INSERT_RUN,
  INSERT_TURN,
  RUNS_AFTER,
  readRun,
  runValues,
  TRIM_EVENTS,
} from "./row.ts";
import { appendEntries, freshEntries, TENANT_WRITES } from "./tenant.ts";

/**
 * What the writing thread does, inside the transaction of its batch. Everything that can refuse
 * is asked before the first row is written, so that one refusal leaves no trace and disturbs no
 * other commit of the batch. Only the disk can fail after that, and then all of it is taken back.
 */

function create(batch: WriteBatch, key: S.SessionKey, created: S.NewSession): Result<S.Owned> {
  const { sessionId } = key;
  const { holder, manifest, record, epoch, commit } = created;
  const fresh: rows.SessionRow = {
    ...record,
    number: batch.counters.add(LAST_NUMBER),
    sessionId,
    storeId: manifest.storeId,
    epoch,
    // Never used twice, not even by a session made anew under a deleted one's id.
    term: batch.counters.add(LAST_TERM),
    holder,
    revision: 0,
    lastEventId: 0,
    snapshotEventId: 0,
    earliestEventId: 1,
    messageCount: 0,
    turnCount: 0,
    slotCount: 0,
    manifest,
    createdAtMs: manifest.createdAt,
  };
  if (batch.has(sessionId)) return fail("session_id_conflict", { sessionId });
  const entries = mayApply(batch, fresh, commit);
  if (!entries.ok) return entries;
  batch.insert(fresh);
  if (record.displayName !== null) batch.search.addTitle(fresh);
  step("sqlite-after-session");
  if (isThisProcess(holder)) batch.claims.set(sessionId, fresh.term);
  const { revision } = apply(batch, fresh, { ...commit, journal: entries.value });
  return ok({ term: fresh.term, revision });
}

function acquire(batch: WriteBatch, key: S.SessionKey, claim: Claim): Result<S.Opened> {
  const found = batch.session(key.sessionId);
  if (!found.ok) return found;
  const { holder } = claim;
  const replaced = found.value.holder;
  const may = mayClaim(batch, replaced, claim);
  if (!may.ok) return may;
  appendEntries(batch, may.value);
  const session = { ...found.value, term: batch.counters.add(LAST_TERM), holder };
  batch.change(session);
  if (isThisProcess(holder)) batch.claims.set(session.sessionId, session.term);
  const record = rows.recordOf(session);
  if (!record.ok) return record;
  const { term, manifest } = session;
  const slots = readSlots(batch.db, session);
  return ok({ term, record: record.value, manifest, ...slots, replaced });
}

/** Whether a session that is held may be claimed, and which entries that adds to the audit. */
function mayClaim(batch: WriteBatch, held: Holder | null, { holder, audit, seizes }: Claim) {
  if (held !== null && !seizes && !mayTake(held, holder)) {
    return fail("session_locked", { holder: describeHolder(held) });
  }
  return freshEntries(batch.db, audit);
}

function commit(
  batch: WriteBatch,
  key: S.SessionKey,
  term: number,
  change: S.Commit,
): Result<S.Committed> {
  const owned = ownedSession(batch, key, term);
  if (!owned.ok) return owned;
  const entries = mayApply(batch, owned.value, change);
  if (!entries.ok) return entries;
  const fresh = { ...change, journal: entries.value };
  const { revision, lastEventId } = apply(batch, owned.value, fresh);
  return ok({ revision, lastEventId });
}

function copyPast(
  batch: WriteBatch,
  key: S.SessionKey,
  term: number,
  step: S.PastStep,
  secrets: SecretPatterns,
): Result<S.PastCopied | SuspectPast> {
  const owned = ownedSession(batch, key, term);
  if (!owned.ok) return owned;
  const source = batch.session(step.from);
  if (!source.ok) return source;
  return copyPages(batch, { branch: owned.value, source: source.value, step }, secrets);
}

function ownedSession(batch: WriteBatch, { sessionId }: S.SessionKey, term: number) {
  const found = batch.session(sessionId);
  if (!found.ok) return found;
  const isOwner = found.value.holder !== null && found.value.term === term;
  return isOwner ? found : fail("writer_lost");
}

function cutLog(batch: WriteBatch, key: S.SessionKey, term: number, cut: S.LogCut): Result<void> {
  const owned = ownedSession(batch, key, term);
  if (!owned.ok) return owned;
  const within = checkCut(cut, owned.value);
  const entries = within.ok ? freshEntries(batch.db, cut.audit) : within;
  if (!entries.ok) return entries;
  const { lastEventId, epoch } = cut;
  const { number } = owned.value;
  batch.writeEvents(number);
  const [straddling] = batch.db.page(1, RUNS_AFTER, number, lastEventId).rows;
  const run = straddling === undefined ? null : readRun(straddling);
  const kept = run?.texts.slice(0, Math.max(0, lastEventId - run.firstId + 1)) ?? [];
  // What was to be kept must be there, in a run that can be cut or one that ends right here.
  if (kept.length === 0 && !endsAt(batch, owned.value, lastEventId)) {
    return rows.damaged(`event ${lastEventId}`);
  }
  batch.db.run(CUT_EVENTS, number, lastEventId);
  step("sqlite-amid-cut");
  if (run && kept.length > 0) {
    batch.db.run(INSERT_RUN, number, ...runValues({ firstId: run.firstId, texts: kept }));
  }
  appendEntries(batch, entries.value);
  batch.change({ ...owned.value, lastEventId, epoch });
  return DONE;
}

/**
 * A run that cannot be read may hold events that were to be kept, and where it begins is not to
 * be believed either: so a cut in front of it has to be where the run before it ends.
 */
function endsAt(
  { db }: WriteBatch,
  { number, earliestEventId }: rows.SessionRow,
  lastEventId: number,
) {
  return lastEventId < earliestEventId || db.get(RUN_THAT_ENDS, number, lastEventId) !== undefined;
}

/** Whether a commit may be written, and which of its journal entries are not there yet. */
function mayApply(batch: WriteBatch, session: rows.SessionRow, change: S.Commit) {
  const { lastEventId, revision, snapshotEventId, manifest, number } = session;
  const slotBytes = change.snapshot ? batch.slotBytes(number) : NO_SLOTS;
  const at = { lastEventId, revision, snapshotEventId, slotBytes, manifest };
  const continues = checkPosition(change, at);
  return continues.ok ? freshEntries(batch.db, change.journal) : continues;
}

const NO_SLOTS: ReadonlyMap<string, number> = new Map();

function apply(batch: WriteBatch, session: rows.SessionRow, change: S.Commit): rows.SessionRow {
  batch.addEvents(session.number, session.lastEventId + 1, change.events);
  appendEntries(batch, change.journal);
  step("sqlite-after-journal");
  const lastEventId = session.lastEventId + change.events.length;
  const appended = { ...session, ...change.record, lastEventId };
  if (appended.displayName !== session.displayName) batch.search.addTitle(appended);
  const next = change.snapshot ? snapshot(batch, appended, change.snapshot) : appended;
  if (change.snapshot || change.record) batch.change(next);
  else batch.append(next);
  return next;
}

function snapshot(batch: WriteBatch, session: rows.SessionRow, change: S.Snapshot) {
  const { db } = batch;
  const { number, lastEventId } = session;
  let { messageCount, turnCount, earliestEventId } = session;
  for (const slot of change.slots) {
    const { owner, version, payload } = slot;
    db.run(WRITE_SLOT, number, owner, version, payload, rows.slotChecksum(slot));
  }
  for (const owner of change.removedSlots) db.run(DELETE_SLOT, number, owner);
  const slotCount = Number(db.get(COUNT_SLOTS, number)?.count);
  step("sqlite-after-slots");
  for (const text of change.messages) {
    messageCount += 1;
    db.run(INSERT_MESSAGE, number, messageCount, text, rows.checksum(text, messageCount));
  }
  batch.search.addMessages(number, session.messageCount, change.messages);
  step("sqlite-after-messages");
  if (change.turn) {
    const { firstId, lastId, text } = change.turn;
    turnCount += 1;
    const sum = rows.turnChecksum(turnCount, change.turn);
    db.run(INSERT_TURN, number, turnCount, firstId, lastId, text, sum);
  }
  step("sqlite-after-turn");
  const through = trimmedThrough(change, lastEventId);
  if (through >= earliestEventId) {
    batch.writeEvents(number);
    db.run(TRIM_EVENTS, number, through);
    earliestEventId = through + 1;
    step("sqlite-after-trim");
  }
  const { manifest } = change;
  const revision = session.revision + 1;
  const at = { snapshotEventId: lastEventId, earliestEventId };
  return { ...session, ...at, revision, manifest, messageCount, turnCount, slotCount };
}

function release(batch: WriteBatch, key: S.SessionKey, term: number): Result<void> {
  const found = batch.session(key.sessionId);
  if (found.ok && found.value.term === term) {
    batch.change({ ...found.value, holder: null });
    batch.claims.set(key.sessionId, null);
  }
  return DONE;
}

/** A session that cannot be read can still be removed: the caller knows that it is lost. */
function remove(batch: WriteBatch, { sessionId }: S.SessionKey, claim: Claim): Result<void> {
  const found = batch.session(sessionId);
  if (!found.ok && found.refusal.code !== "session_corrupt") return found;
  const { number, holder } = found.ok ? found.value : batch.remains(sessionId);
  if (number === null) return rows.damaged("its number");
  const may = mayClaim(batch, holder, claim);
  if (!may.ok) return may;
  appendEntries(batch, may.value);
  batch.search.forget(number);
  for (const table of SESSION_TABLES) {
    batch.db.run(`DELETE FROM ${table} WHERE number = ?`, number);
    step("sqlite-amid-removal");
  }
  batch.forget(sessionId, number);
  batch.claims.set(sessionId, null);
  return DONE;
}

const SESSION_TABLES = ["events", "turns", "messages", "slots", "sessions"] as const;

const RUN_THAT_ENDS = "SELECT 1 FROM events WHERE number = ? AND last_id = ?";
const CUT_EVENTS = "DELETE FROM events WHERE number = ? AND last_id > ?";
const COUNT_SLOTS = "SELECT count(*) AS count FROM slots WHERE number = ?";
const WRITE_SLOT = `
  INSERT OR REPLACE INTO slots (number, owner, version, payload, checksum)
  VALUES (?, ?, ?, ?, ?)`;
const DELETE_SLOT = "DELETE FROM slots WHERE number = ? AND owner = ?";

/** All that the writing thread does in a transaction of a tenant. */
export const WRITES = {
  create: operation(create, () => null),
  acquire: operation(acquire, noSession),
  commit: operation(commit, noSession),
  release: operation(release, () => DONE),
  copyPast: operation(copyPast, noSession),
  cutLog: operation(cutLog, noSession),
  remove: operation(remove, noSession),
  ...TENANT_WRITES,
};
