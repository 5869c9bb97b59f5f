import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { ErrorCode, Refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import type { Result } from "../../core/result.ts";
import type * as S from "../store.ts";

/** The value of an operation that must succeed. */
export async function value<Value>(pending: Promise<Result<Value>>): Promise<Value> {
  const result = await pending;
  if (result.ok) return result.value;
  return assert.fail(`refused: ${JSON.stringify(result.refusal)}`);
}

/** The refusal of an operation that must be refused, with one of these codes. */
export async function refused(
  pending: Promise<Result<unknown>>,
  ...codes: readonly ErrorCode[]
): Promise<Refusal> {
  const result = await pending;
  if (result.ok) return assert.fail(`accepted, instead of ${codes.join(" or ")}`);
  const { code, details } = result.refusal;
  const detail = JSON.stringify(details);
  assert.ok(codes.includes(code), `refused with ${code} ${detail}, not ${codes.join(" or ")}`);
  return result.refusal;
}

/** All that a store says of one session, in a form that can be compared. */
export async function sessionState(store: S.SessionStore, key: S.SessionKey) {
  const record = await value(store.readRecord(key));
  return {
    record,
    manifest: await value(store.readManifest(key)),
    events: await allEvents(store, key),
    turns: await allTurns(store, key),
    messages: await allMessages(store, key),
    slots: digests(await wholeSlots(store, key)),
  };
}

type SessionView = Awaited<ReturnType<typeof sessionState>>;

/** The slots of a session of which none may be damaged. */
export async function wholeSlots(store: S.SessionStore, key: S.SessionKey) {
  const { slots, damagedSlots } = await value(store.readSlots(key));
  assert.deepEqual(damagedSlots, [], "a slot is said to be damaged");
  return slots;
}

/** Slots in a form that can be compared in any order. */
export function digests(slots: readonly S.Slot[]) {
  return slots
    .map(({ owner, version, payload }) => ({
      owner,
      version,
      bytes: payload.byteLength,
      sha256: createHash("sha256").update(payload).digest("hex"),
    }))
    .sort((a, b) => (a.owner < b.owner ? -1 : 1));
}

const PAGE_ROWS = 1_000;
const PAGES_MAX = 64;

/** A page is not believed when it says that it is the last one: what follows it must be empty. */
async function allPages<Row, Place>(
  first: Place,
  read: (place: Place) => Promise<S.Page<Row>>,
  placeOf: (last: Row) => Place,
): Promise<readonly Row[]> {
  const all: Row[] = [];
  let place = first;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { rows, more } = await read(place);
    all.push(...rows);
    const last = rows.at(-1);
    if (last !== undefined) place = placeOf(last);
    else assert.ok(!more, `a page has no rows, and says that there are more after ${place}`);
    if (more) continue;
    const { rows: missed } = await read(place);
    assert.equal(missed.length, 0, `a page says that it is the last, and ${place} is not the end`);
    return all;
  }
  return assert.fail(`there is no end to the pages: ${all.length} rows`);
}

export function allEvents(store: S.SessionStore, key: S.SessionKey, limit = PAGE_ROWS) {
  const read = async (after: number) => {
    const page = await value(store.readEvents(key, { after, limit }));
    const { events, earliestEventId, lastEventId } = page;
    // What was trimmed is not still to come.
    const reached = events.at(-1)?.id ?? Math.max(after, earliestEventId - 1);
    return { rows: events, more: reached < lastEventId };
  };
  return allPages(0, read, ({ id }) => id);
}

export function allMessages(store: S.SessionStore, key: S.SessionKey, limit = PAGE_ROWS) {
  const read = (after: number) => value(store.readMessages(key, { after, limit }));
  return allPages(0, read, ({ id }) => id);
}

export function allTurns(store: S.SessionStore, key: S.SessionKey, limit = PAGE_ROWS) {
  const read = (before: number) => value(store.readTurns(key, { before, limit }));
  return allPages(Number.MAX_SAFE_INTEGER, read, ({ lastId }) => lastId);
}

export function allEntries(
  store: S.SessionStore,
  tenantId: TenantId,
  journal: S.JournalName,
  limit = PAGE_ROWS,
) {
  const read = (after: number) => value(store.readJournal(tenantId, { journal, after, limit }));
  return allPages(0, read, ({ seq }) => seq);
}

export function allDocuments(store: S.SessionStore, tenantId: TenantId, kind: string) {
  const read = (after: string | null) => value(store.listDocuments(tenantId, kind, after));
  return allPages<S.Document, string | null>(null, read, ({ key }) => key);
}

export async function entryKeys(
  store: S.SessionStore,
  tenantId: TenantId,
  journal: S.JournalName = "audit",
): Promise<readonly string[]> {
  return (await allEntries(store, tenantId, journal)).map(({ key }) => key);
}

/** Every session of a tenant, through all pages. */
export async function allListed(
  store: S.SessionStore,
  tenantId: TenantId,
  filter: S.ListFilter = {},
  limit = PAGE_ROWS,
): Promise<readonly S.StoredRecord[]> {
  const all: S.StoredRecord[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const listing: S.Listing = await value(store.list(tenantId, filter, { limit, cursor }));
    all.push(...listing.sessions);
    cursor = listing.nextCursor;
    if (cursor === null) return all;
  }
  return assert.fail("there is no end to the list");
}

export async function listedIds(
  store: S.SessionStore,
  tenantId: TenantId,
  filter: S.ListFilter = {},
): Promise<readonly string[]> {
  return (await allListed(store, tenantId, filter)).map(({ sessionId }) => sessionId);
}

/** All that a store says of one tenant. */
export async function tenantState(
  store: S.SessionStore,
  tenantId: TenantId,
  kinds: readonly string[] = ["token"],
) {
  const sessions: Record<string, SessionView> = {};
  for (const { sessionId } of await allListed(store, tenantId)) {
    sessions[sessionId] = await sessionState(store, { tenantId, sessionId });
  }
  const documents: S.Document[] = [];
  for (const kind of kinds) documents.push(...(await allDocuments(store, tenantId, kind)));
  return {
    sessions,
    documents,
    audit: await allEntries(store, tenantId, "audit"),
    ledger: await allEntries(store, tenantId, "ledger"),
  };
}

/** The refusal of an operation that must be refused and leave its tenant exactly as it is. */
export async function leavesNoTrace(
  store: S.SessionStore,
  tenantId: TenantId,
  act: () => Promise<Result<unknown>>,
  ...codes: readonly ErrorCode[]
): Promise<Refusal> {
  return unchanged(store, tenantId, () => refused(act(), ...codes));
}

/** Runs something that must leave a tenant exactly as it is. */
export async function unchanged<Value>(
  store: S.SessionStore,
  tenantId: TenantId,
  act: () => Promise<Value>,
): Promise<Value> {
  const before = brief(await tenantState(store, tenantId));
  const result = await act();
  assert.deepEqual(brief(await tenantState(store, tenantId)), before);
  return result;
}

const BRIEF_CHARS_MAX = 128;

/** The same with long texts cut, so that a difference can be shown to a person. */
function brief(state: unknown): unknown {
  return JSON.parse(JSON.stringify(state), (_, inner: unknown) => {
    if (typeof inner !== "string" || inner.length <= BRIEF_CHARS_MAX) return inner;
    const sum = createHash("sha256").update(inner).digest("hex");
    return `${inner.slice(0, BRIEF_CHARS_MAX)}… (${inner.length} characters, ${sum})`;
  });
}
