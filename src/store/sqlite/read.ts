import { fail, ok, type Result } from "../../core/result.ts";
import type * as S from "../store.ts";
import { noSession, operation } from "./calls.ts";
import type { TenantDatabase } from "./database.ts";
import { LIST_READS } from "./list.ts";
import * as rows from "./row.ts";
import { RUNS_BETWEEN, readRuns } from "./row.ts";
import { SEARCH_READS } from "./search.ts";
import { TENANT_READS } from "./tenant.ts";

/** What the reading thread does; each call sees one moment of the database. */

function session(db: TenantDatabase, key: S.SessionKey): Result<rows.SessionRow> {
  const { sessionId } = key;
  const row = db.get("SELECT * FROM sessions WHERE session_id = ?", sessionId);
  return row === undefined ? fail("session_not_found", { sessionId }) : rows.believed(row);
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
  ...LIST_READS,
  ...SEARCH_READS,
  ...TENANT_READS,
};

/** Whether this operation is one of those. */
export function isRead(op: string): boolean {
  return Object.hasOwn(READS, op);
}
