import type { TenantId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { ListPosition, ListRange, ListRows } from "../backend.ts";
import type * as S from "../store.ts";
import { noSession, operation } from "./calls.ts";
import type { SqlRow, TenantDatabase } from "./database.ts";
import * as rows from "./row.ts";
import { RUNS_BETWEEN, readRuns } from "./row.ts";
import { TENANT_READS } from "./tenant.ts";

/** What the reading thread does; each call sees one moment of the database. */

function session(db: TenantDatabase, key: S.SessionKey): Result<rows.SessionRow> {
  const { sessionId } = key;
  const row = db.get("SELECT * FROM sessions WHERE session_id = ?", sessionId);
  return row === undefined ? fail("session_not_found", { sessionId }) : believed(row);
}

/** Whose session it is comes first: a foreign one is not damaged, only foreign. */
function believed(row: SqlRow): Result<rows.SessionRow> {
  if (row.store_id === rows.STORE_ID) return rows.readSession(row);
  return fail("resume_mismatch", { stored: String(row.store_id), active: rows.STORE_ID });
}

function readRecord(db: TenantDatabase, key: S.SessionKey) {
  const found = session(db, key);
  return found.ok ? rows.recordOf(found.value) : found;
}

function readManifest(db: TenantDatabase, key: S.SessionKey) {
  const found = session(db, key);
  return found.ok ? ok(found.value.manifest) : found;
}

function readEvents(
  db: TenantDatabase,
  key: S.SessionKey,
  { after, limit }: S.Range,
): Result<S.EventPage> {
  const found = session(db, key);
  if (!found.ok) return found;
  const { number, epoch, earliestEventId, lastEventId } = found.value;
  const from = Math.max(after, earliestEventId - 1);
  const page = db.page(limit, RUNS_BETWEEN, { number, after: from, through: from + limit });
  const events = readRuns(page.rows, from + 1);
  if (!events.ok) return events;
  const end = from + events.value.length;
  const last = Math.max(from, lastEventId);
  const isWhole = end <= last && (page.more || end >= Math.min(from + limit, last));
  if (!isWhole) return rows.damaged("the end of its log");
  return ok({ events: events.value.slice(0, limit), epoch, earliestEventId, lastEventId });
}

function readMessages(
  db: TenantDatabase,
  key: S.SessionKey,
  { after, limit }: S.Range,
): Result<S.Page<S.StoredText>> {
  const found = session(db, key);
  if (!found.ok) return found;
  const { number, messageCount } = found.value;
  const { rows: page, more } = db.page(limit, PAGE_OF_MESSAGES, number, after);
  const messages = rows.readTexts(page, after + 1, "message");
  if (!messages.ok) return messages;
  return endsRightly(after + page.length, more, Math.max(after, messageCount))
    ? ok({ rows: messages.value, more })
    : rows.damaged("the end of its conversation");
}

/** The last page ends where its session says, and every other one before that. */
function endsRightly(end: number, more: boolean, last: number): boolean {
  return more ? end < last : end === last;
}

function readTurns(
  db: TenantDatabase,
  key: S.SessionKey,
  { before, limit }: S.BackwardRange,
): Result<S.Page<S.FoldedTurn>> {
  const found = session(db, key);
  if (!found.ok) return found;
  const { number, turnCount } = found.value;
  const { rows: page, more } = db.page(limit, PAGE_OF_TURNS, number, before);
  let expected = lastTurnBefore(db, number, before) ?? turnCount;
  const turns: S.FoldedTurn[] = [];
  for (const row of page) {
    const turn = rows.readTurn(row, expected);
    if (!turn.ok) return turn;
    turns.push(turn.value);
    expected -= 1;
  }
  return more === expected > 0 ? ok({ rows: turns, more }) : rows.damaged(`turn ${expected}`);
}

/** The turn just before the first one that is too late; null if none is. */
function lastTurnBefore(db: TenantDatabase, number: number, before: number): number | null {
  const later = db.get(FIRST_TURN_FROM, number, before)?.id;
  return typeof later === "number" ? later - 1 : null;
}

function readSlotsOf(db: TenantDatabase, key: S.SessionKey): Result<S.SlotSet> {
  const found = session(db, key);
  return found.ok ? ok(readSlots(db, found.value)) : found;
}

/** One slot that cannot be read takes nothing from the others. */
export function readSlots(db: TenantDatabase, { number, slotCount }: rows.SessionRow): S.SlotSet {
  const found = db.all("SELECT * FROM slots WHERE number = ? ORDER BY owner", number);
  const slots: S.Slot[] = [];
  const damagedSlots: string[] = [];
  for (const { owner, version, payload, checksum } of found) {
    const read = typeof owner === "string" && typeof version === "string";
    if (read && payload instanceof Uint8Array) {
      const slot = { owner, version, payload: Uint8Array.from(payload) };
      if (rows.slotChecksum(slot) === checksum) slots.push(slot);
      else damagedSlots.push(owner);
    } else damagedSlots.push(String(owner));
  }
  if (found.length !== slotCount) damagedSlots.push("(one that is not there)");
  return { slots, damagedSlots };
}

function list(
  db: TenantDatabase,
  _: TenantId,
  filter: S.ListFilter,
  { limit, after }: ListRange,
): Result<ListRows> {
  const { sql, values } = listQuery(filter, after);
  return ok(listed(db.page(limit, sql, ...values)));
}

/** What a list asks the database, but for how many rows. Its indexes are made for this. */
export function listQuery(filter: S.ListFilter, after: ListPosition | null) {
  const { where, values } = conditions(filter);
  if (after !== null) {
    // The first half alone is what the index can begin at.
    where.push("updated_at_ms <= ?", "(updated_at_ms < ? OR session_id > ?)");
    values.push(after.updatedAtMs, after.updatedAtMs, after.sessionId);
  }
  const condition = where.length > 0 ? `WHERE ${where.join(" AND ")}` : "";
  const sql = `SELECT * FROM sessions ${condition} ORDER BY updated_at_ms DESC, session_id`;
  return { sql, values };
}

function conditions(filter: S.ListFilter) {
  const where: string[] = [];
  const values: (string | number | null)[] = [];
  const add = (condition: string, ...given: readonly (string | number | null)[]) => {
    where.push(condition);
    values.push(...given);
  };
  const { workspaceCwd, statuses, parentSessionId, sourceType, sourceId, text } = filter;
  const { closed, shared, hasPendingPrompts, updatedFromMs, updatedBeforeMs } = filter;
  const { createdBy, visibleTo, name, agent } = filter;
  if (workspaceCwd !== undefined) add("workspace_cwd = ?", workspaceCwd);
  if (statuses !== undefined) add(`status IN (${statuses.map(() => "?").join(",")})`, ...statuses);
  if (parentSessionId !== undefined) add("parent_session_id = ?", parentSessionId);
  if (sourceType !== undefined) add("source_type = ?", sourceType);
  if (sourceId !== undefined) add("source_id = ?", sourceId);
  if (name !== undefined) add("name = ?", name);
  if (agent !== undefined) add("agent = ?", agent);
  if (closed !== undefined) add("closed = ?", Number(closed));
  if (shared !== undefined) add("shared = ?", Number(shared));
  // Word for word as its index has it, or the index is not used.
  if (hasPendingPrompts === true) add("pending_prompts > 0");
  if (hasPendingPrompts === false) add("pending_prompts = 0");
  if (updatedFromMs !== undefined) add("updated_at_ms >= ?", updatedFromMs);
  if (updatedBeforeMs !== undefined) add("updated_at_ms < ?", updatedBeforeMs);
  if (createdBy !== undefined) add("created_by IS ?", createdBy);
  // Ids of users have no quotes, so the id in quotes is found only as one of the list.
  if (visibleTo !== undefined) {
    add("(audience IS NULL OR instr(audience, ?) > 0)", JSON.stringify(visibleTo));
  }
  if (text !== undefined)
    add("display_name IS NOT NULL AND instr(fold(display_name), fold(?)) > 0", text);
  return { where, values };
}

/** One damaged session is named and passed over; it does not hide the others. */
function listed({ rows: found, more }: S.Page<SqlRow>): ListRows {
  const sessions: S.StoredRecord[] = [];
  const damaged: { sessionId: string; reason: string }[] = [];
  for (const row of found) {
    const session = believed(row);
    const record = session.ok ? rows.recordOf(session.value) : session;
    if (record.ok) sessions.push(record.value);
    else damaged.push({ sessionId: String(row.session_id), reason: reasonOf(record) });
  }
  const last = more ? found.at(-1) : undefined;
  const place = { updatedAtMs: Number(last?.updated_at_ms), sessionId: String(last?.session_id) };
  return { sessions, damaged, continuesAfter: last === undefined ? null : place };
}

function reasonOf(result: Result<never>): string {
  return result.ok ? "" : String(result.refusal.details.reason ?? result.refusal.code);
}

const PAGE_OF_MESSAGES =
  "SELECT id, text, checksum FROM messages WHERE number = ? AND id > ? ORDER BY id";
const PAGE_OF_TURNS = `
  SELECT id, first_id, last_id, text, checksum FROM turns
  WHERE number = ? AND last_id < ? ORDER BY last_id DESC`;
const FIRST_TURN_FROM =
  "SELECT id FROM turns WHERE number = ? AND last_id >= ? ORDER BY last_id LIMIT 1";

/** All that reads do in a transaction of a tenant. */
export const READS = {
  readRecord: operation(readRecord, noSession),
  readManifest: operation(readManifest, noSession),
  readEvents: operation(readEvents, noSession),
  readTurns: operation(readTurns, noSession),
  readMessages: operation(readMessages, noSession),
  readSlots: operation(readSlotsOf, noSession),
  list: operation(list, () => ok({ sessions: [], damaged: [], continuesAfter: null })),
  ...TENANT_READS,
};

/** Whether this operation is one of those. */
export function isRead(op: string): boolean {
  return Object.hasOwn(READS, op);
}
