import { type Refusal, refusal } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import type { HistoryTruncated } from "../../core/replay/window.ts";
import { fail, type Result } from "../../core/result.ts";
import type { Audience } from "../../core/session/visibility.ts";
import type {
  BackwardRange,
  EventPage,
  FoldedTurn,
  Manifest,
  Page,
  Range,
  SessionKey,
  SessionStore,
  StoredRecord,
  StoredText,
} from "../../store/store.ts";

/** What an export is read from: a store's reads, for one session. */
export interface ExportSource extends ExportPages {
  record(): Promise<Result<StoredRecord>>;
  manifest(): Promise<Result<Manifest>>;
}

/** What is read while the export is written, a page at a time. */
export interface ExportPages {
  messages(range: Range): Promise<Result<Page<StoredText>>>;
  turns(range: BackwardRange): Promise<Result<Page<FoldedTurn>>>;
  events(range: Range): Promise<Result<EventPage>>;
}

/** A session whose export can begin. */
export interface Exported {
  readonly source: ExportPages;
  readonly record: StoredRecord;
  readonly manifest: Manifest;
}

/** The one session that a reader may read, for as long as it is that and the reader sees it. */
export interface ExportSight {
  readonly epoch: string;
  sees(audience: Audience): boolean;
}

/**
 * Reads a session for a reader. If it is deleted, its id may be given to another session, and it
 * may be shared with fewer users than before: so each read is followed by a look at whose it was
 * (P8). An epoch never comes again: if it is the same afterwards, it was the same before.
 */
export function storeSource(
  store: SessionStore,
  key: SessionKey,
  { epoch, sees }: ExportSight,
): ExportSource {
  const { sessionId } = key;
  const record = async (): Promise<Result<StoredRecord>> => {
    const read = await store.readRecord(key);
    if (!read.ok || (read.value.epoch === epoch && sees(read.value.audience))) return read;
    return fail("session_not_found", { sessionId });
  };
  const ofSession = async <Value>(reading: Promise<Result<Value>>): Promise<Result<Value>> => {
    const read = await reading;
    if (!read.ok) return read;
    const after = await record();
    return after.ok ? read : after;
  };
  return {
    record,
    manifest: () => ofSession(store.readManifest(key)),
    messages: (range) => ofSession(store.readMessages(key, range)),
    turns: (range) => ofSession(store.readTurns(key, range)),
    events: (range) => ofSession(store.readEvents(key, range)),
  };
}

/**
 * Thrown into the middle of an export, and nowhere else: its beginning has been sent, so there is
 * no other way to keep a reader from taking half of it for the whole.
 */
export class ExportBroken extends Error {
  readonly refusal: Refusal;

  constructor(why: Refusal) {
    super(`the export broke off: ${why.code}`);
    this.refusal = why;
  }
}

/** What was read, or the end of the export. */
function must<Value>(result: Result<Value>): Value {
  if (!result.ok) throw new ExportBroken(result.refusal);
  return result.value;
}

/** Stored JSON, looked at before it is passed on: one bad text would spoil the whole document. */
export function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ExportBroken(refusal("session_corrupt", { reason: `${what} is no JSON` }));
  }
}

/**
 * The whole past of a session, in order: first its folded turns, then the raw events since, in
 * pages. Where events between the two are not kept any more, it says so. It ends where the record
 * did when the export began.
 */
export type PastPart =
  | { readonly kind: "turn"; readonly turn: FoldedTurn }
  | { readonly kind: "events"; readonly events: readonly StoredText[] }
  | { readonly kind: "missing"; readonly notice: HistoryTruncated };

export async function* wholePast(
  source: ExportPages,
  record: StoredRecord,
): AsyncGenerator<PastPart> {
  let after = 0;
  for await (const turn of turnsOldestFirst(source, record.lastEventId + 1)) {
    yield { kind: "turn", turn };
    after = turn.lastId;
  }
  while (after < record.lastEventId) {
    const page = must(await source.events({ after, limit: PAGE_ROWS_MAX }));
    const missing = missingBefore(page, after, record);
    if (missing !== null) yield missing;
    const events = page.events.filter(({ id }) => id <= record.lastEventId);
    if (events.length > 0) yield { kind: "events", events };
    after = events.at(-1)?.id ?? record.lastEventId;
  }
}

/** In the words that the wire has for a replay from which something was left out. */
function missingBefore(
  { earliestEventId }: EventPage,
  after: number,
  { lastEventId }: StoredRecord,
): PastPart | null {
  const first = Math.min(earliestEventId, lastEventId + 1);
  const truncatedEvents = first - (after + 1);
  if (truncatedEvents <= 0) return null;
  const reason = "replay_window_exceeded";
  const counts = { truncatedEvents, retainedEvents: lastEventId + 1 - first, maxBytes: 0 };
  const data = { reason, ...counts, fullTranscriptAvailable: false } as const;
  return { kind: "missing", notice: { v: 1, type: "history_truncated", data } };
}

/**
 * Stores give turns newest first, and a reader wants them the other way. So the positions where
 * pages begin are found first, and the pages are then read from the oldest on: never more than one
 * of them is held.
 */
async function* turnsOldestFirst(source: ExportPages, end: number): AsyncGenerator<FoldedTurn> {
  const starts: number[] = [];
  let before = end;
  let page = must(await source.turns({ before, limit: PAGE_ROWS_MAX }));
  while (page.more) {
    starts.push(before);
    before = page.rows.at(-1)?.lastId ?? 0;
    page = must(await source.turns({ before, limit: PAGE_ROWS_MAX }));
  }
  yield* page.rows.toReversed();
  for (const start of starts.toReversed()) {
    const { rows } = must(await source.turns({ before: start, limit: PAGE_ROWS_MAX }));
    yield* rows.toReversed();
  }
}

/** The messages of the conversation, in order. */
export async function* messageTexts(
  source: ExportPages,
  { messageCount }: StoredRecord,
): AsyncGenerator<StoredText> {
  let after = 0;
  while (after < messageCount) {
    const { rows } = must(await source.messages({ after, limit: PAGE_ROWS_MAX }));
    const kept = rows.filter(({ id }) => id <= messageCount);
    yield* kept;
    after = kept.at(-1)?.id ?? messageCount;
  }
}

/** The events of a folded turn. */
export function turnEvents({ lastId, text }: FoldedTurn): readonly LogEvent[] {
  const what = `the turn that ended with event ${lastId}`;
  const events = parsed(text, what);
  if (!Array.isArray(events) || !events.every(isLogEvent)) throw notEvents(what);
  return events;
}

export function storedEvent({ id, text }: StoredText): LogEvent {
  const event = parsed(text, `event ${id}`);
  if (!isLogEvent(event)) throw notEvents(`event ${id}`);
  return event;
}

/** The envelope is looked at; what is in it was ours when we wrote it, under a checksum. */
function isLogEvent(value: unknown): value is LogEvent {
  if (!isObject(value) || !isObject(value.data) || !isObject(value._meta)) return false;
  const { serverTimestamp } = value._meta;
  return typeof value.type === "string" && typeof serverTimestamp === "number";
}

function notEvents(what: string): ExportBroken {
  return new ExportBroken(refusal("session_corrupt", { reason: `${what} cannot be read` }));
}
