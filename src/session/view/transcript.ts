import type { PromptId, SessionId, TurnId } from "../../core/id.ts";
import { TRANSCRIPT_PAGE_BYTES_MAX, TRANSCRIPT_SEARCH_TURNS_MAX } from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { FoldedTurn, SessionKey, SessionStore, StoredRecord } from "../../store/store.ts";
import { eventsIn } from "../replay.ts";

/** Where a reader begins, or goes on. */
export type TranscriptStart =
  | { readonly from: "first" }
  | { readonly from: "last" }
  /** Back from the turn of this prompt, or from the turn of this id, without it. */
  | { readonly from: "before"; readonly recordId: PromptId | TurnId }
  | { readonly from: "cursor"; readonly cursor: string };

/** The wire's `GET …/transcript`. */
export interface TranscriptPage {
  readonly v: 1;
  readonly sessionId: SessionId;
  /** In the order in which they happened, whichever way the pages go. */
  readonly events: readonly object[];
  readonly nextCursor?: string;
  readonly hasMore: boolean;
  readonly startTime: string;
  readonly lastUpdated: string;
}

/**
 * A page of a session's finished turns, folded, from the store alone: nobody is attached by it and
 * nothing is opened. What is not finished yet is in what `load` shows, and in the stream.
 */
export async function transcriptPage(
  store: SessionStore,
  key: SessionKey,
  { start, limit }: { readonly start: TranscriptStart; readonly limit: number },
): Promise<Result<TranscriptPage>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  if (record.value.closed) return fail("session_not_found", { sessionId: key.sessionId });
  const place = await startPosition(store, key, record.value, start);
  if (!place.ok) return place;
  const page = await turnsAt(store, key, place.value, limit);
  if (!page.ok) return page;
  return answerOf(record.value, place.value, page.value);
}

function turnsAt(store: SessionStore, key: SessionKey, place: TranscriptPlace, limit: number) {
  return place.direction === "forward"
    ? turnsAfter(store, key, place, limit)
    : turnsBefore(store, key, place.before, limit);
}

async function startPosition(
  store: SessionStore,
  key: SessionKey,
  { epoch, lastEventId }: StoredRecord,
  start: TranscriptStart,
): Promise<Result<TranscriptPlace>> {
  const { sessionId } = key;
  if (start.from === "last") return ok({ direction: "backward", before: lastEventId + 1 });
  if (start.from === "before") return placeBefore(store, key, lastEventId + 1, start.recordId);
  if (start.from === "cursor") {
    const cursor = readTranscriptCursor(start.cursor, sessionId);
    if (cursor === null) return fail("invalid_transcript_cursor", { sessionId });
    if (cursor.epoch !== epoch) return fail("transcript_snapshot_unavailable", { sessionId });
    return ok(cursor.place);
  }
  const newest = await store.readTurns(key, { before: lastEventId + 1, limit: 1 });
  if (!newest.ok) return newest;
  const through = newest.value.rows[0]?.lastId ?? 0;
  return ok({ direction: "forward", after: 0, through });
}

/** Whoever names a record has most likely just seen it, so the newest turns are looked at first. */
async function placeBefore(
  store: SessionStore,
  { tenantId, sessionId }: SessionKey,
  end: number,
  recordId: string,
): Promise<Result<TranscriptPlace>> {
  let before = end;
  for (let left = TRANSCRIPT_SEARCH_TURNS_MAX; left > 0; ) {
    const range = { before, limit: Math.min(left, TURNS_AT_ONCE) };
    const page = await store.readTurns({ tenantId, sessionId }, range);
    if (!page.ok) return page;
    const { rows, more } = page.value;
    const named = rows.find((turn) => hasRecord(turn, recordId));
    if (named !== undefined) return ok({ direction: "backward", before: named.firstId });
    if (!more) return fail("invalid_transcript_cursor", { sessionId });
    left -= rows.length;
    before = rows.at(-1)?.firstId ?? 0;
  }
  return fail("transcript_snapshot_unavailable", { sessionId });
}

const TURNS_AT_ONCE = 100;

function hasRecord(turn: FoldedTurn, recordId: string): boolean {
  if (!turn.text.includes(recordId)) return false;
  return eventsIn(turn).some(({ promptId, data }) => {
    return promptId === recordId || ("turnId" in data && data.turnId === recordId);
  });
}

function answerOf(
  { sessionId, epoch, createdAtMs, updatedAtMs }: StoredRecord,
  place: TranscriptPlace,
  { turns, tooLarge, more }: TurnPage,
): Result<TranscriptPage> {
  const last = tooLarge ?? (place.direction === "forward" ? turns.at(-1) : turns[0]);
  const next = last === undefined ? null : nextPlace(place, last);
  const nextCursor = next && writeTranscriptCursor({ sessionId, epoch, place: next });
  if (tooLarge !== null) {
    const sizes = {
      pageBytes: Buffer.byteLength(tooLarge.text),
      maxBytes: TRANSCRIPT_PAGE_BYTES_MAX,
    };
    const further = nextCursor === null ? {} : { nextCursor };
    return fail("transcript_page_too_large", { sessionId, ...sizes, ...further });
  }
  return ok({
    v: 1,
    sessionId,
    events: turns.flatMap(eventsIn).map(told),
    ...(more && nextCursor !== null && { nextCursor }),
    hasMore: more && nextCursor !== null,
    startTime: new Date(createdAtMs).toISOString(),
    lastUpdated: new Date(updatedAtMs).toISOString(),
  });
}

/** Null where nothing can be left in this direction. */
function nextPlace(
  place: TranscriptPlace,
  { firstId, lastId }: FoldedTurn,
): TranscriptPlace | null {
  if (place.direction === "forward") {
    return lastId < place.through ? { ...place, after: lastId } : null;
  }
  return firstId > 1 ? { direction: "backward", before: firstId } : null;
}

