import { parseTenantId, type TenantId } from "../core/id.ts";
import { isObject } from "../core/json.ts";
import {
  DOCUMENT_BYTES_MAX,
  PAGE_ROWS_MAX,
  SLOT_BYTES_MAX,
  SLOTS_BYTES_MAX,
  SLOTS_MAX,
  STORE_ROW_BYTES,
} from "../core/limits.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import {
  checkManifest,
  filterFault,
  holderFault,
  isId,
  isName,
  isText,
  jsonFault,
  owns,
  recordFault,
} from "./fields.ts";
import type { Holder } from "./holder.ts";
import type * as S from "./store.ts";
import type {
  Commit,
  DocumentWrite,
  JournalEntry,
  Manifest,
  SessionKey,
  Slot,
  Snapshot,
  StoreContract,
} from "./store.ts";

/**
 * The rules that hold for every store alike, so that no store has to think of them again. They
 * are asked before anything is written, and a commit that passes them can fail only by its disk.
 */

/** Ids become keys and perhaps paths: what is not an id is refused, never cleaned. */
export function checkKey(key: SessionKey): Result<void> {
  if (!owns(key, "tenantId", "sessionId")) return inherited("key");
  const { tenantId, sessionId } = key;
  const tenant = checkTenant(tenantId);
  if (!tenant.ok) return tenant;
  return isId(sessionId) ? DONE : invalid("sessionId", "it is not a valid id");
}

/** A number would be read as its digits, so the kind is asked first. */
export function checkTenant(tenantId: TenantId): Result<void> {
  const valid = typeof tenantId === "string" && parseTenantId(tenantId) !== null;
  return valid ? DONE : invalid("tenantId", "it is not a valid id");
}

/** Checks what needs no look at the session; answers with the weight of the commit in bytes. */
export function checkCommit(
  key: SessionKey,
  commit: Commit,
  contract: StoreContract,
): Result<number> {
  const bytes = commitBytes(commit);
  const limit = contract.capabilities.snapshotBytesLimit;
  if (bytes > limit) return fail("snapshot_too_large", { bytes, limit });
  const fits = checkContent(key, commit, contract);
  return fits.ok ? ok(bytes) : fits;
}

function checkContent(key: SessionKey, commit: Commit, contract: StoreContract): Result<void> {
  if (!isPlace(commit.afterEventId)) return invalid("afterEventId", "it is not an event id");
  const { turn, messages = [] } = commit.snapshot ?? {};
  const texts = [commit.events, messages, turn === undefined ? [] : [turn.text]];
  if (!texts.every((each) => each.every((text) => text.isWellFormed()))) {
    return invalid("text", "it has surrogates that no encoding can carry");
  }
  const fault = commit.record === undefined ? null : recordFault(commit.record);
  if (fault !== null) return invalid(`record.${fault}`, "it is not of the right kind");
  const journal = checkJournal(commit.journal);
  if (!journal.ok || commit.snapshot === undefined) return journal;
  const snapshot = checkSnapshot(commit.snapshot);
  return snapshot.ok ? checkManifestOf(key, commit.snapshot.manifest, contract) : snapshot;
}

const SNAPSHOT_FIELDS = [
  "expectedRevision",
  "manifest",
  "messages",
  "slots",
  "removedSlots",
  "trimThrough",
] as const;

function checkSnapshot(snapshot: Snapshot): Result<void> {
  const { slots, removedSlots, trimThrough, turn } = snapshot;
  if (!owns(snapshot, ...SNAPSHOT_FIELDS)) return inherited("snapshot");
  if (turn !== undefined && !(owns(snapshot, "turn") && owns(turn, "firstId", "lastId", "text"))) {
    return inherited("turn");
  }
  for (const slot of slots) {
    const checked = checkSlot(slot);
    if (!checked.ok) return checked;
  }
  if (!removedSlots.every(isName)) return invalid("removedSlots", "they must be short names");
  return isPlace(trimThrough) ? DONE : invalid("trimThrough", "it is not an event id");
}

