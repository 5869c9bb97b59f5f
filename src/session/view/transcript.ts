import { z } from "zod";
import type { PromptId, SessionId, TurnId } from "../../core/id.ts";
import { TRANSCRIPT_PAGE_BYTES_MAX, TRANSCRIPT_SEARCH_TURNS_MAX } from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { once } from "../../platform/once.ts";
import type { FoldedTurn, SessionKey, SessionStore, StoredRecord } from "../../store/store.ts";
import { eventsIn } from "../replay.ts";
import { searchTurns } from "./log-search.ts";

/** Where a reader begins, or goes on. */
export type TranscriptStart =
  | { readonly from: "first" }
  | { readonly from: "last" }
  /** Backward from the turn with this prompt or turn id, without it. */
  | { readonly from: "before"; readonly recordId: PromptId | TurnId }
  | { readonly from: "cursor"; readonly cursor: string };

/** The answer to `GET …/transcript`. */
export interface TranscriptPage {
  readonly v: 1;
  readonly sessionId: SessionId;
  /** Oldest first in both directions. */
  readonly events: readonly object[];
  readonly nextCursor?: string;
  readonly hasMore: boolean;
  readonly startTime: string;
  readonly lastUpdated: string;
}

/**
 * Reads a page of a session's finished turns, folded, from the store alone: it attaches no client
 * and opens nothing. A turn that is not finished yet is in the answer of `load`, and in the stream.
 */
export async function transcriptPage(
  store: SessionStore,
  key: SessionKey,
  { start, limit }: { readonly start: TranscriptStart; readonly limit: number },
): Promise<Result<TranscriptPage>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  if (record.value.closed) return fail("session_not_found", { sessionId: key.sessionId });
  const begin = await startPosition(store, key, record.value, start);
  if (!begin.ok) return begin;
  const position = begin.value;
  const page =
    position.direction === "forward"
      ? await turnsAfter(store, key, position, limit)
      : await turnsBefore(store, key, position.before, limit);
  return page.ok ? answerOf(record.value, position, page.value) : page;
}

async function startPosition(
  store: SessionStore,
  key: SessionKey,
  { epoch, lastEventId }: StoredRecord,
  start: TranscriptStart,
): Promise<Result<TranscriptPosition>> {
  const { sessionId } = key;
  if (start.from === "last") return ok({ direction: "backward", before: lastEventId + 1 });
  if (start.from === "before") return positionBefore(store, key, start.recordId);
  if (start.from === "cursor") {
    const cursor = readTranscriptCursor(start.cursor, sessionId);
    if (cursor === null) return fail("invalid_transcript_cursor", { sessionId });
    if (cursor.epoch !== epoch) return fail("transcript_snapshot_unavailable", { sessionId });
    return ok(cursor.position);
  }
  const newest = await store.readTurns(key, { before: lastEventId + 1, limit: 1 });
  if (!newest.ok) return newest;
  const through = newest.value.rows[0]?.lastId ?? 0;
  return ok({ direction: "forward", after: 0, through });
}

/** Searches the newest turns first: a reader has most likely just seen the record it names. */
async function positionBefore(
  store: SessionStore,
  key: SessionKey,
  recordId: string,
): Promise<Result<TranscriptPosition>> {
  const { sessionId } = key;
  let before = 0;
  const charsMax = Number.POSITIVE_INFINITY;
  const search = { text: recordId, turnsMax: TRANSCRIPT_SEARCH_TURNS_MAX, charsMax };
  const searched = await searchTurns(store, key, search, (events, { firstId }) => {
    before = firstId;
    return events.some(({ promptId, data }) => {
      return promptId === recordId || ("turnId" in data && data.turnId === recordId);
    });
  });
  if (!searched.ok) return searched;
  if (searched.value === "found") return ok({ direction: "backward", before });
  if (searched.value === "end") return fail("invalid_transcript_cursor", { sessionId });
  return fail("transcript_snapshot_unavailable", { sessionId });
}

function answerOf(
  { sessionId, epoch, createdAtMs, updatedAtMs }: StoredRecord,
  position: TranscriptPosition,
  { turns, tooLarge, more }: TurnPage,
): Result<TranscriptPage> {
  const last = tooLarge ?? (position.direction === "forward" ? turns.at(-1) : turns[0]);
  const next = last === undefined ? null : nextPosition(position, last);
  const nextCursor = next && writeTranscriptCursor({ sessionId, epoch, position: next });
  if (tooLarge !== null) {
    const pageBytes = Buffer.byteLength(tooLarge.text);
    const sizes = { pageBytes, maxBytes: TRANSCRIPT_PAGE_BYTES_MAX };
    const further = nextCursor === null ? {} : { nextCursor };
    return fail("transcript_page_too_large", { sessionId, ...sizes, ...further });
  }
  return ok({
    v: 1,
    sessionId,
    events: turns.flatMap(eventsIn).map(shownEvent),
    ...(more && nextCursor !== null && { nextCursor }),
    hasMore: more && nextCursor !== null,
    startTime: new Date(createdAtMs).toISOString(),
    lastUpdated: new Date(updatedAtMs).toISOString(),
  });
}

/** Returns null where nothing can be left in this direction. */
function nextPosition(
  position: TranscriptPosition,
  { firstId, lastId }: FoldedTurn,
): TranscriptPosition | null {
  if (position.direction === "forward") {
    return lastId < position.through ? { ...position, after: lastId } : null;
  }
  return firstId > 1 ? { direction: "backward", before: firstId } : null;
}