/** Without its number, since no stream goes on from it; and an update as the agent said it. */
function told({ id: _, ...event }: LogEvent): object {
  if (event.type !== "session_update") return event;
  const { update } = event.data;
  if (update.sessionUpdate !== "user_message_chunk" || event.promptId === undefined) {
    return { ...event, data: update };
  }
  // Clients of the wire take the name of a record from here, to read on before it.
  const meta = { ...Object(update._meta), [RECORD_ID]: event.promptId };
  return { ...event, data: { ...update, _meta: meta } };
}

const RECORD_ID = "qwen.session.recordId";

/**
 * A place in a session's history, from which a page is read. Forward it ends where the history
 * ended when the reading began, so that who reads comes to an end.
 */
type TranscriptPlace =
  | { readonly direction: "forward"; readonly after: number; readonly through: number }
  | { readonly direction: "backward"; readonly before: number };

/** A place, and the log that it is a place in. */
export interface TranscriptCursor {
  readonly sessionId: SessionId;
  readonly epoch: string;
  readonly place: TranscriptPlace;
}

export function writeTranscriptCursor({ sessionId, epoch, place }: TranscriptCursor): string {
  const numbers = place.direction === "forward" ? [place.after, place.through] : [place.before];
  const parts = [sessionId, epoch, place.direction, ...numbers];
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** Null if it is none of this session's: what we would not have written is not read either. */
function readTranscriptCursor(text: string, sessionId: SessionId): TranscriptCursor | null {
  const parts = partsOf(text);
  if (!Array.isArray(parts)) return null;
  const [, epoch, direction, first, second]: readonly unknown[] = parts;
  const place = readPosition(direction, first, second);
  if (typeof epoch !== "string" || place === null) return null;
  const cursor = { sessionId, epoch, place };
  return writeTranscriptCursor(cursor) === text ? cursor : null;
}

function readPosition(direction: unknown, first: unknown, second: unknown): TranscriptPlace | null {
  if (!isEventId(first)) return null;
  if (direction === "backward") return { direction, before: first };
  if (direction === "forward" && isEventId(second)) {
    return { direction, after: first, through: second };
  }
  return null;
}

function isEventId(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function partsOf(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return null;
  }
}

type TurnStore = Pick<SessionStore, "readTurns">;

/** Some turns in the order in which they happened, or the one that is too large for any page. */
export interface TurnPage {
  readonly turns: readonly FoldedTurn[];
  readonly tooLarge: FoldedTurn | null;
  /** Whether there are more in the direction of reading. */
  readonly more: boolean;
}

/** The newest turns that ended before this event, as many as fit. */
export async function turnsBefore(
  store: TurnStore,
  key: SessionKey,
  end: number,
  limit: number,
): Promise<Result<TurnPage>> {
  const page = new PageBuilder(limit);
  let before = end;
  for (;;) {
    const read = await store.readTurns(key, { before, limit: page.room });
    if (!read.ok) return read;
    const { rows, more } = read.value;
    for (const turn of rows) {
      if (!page.take(turn)) return ok(page.newestFirst(true));
      before = turn.firstId;
    }
    if (!more) return ok(page.newestFirst(false));
    if (page.room === 0) return ok(page.newestFirst(true));
  }
}

/**
 * The oldest turns after one event and up to another, as many as fit. Stores give turns newest
 * first, so they are looked for in a window of the log: it grows while it is empty, and shrinks
 * while it has more than can be read at once.
 */
export async function turnsAfter(
  store: TurnStore,
  key: SessionKey,
  { after, through }: { readonly after: number; readonly through: number },
  limit: number,
): Promise<Result<TurnPage>> {
  const page = new PageBuilder(limit);
  let place = after;
  let span = limit * EVENTS_OF_A_TURN;
  while (place < through) {
    if (page.room === 0) return ok(page.oldestFirst(true));
    const end = Math.min(through, place + span);
    const read = await store.readTurns(key, { before: end + 1, limit: page.room + 1 });
    if (!read.ok) return read;
    const turns = read.value.rows.filter(({ lastId }) => lastId > place).toReversed();
    const isWhole = turns.length < read.value.rows.length || !read.value.more;
    const reachesBack = isWhole || (turns[0]?.firstId ?? 0) <= place + 1;
    if (!reachesBack && span > 1) {
      span = Math.floor(span / 2);
      continue;
    }
    for (const turn of turns) if (!page.take(turn)) return ok(page.oldestFirst(true));
    if (turns.length === 0) span *= 2;
    place = turns.at(-1)?.lastId ?? end;
  }
  return ok(page.oldestFirst(false));
}

/** A first guess at how long turns are; the window mends it. */
const EVENTS_OF_A_TURN = 16;

/** What fits, in the order in which it came. */
class PageBuilder {
  readonly #limit: number;
  readonly #turns: FoldedTurn[] = [];
  #tooLarge: FoldedTurn | null = null;
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get room(): number {
    return this.#limit - this.#turns.length;
  }

  take(turn: FoldedTurn): boolean {
    if (this.room === 0) return false;
    this.#bytes += Buffer.byteLength(turn.text);
    const fits = this.#bytes <= TRANSCRIPT_PAGE_BYTES_MAX;
    if (fits) this.#turns.push(turn);
    else if (this.#turns.length === 0) this.#tooLarge = turn;
    return fits;
  }

  oldestFirst(more: boolean): TurnPage {
    return { turns: this.#turns, tooLarge: this.#tooLarge, more };
  }

  newestFirst(more: boolean): TurnPage {
    return { ...this.oldestFirst(more), turns: this.#turns.toReversed() };
  }
}