/** Who makes a session, and under which epoch; the rest of it is its first commit. */
export function checkOwner(holder: Holder, epoch?: string): Result<void> {
  const fault = holderFault(holder);
  if (fault !== null) return invalid(`holder.${fault}`, "it is not of the right kind");
  return epoch === undefined || isName(epoch) ? DONE : invalid("epoch", "it must be a short name");
}

/** A manifest must be valid, of this session, and written for this store. */
export function checkManifestOf(
  { sessionId }: SessionKey,
  manifest: Manifest,
  { storeId }: StoreContract,
): Result<void> {
  const checked = checkManifest(manifest, storeId);
  if (!checked.ok) return checked;
  return manifest.sessionId === sessionId ? DONE : fail("invalid_manifest", { path: "sessionId" });
}

/** Where a session's log and snapshots stand. */
export interface Position {
  readonly lastEventId: number;
  readonly snapshotEventId: number;
  readonly revision: number;
  /** How many bytes each owner's slot has. */
  readonly slotBytes: ReadonlyMap<string, number>;
  readonly manifest: Manifest;
}

/** Decided when the session was made: no snapshot changes what a session may do, or where. */
const FIXED_FIELDS = ["mode", "projectRoot", "createdAt"] as const;

/** Whether a commit continues what is there. Asked in the same step in which it is written. */
export function checkPosition(commit: Commit, at: Position): Result<void> {
  const { afterEventId, events, snapshot } = commit;
  if (afterEventId !== at.lastEventId) {
    return fail("event_gap", { id: afterEventId + 1, expected: at.lastEventId + 1 });
  }
  if (snapshot === undefined) return DONE;
  const { expectedRevision, turn } = snapshot;
  if (expectedRevision !== at.revision) {
    return fail("stale_revision", { revision: at.revision, expected: expectedRevision });
  }
  const changed = FIXED_FIELDS.find((name) => snapshot.manifest[name] !== at.manifest[name]);
  if (changed !== undefined) return fail("invalid_manifest", { path: changed });
  if (turn !== undefined && !isTurnOf(turn, at.snapshotEventId, at.lastEventId + events.length)) {
    return invalid("turn", "it does not end after the last snapshot and within the log");
  }
  return checkSlotSum(snapshot, at.slotBytes);
}

/** All slots are read whenever a session is opened, so all of them together are bounded. */
function checkSlotSum({ slots, removedSlots }: Snapshot, before: Position["slotBytes"]) {
  const after = new Map(before);
  for (const { owner, payload } of slots) after.set(owner, payload.byteLength);
  for (const owner of removedSlots) after.delete(owner);
  if (after.size > SLOTS_MAX) return invalid("slots", `there are more than ${SLOTS_MAX}`);
  const bytes = [...after.values()].reduce((sum, one) => sum + one, 0);
  return checkBytes(bytes, SLOTS_BYTES_MAX);
}

/** A cut stays within the log, and keeps what the next opening needs. */
export function checkCut({ lastEventId }: S.LogCut, at: Omit<Position, "slotBytes">): Result<void> {
  const within = at.snapshotEventId <= lastEventId && lastEventId <= at.lastEventId;
  return within ? DONE : invalid("lastEventId", "it is not between the last snapshot and the end");
}

/** Turns end one after the other, each in a snapshot of its own, so no two end at one event. */
function isTurnOf({ firstId, lastId }: S.FoldedTurn, after: number, through: number): boolean {
  const whole = Number.isSafeInteger(firstId) && Number.isSafeInteger(lastId);
  return whole && 1 <= firstId && firstId <= lastId && after < lastId && lastId <= through;
}

/** How far raw events may go: never past the last snapshot, which needs those after it. */
export function trimmedThrough(snapshot: Snapshot | undefined, snapshotEventId: number): number {
  return Math.min(snapshot?.trimThrough ?? 0, snapshotEventId);
}

const PAST_PLACES = ["expectedRevision", "messages", "afterEventId", "throughEventId"] as const;