/** Leaves out the id, since no stream goes on from it, and shows an update as the agent sent it. */
function shownEvent({ id: _, ...event }: LogEvent): object {
  if (event.type !== "session_update") return event;
  const { update } = event.data;
  if (update.sessionUpdate !== "user_message_chunk" || event.promptId === undefined) {
    return { ...event, data: update };
  }
  // Clients take the id of a record from here, to read on before it.
  const meta = { ...Object(update._meta), [RECORD_ID]: event.promptId };
  return { ...event, data: { ...update, _meta: meta } };
}

const RECORD_ID = "qwen.session.recordId";

/**
 * A position in a session's history, from which a page is read. Forward it ends where the history
 * ended when the reading began, so that a reader comes to an end.
 */
type TranscriptPosition =
  | { readonly direction: "forward"; readonly after: number; readonly through: number }
  | { readonly direction: "backward"; readonly before: number };

/** A position, and the log that it is in. */
export interface TranscriptCursor {
  readonly sessionId: SessionId;
  readonly epoch: string;
  readonly position: TranscriptPosition;
}

export function writeTranscriptCursor({ sessionId, epoch, position }: TranscriptCursor): string {
  const ids =
    position.direction === "forward" ? [position.after, position.through] : [position.before];
  const parts = [sessionId, epoch, position.direction, ...ids];
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

const cursorSchema = once(() => {
  const eventId = z.int().min(0);
  return z.union([
    z.tuple([z.string(), z.string(), z.literal("forward"), eventId, eventId]),
    z.tuple([z.string(), z.string(), z.literal("backward"), eventId]),
  ]);
});

/** Returns null for a cursor of another session, or one that Fermata would not have written. */
function readTranscriptCursor(text: string, sessionId: SessionId): TranscriptCursor | null {
  const { data } = cursorSchema().safeParse(cursorParts(text));
  if (data === undefined) return null;
  const [, epoch, direction, first, second = 0] = data;
  const position: TranscriptPosition =
    direction === "forward"
      ? { direction, after: first, through: second }
      : { direction, before: first };
  const cursor = { sessionId, epoch, position };
  return writeTranscriptCursor(cursor) === text ? cursor : null;
}

/** Whether it could be a cursor of some session: known without a look at any. */
export function isTranscriptCursor(text: string): boolean {
  return cursorSchema().safeParse(cursorParts(text)).success;
}

function cursorParts(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return null;
  }
}

type TurnStore = Pick<SessionStore, "readTurns">;

/** Some turns, oldest first, or the one that is too large for any page. */
interface TurnPage {
  readonly turns: readonly FoldedTurn[];
  readonly tooLarge: FoldedTurn | null;
  /** Whether there are more in the direction of reading. */
  readonly more: boolean;
}

/** Reads the newest turns that ended before this event, as many as fit. */
export async function turnsBefore(
  store: TurnStore,
  key: SessionKey,
  end: number,
  limit: number,
): Promise<Result<TurnPage>> {
  const page = new PageBuilder(limit);
  let before = end;
  for (;;) {
    const read = await store.readTurns(key, { before, limit: page.headroom });
    if (!read.ok) return read;
    const { rows, more } = read.value;
    for (const turn of rows) {
      if (!page.take(turn)) return ok(page.newestFirst(true));
      before = turn.firstId;
    }
    if (!more) return ok(page.newestFirst(false));
    if (page.headroom === 0) return ok(page.newestFirst(true));
  }
}

/**
 * Reads the oldest turns after one event and up to another, as many as fit. Stores read turns
 * newest first, so this moves a window over the log: the window grows while it is empty, and
 * shrinks while it has more than can be read at once.
 */
export async function turnsAfter(
  store: TurnStore,
  key: SessionKey,
  { after, through }: { readonly after: number; readonly through: number },
  limit: number,
): Promise<Result<TurnPage>> {
  const page = new PageBuilder(limit);
  let begin = after;
  let span = limit * EVENTS_OF_A_TURN;
  while (begin < through) {
    if (page.headroom === 0) return ok(page.oldestFirst(true));
    const end = Math.min(through, begin + span);
    const read = await store.readTurns(key, { before: end + 1, limit: page.headroom + 1 });
    if (!read.ok) return read;
    const turns = read.value.rows.filter(({ lastId }) => lastId > begin).toReversed();
    const isWhole = turns.length < read.value.rows.length || !read.value.more;
    const reachesBack = isWhole || (turns[0]?.firstId ?? 0) <= begin + 1;
    if (!reachesBack && span > 1) {
      span = Math.floor(span / 2);
      continue;
    }
    for (const turn of turns) if (!page.take(turn)) return ok(page.oldestFirst(true));
    if (turns.length === 0) span *= 2;
    begin = turns.at(-1)?.lastId ?? end;
  }
  return ok(page.oldestFirst(false));
}

/** A first guess at how long turns are; the window corrects it. */
const EVENTS_OF_A_TURN = 16;

/** Takes turns in the order of reading until the page is full. */
class PageBuilder {
  readonly #limit: number;
  readonly #turns: FoldedTurn[] = [];
  #tooLarge: FoldedTurn | null = null;
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get headroom(): number {
    return this.#limit - this.#turns.length;
  }

  take(turn: FoldedTurn): boolean {
    if (this.headroom === 0) return false;
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
