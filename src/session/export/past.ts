import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import type { HistoryTruncated } from "../../core/replay/window.ts";
import type { EventPage, FoldedTurn, StoredRecord, StoredText } from "../../store/store.ts";
import { type ExportSource, must } from "./source.ts";

/**
 * The whole past of a session, in order: first its folded turns, then the raw events since, in
 * pages. Where events between the two are not kept any more, it says so. It ends where the record
 * did when the export began, whatever happens meanwhile.
 */
export type PastPart =
  | { readonly kind: "turn"; readonly turn: FoldedTurn }
  | { readonly kind: "events"; readonly events: readonly StoredText[] }
  | { readonly kind: "missing"; readonly notice: HistoryTruncated };

export async function* pastParts(
  source: ExportSource,
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
 * Stores give turns newest first, and a reader wants them the other way. So the places where
 * pages begin are found first, and the pages are then read from the oldest on: never more than one
 * of them is held.
 */
async function* turnsOldestFirst(source: ExportSource, end: number): AsyncGenerator<FoldedTurn> {
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
  source: ExportSource,
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