/** A step of a branch, which is never a branch of itself. */
export function checkPast(key: SessionKey, step: S.PastStep): Result<void> {
  if (!owns(step, "from", "epoch", ...PAST_PLACES)) return inherited("step");
  const isOther = isId(step.from) && step.from !== key.sessionId;
  if (!isOther) return invalid("from", "it is not the id of another session");
  if (!isName(step.epoch)) return invalid("epoch", "it must be a short name");
  const odd = PAST_PLACES.find((name) => !isPlace(step[name]));
  return odd === undefined ? DONE : invalid(odd, "it is not a whole number");
}

function checkSlot(slot: Slot): Result<void> {
  if (!owns(slot, "owner", "version", "payload")) return inherited("slots");
  const { owner, version, payload } = slot;
  if (!isName(owner)) return invalid("slots.owner", "it must be a short name");
  if (!isName(version)) return invalid(`slots.${owner}.version`, "a slot needs a version");
  if (!(payload instanceof Uint8Array)) return invalid(`slots.${owner}`, "payloads are bytes");
  const bytes = payload.byteLength;
  if (bytes <= SLOT_BYTES_MAX) return DONE;
  return fail("snapshot_too_large", { slot: owner, bytes, limit: SLOT_BYTES_MAX });
}

const JOURNALS: readonly S.JournalName[] = ["audit", "ledger"];

const ENTRY_FIELDS = ["journal", "key", "sessionId", "atMs", "text"] as const;

export function checkJournal(entries: readonly JournalEntry[]): Result<void> {
  for (const entry of entries) {
    if (!owns(entry, ...ENTRY_FIELDS)) return inherited("journal");
    const { journal, key, sessionId, atMs, text } = entry;
    if (!JOURNALS.includes(journal)) return invalid("journal", "there is no such journal");
    if (!isName(key)) return invalid("journal.key", "it must be a short name");
    if (!isText(text)) return invalid("journal.text", "it is no text that can be encoded");
    if (sessionId !== null && !isId(sessionId)) return invalid("journal.sessionId", "it is no id");
    if (!Number.isSafeInteger(atMs)) return invalid("journal.atMs", "it is no time");
  }
  return DONE;
}

/** A session is not seized without an entry that says who did. */
export function checkSeizure(audit: readonly JournalEntry[]): Result<void> {
  const isTold = audit.some(({ journal }) => journal === "audit");
  const reason = "a session is not seized without an entry that says who did";
  return isTold ? DONE : invalid("audit", reason);
}

/** Entries that come without a commit are bounded like one. */
export function checkEntries(
  journal: readonly JournalEntry[],
  { capabilities }: StoreContract,
): Result<number> {
  const fits = checkJournal(journal);
  if (!fits.ok) return fits;
  const bytes = commitBytes({ afterEventId: 0, events: [], journal });
  return weighed(bytes, capabilities.snapshotBytesLimit);
}

export function checkQuery({ journal, sessionId, key, after }: S.JournalQuery): Result<void> {
  if (!JOURNALS.includes(journal)) return invalid("journal", "there is no such journal");
  if (key !== undefined && !isName(key)) return invalid("key", "it must be a short name");
  if (sessionId !== undefined && !isId(sessionId)) return invalid("sessionId", "it is no id");
  return checkEventId(after);
}

export function checkNames(names: Readonly<Record<string, unknown>>): Result<void> {
  const nameless = Object.keys(names).find((path) => !isName(names[path]));
  return nameless === undefined ? DONE : invalid(nameless, "it must be a short name");
}

export function checkFilter(filter: S.ListFilter): Result<void> {
  const fault = filterFault(filter);
  return fault === null ? DONE : invalid(`filter.${fault}`, "it is not of the right kind");
}

/** Where a page begins. Ids count from 1, so 0 is before all of them. */
export function checkEventId(place: number): Result<void> {
  return isPlace(place) ? DONE : invalid("range", "it does not begin at an id");
}

