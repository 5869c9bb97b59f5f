import { parentToolCallId } from "../agent-update.ts";
import {
  REPLAY_COMPACTED_BYTES_MAX,
  REPLAY_JOURNAL_BYTES_MAX,
  REPLAY_JOURNAL_CHUNKS_JOINED_MAX,
  REPLAY_JOURNAL_ENTRIES_MAX,
} from "../limits.ts";
import { updateFold } from "./fold.ts";
import { continues, join, type LogEvent, type UpdateEvent } from "./join.ts";

/** Stands first in a replay from which older events were left out. It has no number. */
export interface HistoryTruncated {
  readonly v: 1;
  readonly type: "history_truncated";
  readonly data: {
    readonly reason: "replay_window_exceeded";
    readonly truncatedEvents: number;
    readonly retainedEvents: number;
    readonly maxBytes: number;
    readonly fullTranscriptAvailable: boolean;
    readonly truncatedTurns?: number;
    readonly scope?: "live_journal";
    readonly maxEvents?: number;
  };
}

export type ReplayEvent = LogEvent | HistoryTruncated;

/** The newest finished turns that fit, whole; the first entry says what was left out. */
export function compactedReplay(
  segments: readonly (readonly LogEvent[])[],
  maxBytes: number = REPLAY_COMPACTED_BYTES_MAX,
): readonly ReplayEvent[] {
  let bytes = 0;
  let first = segments.length;
  for (const segment of segments.toReversed()) {
    bytes += sum(segment.map(serialisedBytes));
    if (bytes > maxBytes) break;
    first -= 1;
  }
  const kept = segments.slice(first).flat();
  if (first === 0) return kept;
  const truncatedEvents = sum(segments.slice(0, first).map((segment) => segment.length));
  return [truncated(truncatedEvents, kept.length, maxBytes, { truncatedTurns: first }), ...kept];
}

export interface JournalBounds {
  readonly maxEvents: number;
  readonly maxBytes: number;
}

const JOURNAL_BOUNDS: JournalBounds = {
  maxEvents: REPLAY_JOURNAL_ENTRIES_MAX,
  maxBytes: REPLAY_JOURNAL_BYTES_MAX,
};

/** `summary` leaves out what sub-agents said and did; how much they used stays. */
export type LiveReplayMode = "full" | "summary";

/** The unfinished turn, nearly as it happened: adjacent chunks are joined, nothing else changes. */
export function liveJournal(
  open: readonly LogEvent[],
  mode: LiveReplayMode = "full",
  bounds: JournalBounds = JOURNAL_BOUNDS,
): readonly ReplayEvent[] {
  const entries = joinAdjacent(mode === "full" ? open : open.filter((event) => !isInternal(event)));
  let bytes = 0;
  let first = entries.length;
  for (const entry of entries.toReversed()) {
    bytes += serialisedBytes(entry);
    if (bytes > bounds.maxBytes || entries.length - first >= bounds.maxEvents) break;
    first -= 1;
  }
  const kept = entries.slice(first);
  if (first === 0) return kept;
  const more = { scope: "live_journal", maxEvents: bounds.maxEvents } as const;
  return [truncated(first, kept.length, bounds.maxBytes, more), ...kept];
}

function isInternal(event: LogEvent): boolean {
  if (event.type !== "session_update") return false;
  const { update } = event.data;
  return parentToolCallId(update) !== null && update.sessionUpdate !== "usage_update";
}

function joinAdjacent(events: readonly LogEvent[]): readonly LogEvent[] {
  const entries: LogEvent[] = [];
  let run: UpdateEvent[] = [];
  const flush = () => {
    const [first, ...rest] = run;
    if (first !== undefined) entries.push(rest.length === 0 ? first : join([first, ...rest]));
    run = [];
  };
  for (const event of events) {
    const text = isText(event) ? event : null;
    const last = run.at(-1);
    const joins = text && last && continues(last.data.update, text.data.update);
    if (!joins || run.length >= REPLAY_JOURNAL_CHUNKS_JOINED_MAX) flush();
    if (text === null) entries.push(event);
    else run.push(text);
  }
  flush();
  return entries;
}

function isText(event: LogEvent): event is UpdateEvent {
  if (event.type !== "session_update") return false;
  return updateFold(event.data.update.sessionUpdate) === "join";
}

function truncated(
  truncatedEvents: number,
  retainedEvents: number,
  maxBytes: number,
  more: Partial<HistoryTruncated["data"]>,
): HistoryTruncated {
  const reason = "replay_window_exceeded";
  const counts = { truncatedEvents, retainedEvents, maxBytes, fullTranscriptAvailable: true };
  return { v: 1, type: "history_truncated", data: { reason, ...counts, ...more } };
}

/** Bytes on the wire, counted without encoding: UTF-8 is one to three per UTF-16 unit. */
export function serialisedBytes(value: unknown): number {
  const json = JSON.stringify(value);
  let bytes = 0;
  for (let at = 0; at < json.length; at += 1) {
    const unit = json.charCodeAt(at);
    const surrogate = unit >= 0xd800 && unit <= 0xdfff; // Two of these make four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || surrogate ? 2 : 3;
  }
  return bytes;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
