import { crc32 } from "node:zlib";
import { parseSessionId, parseUserId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { parseSessionName } from "../../core/session/name.ts";
import { migrateLegacyStatus } from "../../core/status.ts";
import { checkManifest } from "../fields.ts";
import type { Holder } from "../holder.ts";
import type {
  FoldedTurn,
  Manifest,
  SessionRecord,
  Slot,
  StoredRecord,
  StoredText,
} from "../store.ts";
import type { SqlRow } from "./database.ts";

/** Stamped on every manifest and every row of a session. */
export const STORE_ID = "sqlite";

/** A session's row, as values. */
export interface SessionRow extends SessionRecord {
  readonly number: number;
  readonly sessionId: string;
  readonly storeId: string;
  readonly epoch: string;
  readonly term: number;
  readonly holder: Holder | null;
  readonly revision: number;
  readonly lastEventId: number;
  readonly snapshotEventId: number;
  readonly earliestEventId: number;
  readonly messageCount: number;
  readonly turnCount: number;
  readonly slotCount: number;
  readonly manifest: Manifest;
  readonly createdAtMs: number;
}

type ColumnValue = string | number | null;

/**
 * The columns that a session's checksum covers, in the order in which it covers them. The end of
 * its log moves with every append and has a checksum of its own, so that an append need not look
 * at the rest.
 */
const COLUMNS: Readonly<Record<string, (row: SessionRow) => ColumnValue>> = {
  number: (row) => row.number,
  session_id: (row) => row.sessionId,
  store_id: (row) => row.storeId,
  epoch: (row) => row.epoch,
  term: (row) => row.term,
  holder: (row) => (row.holder === null ? null : JSON.stringify(row.holder)),
  revision: (row) => row.revision,
  snapshot_event_id: (row) => row.snapshotEventId,
  earliest_event_id: (row) => row.earliestEventId,
  message_count: (row) => row.messageCount,
  turn_count: (row) => row.turnCount,
  slot_count: (row) => row.slotCount,
  manifest: (row) => JSON.stringify(row.manifest),
  workspace_cwd: (row) => row.workspaceCwd,
  status: (row) => row.status,
  display_name: (row) => row.displayName,
  parent_session_id: (row) => row.parentSessionId,
  source_type: (row) => row.sourceType,
  source_id: (row) => row.sourceId,
  closed: (row) => Number(row.closed),
  shared: (row) => Number(row.shared),
  pending_prompts: (row) => row.pendingPrompts,
  updated_at_ms: (row) => row.updatedAtMs,
  created_at_ms: (row) => row.createdAtMs,
};

const COLUMN_NAMES = Object.keys(COLUMNS);

const COLUMN_VALUES = Object.values(COLUMNS);

/**
 * Columns of later migrations. The checksum covers those that are not null: so the rows of before,
 * which have none, keep theirs.
 */
const LATER_COLUMNS: typeof COLUMNS = {
  created_by: (row) => row.createdBy,
  audience: (row) => (row.audience === null ? null : JSON.stringify(row.audience)),
  name: (row) => row.name,
  agent: (row) => row.agent,
};

const LATER_NAMES = Object.keys(LATER_COLUMNS);

const LATER_VALUES = Object.values(LATER_COLUMNS);

const POSITION_NAMES = ["last_event_id", "last_event_checksum"];

const WRITTEN = [...COLUMN_NAMES, ...LATER_NAMES, "checksum", ...POSITION_NAMES];

export const INSERT_SESSION = `
  INSERT INTO sessions (${WRITTEN.join(", ")}) VALUES (${WRITTEN.map(() => "?").join(", ")})`;

export const UPDATE_SESSION = `
  UPDATE sessions SET ${WRITTEN.map((name) => `${name} = ?`).join(", ")} WHERE number = ?`;

/** Most commits only append: then no index has to be touched. */
export const UPDATE_POSITION = `
  UPDATE sessions SET last_event_id = ?, last_event_checksum = ? WHERE number = ?`;

/** What the first two statements take, before the number. */
export function sessionValues(row: SessionRow): readonly ColumnValue[] {
  const columns = COLUMN_VALUES.map((column) => column(row));
  const later = LATER_VALUES.map((column) => column(row));
  return [...columns, ...later, sessionChecksum(columns, later), ...positionValues(row)];
}

function sessionChecksum(columns: readonly unknown[], later: readonly unknown[]): number {
  const named = later.flatMap((value, index) =>
    value === null ? [] : [[LATER_NAMES[index], value]],
  );
  return checksum(JSON.stringify([...columns, ...named]));
}

export function positionValues({ number, lastEventId }: SessionRow): readonly [number, number] {
  return [lastEventId, checksum(String(lastEventId), number)];
}

/** Believes a row only if its checksum agrees; of which store it is can be asked before. */
export function readSession(row: SqlRow): Result<SessionRow> {
  const columns = COLUMN_NAMES.map((name) => row[name]);
  const later = LATER_NAMES.map((name) => row[name]);
  if (sessionChecksum(columns, later) !== row.checksum) return damaged("its record");
  const position = checksum(String(row.last_event_id), Number(row.number));
  if (position !== row.last_event_checksum) return damaged("the end of its log");
  const text = (name: string) => (typeof row[name] === "string" ? row[name] : null);
  const count = (name: string) => Number(row[name]);
  const holder = text("holder");
  const manifest: Manifest = JSON.parse(text("manifest") ?? "null");
  const whole = checkManifest(manifest, text("store_id") ?? "");
  if (!whole.ok || manifest.sessionId !== row.session_id) {
    return fail("session_corrupt", { reason: "its manifest is not one of this session" });
  }
  return ok({
    number: count("number"),
    sessionId: text("session_id") ?? "",
    storeId: text("store_id") ?? "",
    epoch: text("epoch") ?? "",
    term: count("term"),
    holder: holder === null ? null : JSON.parse(holder),
    revision: count("revision"),
    lastEventId: count("last_event_id"),
    snapshotEventId: count("snapshot_event_id"),
    earliestEventId: count("earliest_event_id"),
    messageCount: count("message_count"),
    turnCount: count("turn_count"),
    slotCount: count("slot_count"),
    manifest,
    workspaceCwd: text("workspace_cwd") ?? "",
    status: migrateLegacyStatus(text("status") ?? ""),
    displayName: text("display_name"),
    parentSessionId: parseSessionId(text("parent_session_id") ?? ""),
    sourceType: text("source_type"),
    sourceId: text("source_id"),
    closed: row.closed === 1,
    shared: row.shared === 1,
    pendingPrompts: count("pending_prompts"),
    createdBy: parseUserId(text("created_by") ?? ""),
    audience: JSON.parse(text("audience") ?? "null"),
    name: parseSessionName(text("name") ?? ""),
    agent: text("agent"),
    updatedAtMs: count("updated_at_ms"),
    createdAtMs: count("created_at_ms"),
  });
}

/** Whose session it is comes first: a foreign one is not damaged, only foreign. */
export function believed(row: SqlRow): Result<SessionRow> {
  if (row.store_id === STORE_ID) return readSession(row);
  return fail("resume_mismatch", { stored: String(row.store_id), active: STORE_ID });
}

/** What others are shown of a row. */
export function recordOf(row: SessionRow): Result<StoredRecord> {
  const { number, storeId, manifest, slotCount, ...record } = row;
  const sessionId = parseSessionId(row.sessionId);
  return sessionId === null ? damaged("its id") : ok({ ...record, sessionId });
}

export function checksum(text: string | Uint8Array, salt = 0): number {
  return crc32(text, salt);
}

/** Of all the columns of a row, so that no part of it can change unnoticed. */
export function rowChecksum(...columns: readonly (string | number | null)[]): number {
  return checksum(JSON.stringify(columns));
}

export function slotChecksum({ owner, version, payload }: Slot): number {
  return checksum(payload, rowChecksum(owner, version));
}

/** Numbered texts, without a gap and each with its checksum, or word of the damage. */
export function readTexts(
  rows: readonly SqlRow[],
  first: number,
  what: string,
): Result<readonly StoredText[]> {
  const texts: StoredText[] = [];
  for (const { id, text, checksum: sum } of rows) {
    const expected = first + texts.length;
    if (id !== expected || typeof text !== "string" || checksum(text, expected) !== sum) {
      return damaged(`${what} ${expected}`);
    }
    texts.push({ id: expected, text });
  }
  return ok(texts);
}

/** A folded turn with its checksum and the number that is expected, or word of the damage. */
export function readTurn(row: SqlRow, expected: number): Result<FoldedTurn> {
  const { id, first_id: firstId, last_id: lastId, text } = row;
  const turn = { firstId: Number(firstId), lastId: Number(lastId), text: String(text) };
  const whole = typeof text === "string" && id === expected;
  if (!whole || !isTurnChecksum(row.checksum, expected, turn)) return damaged(`turn ${expected}`);
  return ok(turn);
}

/** The text is not written as JSON for it, which takes longer than all else of a read. */
export function turnChecksum(id: number, { firstId, lastId, text }: FoldedTurn): number {
  return checksum(text, rowChecksum(id, firstId, lastId));
}

/** Or the one of the first two versions of the schema. */
function isTurnChecksum(sum: unknown, id: number, turn: FoldedTurn): boolean {
  if (sum === turnChecksum(id, turn)) return true;
  return sum === rowChecksum(id, turn.firstId, turn.lastId, turn.text);
}

export const INSERT_MESSAGE =
  "INSERT INTO messages (number, id, text, checksum) VALUES (?, ?, ?, ?)";

export const INSERT_TURN =
  "INSERT INTO turns (number, id, first_id, last_id, text, checksum) VALUES (?, ?, ?, ?, ?, ?)";

export const TRIM_EVENTS = "DELETE FROM events WHERE number = ? AND last_id <= ?";

export function damaged(what: string): Result<never> {
  return fail("session_corrupt", { reason: `${what} does not have its checksum` });
}

/** Thrown where nothing can be returned; it is answered like any other damage. */
export class RowDamage extends Error {
  readonly code = "SQLITE_CORRUPT_ROW";

  constructor(what: string) {
    super(`${what} does not have its checksum`);
  }
}

/** Events of one session that were written together, in one row. */
export interface EventRun {
  readonly firstId: number;
  readonly texts: readonly string[];
}

/** What its row takes, after the session's number. */
export function runValues({ firstId, texts }: EventRun): readonly (string | number)[] {
  const lengths = texts.map(({ length }) => length).join(",");
  const text = texts.join("");
  const lastId = firstId + texts.length - 1;
  return [lastId, firstId, lengths, text, runChecksum(lastId, firstId, lengths, text)];
}

export const INSERT_RUN = `
  INSERT INTO events (number, last_id, first_id, lengths, text, checksum)
  VALUES (?, ?, ?, ?, ?, ?)`;

export const RUNS_AFTER = `
  SELECT last_id, first_id, lengths, text, checksum FROM events
  WHERE number = ? AND last_id > ? ORDER BY last_id`;

/** Up to the one that has a certain event: rows after it would be read for nothing. */
export const RUNS_BETWEEN = `
  SELECT last_id, first_id, lengths, text, checksum FROM events
  WHERE number = $number AND last_id > $after AND last_id <= ifnull(
    (SELECT min(last_id) FROM events WHERE number = $number AND last_id >= $through),
    ${Number.MAX_SAFE_INTEGER})
  ORDER BY last_id`;

/** The events of these runs, without a gap from the given id on, or word of the damage. */
export function readRuns(rows: readonly SqlRow[], from: number): Result<readonly StoredText[]> {
  const events: StoredText[] = [];
  let next = from;
  for (const row of rows) {
    const run = readRun(row);
    // The first run may begin before what was asked for; each other one where the last ended.
    const follows =
      run !== null && (events.length === 0 ? run.firstId <= from : run.firstId === next);
    if (!follows) return damaged(`event ${next}`);
    for (const text of run.texts.slice(next - run.firstId)) {
      events.push({ id: next, text });
      next += 1;
    }
  }
  return ok(events);
}

/** Null if it is not as it was written. */
export function readRun(row: SqlRow): EventRun | null {
  const { lengths, text } = row;
  const lastId = Number(row.last_id);
  const firstId = Number(row.first_id);
  if (typeof lengths !== "string" || typeof text !== "string") return null;
  if (runChecksum(lastId, firstId, lengths, text) !== row.checksum) return null;
  let start = 0;
  const texts = lengths.split(",").map((length) => {
    const end = start + Number(length);
    const one = text.slice(start, end);
    start = end;
    return one;
  });
  return { firstId, texts };
}

function runChecksum(lastId: number, firstId: number, lengths: string, text: string): number {
  return checksum(text, checksum(`${firstId} ${lastId} ${lengths}`));
}
