import { type AgentUpdate, parentToolCallId } from "../agent-update.ts";
import type { PromptId } from "../id.ts";
import { objectAt } from "../json.ts";
import {
  REPLAY_COMPACTED_BYTES_MAX,
  REPLAY_JOURNAL_BYTES_MAX,
  REPLAY_JOURNAL_CHUNKS_JOINED_MAX,
  REPLAY_JOURNAL_ENTRIES_MAX,
} from "../limits.ts";
import { EVENT_TABLE, foldOf, isEventType } from "../session/event-table.ts";
import {
  continues,
  join,
  joinableText,
  type LogEvent,
  type UpdateEvent,
  updateFold,
} from "./compact.ts";
import { eventTexts, type StoredTurn } from "./stored.ts";

/** Stands first in a replay from which older events were left out. It has no number. */
export interface HistoryTruncated {
  readonly v: 1;
  readonly type: "history_truncated";
  /** The prompt whose turn was cut, if that turn is open. */
  readonly promptId?: PromptId;
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

/** The newest finished turns that fit, whole, and what says how much was left out before them. */
export function newestTurns(
  turns: readonly StoredTurn[],
  maxBytes: number = REPLAY_COMPACTED_BYTES_MAX,
): { readonly kept: readonly StoredTurn[]; readonly cut: HistoryTruncated | null } {
  const first = firstKept(turns, ({ bytes }) => bytes, { maxBytes, maxEvents: turns.length });
  const kept = turns.slice(first);
  if (first === 0) return { kept, cut: null };
  const counts = [countEvents(turns.slice(0, first)), countEvents(kept)] as const;
  return { kept, cut: truncated(...counts, maxBytes, { truncatedTurns: first }) };
}

function countEvents(turns: readonly StoredTurn[]): number {
  return sum(turns.map((turn) => [...eventTexts(turn)].length));
}

/**
 * Where the newest that fit begin. The newest of all stays however large it is: who comes back
 * after one very long answer wants to see that answer, and its turn was bounded when it ran.
 */
function firstKept<Entry>(
  entries: readonly Entry[],
  sizeOf: (entry: Entry) => number,
  { maxBytes, maxEvents }: JournalBounds,
): number {
  let bytes = 0;
  let first = entries.length;
  for (const entry of entries.toReversed()) {
    bytes += sizeOf(entry);
    const kept = entries.length - first;
    if (kept >= maxEvents || (kept > 0 && bytes > maxBytes)) break;
    first -= 1;
  }
  return first;
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

/**
 * The unfinished turn, nearly as it happened: adjacent chunks are joined, and of our bookkeeping
 * only what is still of use is there, which counts towards no bound. The end of an earlier life is
 * left out, as a client would take it for the end of this one.
 */
export function liveJournal(
  open: readonly LogEvent[],
  mode: LiveReplayMode = "full",
  bounds: JournalBounds = JOURNAL_BOUNDS,
): readonly ReplayEvent[] {
  const shown = open.filter(
    (event) => !isTerminal(event) && (mode === "full" || !isInternal(event)),
  );
  const entries = joinAdjacent(shown.filter(isCounted), bounds.maxBytes);
  const first = firstKept(entries, serialisedBytes, bounds);
  const notes = bookkeeping(shown.filter((event) => !isCounted(event)));
  const kept = [...notes, ...entries.slice(first)].sort((one, other) => one.id - other.id);
  if (first === 0) return kept;
  const more = { scope: "live_journal", maxEvents: bounds.maxEvents } as const;
  const marker = truncated(first, kept.length, bounds.maxBytes, more);
  const promptId = openPrompt(open);
  return [promptId === undefined ? marker : { ...marker, promptId }, ...kept];
}

/** An event type of a newer version counts: it may come in any number. */
function isCounted({ type }: LogEvent): boolean {
  return !isEventType(type) || EVENT_TABLE[type].counted;
}

/** One event of each type at most, but for those few that even a finished turn keeps. */
function bookkeeping(events: readonly LogEvent[]): readonly LogEvent[] {
  const latest = new Map(events.map((event) => [event.type, event]));
  return events.filter((event) => {
    const fold = foldOf(event.type);
    return fold === "keep" || (fold === "latest" && latest.get(event.type) === event);
  });
}

/** The prompt whose turn is open; prompts that wait behind it have events here, too. */
function openPrompt(open: readonly LogEvent[]): PromptId | undefined {
  const start = open.findLast(
    ({ type, data }) => type === "session_lifecycle" && data.event === "SessionTurnStart",
  );
  return start?.promptId;
}

function isTerminal(event: LogEvent): boolean {
  return event.type === "session_died" || event.type === "session_closed";
}

/** What a sub-agent says and does under another's call, unless it tells what it used. */
function isInternal(event: LogEvent): boolean {
  if (event.type !== "session_update") return false;
  const { update } = event.data;
  const parent = parentToolCallId(update);
  if (parent === null || parent === update.toolCallId) return false;
  return update.sessionUpdate !== "usage_update" && !hasUsage(update);
}

/** Some agents send what they used along with an empty chunk of text. */
function hasUsage(update: AgentUpdate): boolean {
  const meta = objectAt(update, "_meta");
  return meta !== null && objectAt(meta, "usage") !== null;
}

/** An entry stays below the bound of the whole, which otherwise could hold none. */
function joinAdjacent(events: readonly LogEvent[], maxBytes: number): readonly LogEvent[] {
  const entries: LogEvent[] = [];
  let run: UpdateEvent[] = [];
  let runBytes = 0;
  const flush = () => {
    const [first, ...rest] = run;
    if (first !== undefined) entries.push(rest.length === 0 ? first : join([first, ...rest]));
    run = [];
    runBytes = 0;
  };
  for (const event of events) {
    if (!isText(event)) {
      flush();
      entries.push(event);
      continue;
    }
    const { update } = event.data;
    const bytes = serialisedBytes(joinableText(update));
    const last = run.at(-1);
    const isOfPrompt = last?.promptId === event.promptId;
    const joins = last !== undefined && isOfPrompt && continues(last.data.update, update);
    const isFull = run.length >= REPLAY_JOURNAL_CHUNKS_JOINED_MAX || runBytes + bytes > maxBytes;
    if (!joins || isFull) flush();
    run.push(event);
    runBytes += bytes;
  }
  flush();
  return entries;
}

function isText(event: LogEvent): event is UpdateEvent {
  if (event.type !== "session_update") return false;
  const { update } = event.data;
  return updateFold(update.sessionUpdate) === "join" && joinableText(update) !== null;
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