function isPlace(place: number): boolean {
  return Number.isSafeInteger(place) && place >= 0;
}

export function checkBytes(bytes: number, limit: number): Result<void> {
  return bytes <= limit ? DONE : fail("snapshot_too_large", { bytes, limit });
}

/** The same, with the answer that it weighs so much. */
export function weighed(bytes: number, limit: number): Result<number> {
  const fits = checkBytes(bytes, limit);
  return fits.ok ? ok(bytes) : fits;
}

/** A copy has only what is a value's own, so nothing else is believed. */
function inherited(path: string): Result<never> {
  return invalid(path, "each of its fields must be there, and its own");
}

export function invalid(path: string, reason: string): Result<never> {
  return fail("invalid_store_input", { path, reason });
}

/** One check of an operation's input; a number is what the input weighs, in bytes. */
export type InputCheck = () => Result<unknown>;

/**
 * The first fault of several checks; those after it are not made, and may rely on that. Without a
 * fault, the weight of the input: only the last check knows of anything heavy.
 */
export function weightOf(checks: readonly InputCheck[]): Result<number> {
  return shaped(() => {
    let bytes = 0;
    for (const one of checks) {
      const result = one();
      if (!result.ok) return result;
      bytes = typeof result.value === "number" ? result.value : 0;
    }
    return ok(bytes);
  });
}

/** Input that is not even of the right shape makes its check throw, which is an answer too. */
export function shaped<Value>(look: () => Result<Value>): Result<Value> {
  try {
    return look();
  } catch {
    return invalid("input", "it is not of the shape that this operation takes");
  }
}

/** A page is never larger than its limit, however much was asked for. */
export function pageRows(limit: number): number {
  return Number.isSafeInteger(limit) && limit > 0 ? Math.min(limit, PAGE_ROWS_MAX) : PAGE_ROWS_MAX;
}

/** The same page, with as many rows as it may have. */
export function bounded<Page extends { readonly limit: number }>(page: Page): Page {
  return { ...page, limit: pageRows(page.limit) };
}

/** What a commit weighs, as it will be stored. Asked of every chunk: so it makes no lists. */
export function commitBytes({ events, record, snapshot, journal }: Commit): number {
  let bytes = textBytes(events);
  for (const { key, text } of journal) bytes += rowBytes(text) + key.length;
  if (record !== undefined) bytes += Buffer.byteLength(JSON.stringify(record));
  return snapshot === undefined ? bytes : bytes + snapshotBytes(snapshot);
}

function snapshotBytes({ manifest, messages, slots, removedSlots, turn }: Snapshot): number {
  let bytes = Buffer.byteLength(JSON.stringify(manifest));
  bytes += textBytes(messages) + textBytes(removedSlots);
  for (const { owner, version, payload } of slots) {
    bytes += rowBytes(owner) + version.length + payload.byteLength;
  }
  return turn === undefined ? bytes : bytes + rowBytes(turn.text);
}

function textBytes(texts: readonly string[]): number {
  let bytes = 0;
  for (const text of texts) bytes += rowBytes(text);
  return bytes;
}

function rowBytes(text: string): number {
  return Buffer.byteLength(text) + STORE_ROW_BYTES;
}

/** Checks a document that is to be written; it weighs as much as its value and its entries. */
export function checkWrite(
  { value, entries = [] }: DocumentWrite,
  contract: StoreContract,
): Result<number> {
  const journal = checkEntries(entries, contract);
  if (!journal.ok) return journal;
  const document = checkValue(value);
  return document.ok ? ok(journal.value + document.value) : document;
}

/** Null deletes it and weighs nothing. */
function checkValue(value: DocumentWrite["value"]): Result<number> {
  if (value === null) return ok(0);
  if (!isObject(value)) return invalid("value", "a document is an object");
  const fault = jsonFault(value);
  if (fault !== null) return invalid(fault.path, fault.reason);
  return weighed(Buffer.byteLength(JSON.stringify(value)), DOCUMENT_BYTES_MAX);
}
