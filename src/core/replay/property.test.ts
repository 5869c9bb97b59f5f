import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isObject } from "../json.ts";
import { EVENT_TABLE, foldOf, isEventType } from "../session/event-table.ts";
import { anyLog } from "./any-log.fixture.ts";
import { compact, compactSegment, type LogEvent, type UpdateEvent } from "./compact.ts";
import { compactedReplay, frozen, ids } from "./log.fixture.ts";
import { liveJournal, type ReplayEvent } from "./window.ts";

const MANY = { numRuns: 2_000 };

const sizeOf = (events: readonly ReplayEvent[]) =>
  events.reduce((bytes, one) => bytes + Buffer.byteLength(JSON.stringify(one)), 0);

const isUpdate = (one: ReplayEvent): one is UpdateEvent => one.type === "session_update";
const isKind = (one: UpdateEvent, kind: string) => one.data.update.sessionUpdate === kind;
const isEndOfLife = (one: ReplayEvent) => /^session_(died|closed)$/.test(one.type);
const isCounted = ({ type }: ReplayEvent) => !isEventType(type) || EVENT_TABLE[type].counted;
const isVerdict = (one: ReplayEvent) => /^turn_(complete|error)$/.test(one.type);

interface Saying {
  readonly who: string;
  text: string;
}

/** What an update says in words and who says it: which kind, sub-agent, message and source. */
function saying(one: UpdateEvent): Saying | null {
  const { sessionUpdate: kind, messageId = null, content, output } = one.data.update;
  const text = kind === "shell_output" ? output : isObject(content) ? content.text : null;
  if (kind.startsWith("tool_call") || typeof text !== "string") return null;
  const { parentToolCallId, qwenTranscript } = metaOf(one);
  const parent = typeof parentToolCallId === "string" ? parentToolCallId || null : null;
  const records = isObject(qwenTranscript) ? (qwenTranscript.sourceRecordIds ?? []) : [];
  return { who: JSON.stringify([kind, parent, messageId, records]), text };
}

function metaOf({ data: { update } }: UpdateEvent) {
  return isObject(update._meta) ? update._meta : {};
}

/** Whether its words may become one with those before and after. */
const flows = (one: UpdateEvent) =>
  metaOf(one).qwenDiscreteMessage !== true && !isKind(one, "user_message_chunk");

/** All that was said, by who said it. */
function said(events: readonly ReplayEvent[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { who, text } of events.filter(isUpdate).flatMap((one) => saying(one) ?? [])) {
    texts.set(who, (texts.get(who) ?? "") + text);
  }
  return texts;
}

/** Adjacent words of one speaker as one, wherever they were broken; all else as it is. */
function unbroken(events: readonly ReplayEvent[]): readonly unknown[] {
  const parts: unknown[] = [];
  let before: Saying | null = null;
  for (const one of events) {
    const now: Saying | null = isUpdate(one) && flows(one) ? saying(one) : null;
    if (now !== null && now.who === before?.who) {
      before.text += now.text;
    } else {
      parts.push(now ?? one);
      before = now;
    }
  }
  return parts;
}

describe("P10: compaction of any log", () => {
  it("changes nothing when done again to one turn", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        const segment = compactSegment(log);
        expect(compactSegment(frozen(segment))).toEqual(segment);
      }),
      MANY,
    );
  });

  it("changes nothing when done again to the whole log", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        const { segments, open } = compact(log);
        expect(compact([...segments.flat(), ...open])).toEqual({ segments, open });
      }),
      MANY,
    );
  });

  it("loses no word of anybody, and leaves the events themselves alone", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        const { segments, open } = compact(log);
        expect(said([...segments.flat(), ...open])).toEqual(said(log));
      }),
      MANY,
    );
  });

  it("invents no event: each id is that of a source, once, and each verdict ends a turn", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        const { segments, open } = compact(log);
        const all = ids([...segments.flat(), ...open]);
        expect(new Set(all).size).toBe(all.length);
        expect(ids(log)).toEqual(expect.arrayContaining(all));
        expect(segments.map((segment) => segment.at(-1))).toEqual(log.filter(isVerdict));
        expect(open.some(isVerdict)).toBe(false);
      }),
      MANY,
    );
  });

  it("makes no more events of more chunks: a turn is as long as its blocks are many", () => {
    fc.assert(
      fc.property(anyLog, fc.integer({ min: 2, max: 20 }), (log, times) => {
        const longer = log.flatMap((one) => (isProgress(one) ? Array(times).fill(one) : [one]));
        expect(compactSegment(longer)).toHaveLength(compactSegment(log).length);
      }),
      { numRuns: 500 },
    );
  });
});

/** Whether there may be more of the same without anything new having begun. */
function isProgress(one: LogEvent): boolean {
  if (!isUpdate(one)) return one.type === "session_status" || one.type === "client_attached";
  const { sessionUpdate, toolCallId } = one.data.update;
  if (sessionUpdate.startsWith("tool_call")) return Boolean(toolCallId);
  if (/^(plan|usage_update|session_info_update)$/.test(sessionUpdate)) return true;
  return flows(one) && saying(one) !== null;
}

describe("P10: the compacted part of any replay", () => {
  it("is the longest row of newest turns that fits, and counts the others", () => {
    fc.assert(
      fc.property(anyLog, fc.integer({ min: 0, max: 8_000 }), (log, maxBytes) => {
        const { segments } = compact(log);
        const newest = (turns: number) => segments.slice(segments.length - turns).flat();
        const fitting = segments
          .map((_, index) => index + 1)
          .filter((turns) => {
            return turns === 1 || sizeOf(newest(turns)) <= maxBytes;
          });
        const kept = newest(Math.max(0, ...fitting));
        const replay = compactedReplay(segments, maxBytes);
        if (fitting.length < segments.length) {
          const truncatedEvents = segments.flat().length - kept.length;
          const truncatedTurns = segments.length - fitting.length;
          const counts = { truncatedEvents, retainedEvents: kept.length, truncatedTurns };
          expect(replay[0]).toMatchObject({ type: "history_truncated", data: counts });
          expect(replay.slice(1)).toEqual(kept);
        } else expect(replay).toEqual(kept);
      }),
      MANY,
    );
  });
});

describe("the live journal of any log", () => {
  it("has all that was said and done, adjacent chunks joined, but no ends of lives", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        const seen = log.filter((one) => !isEndOfLife(one) && isCounted(one));
        expect(unbroken(liveJournal(log).filter(isCounted))).toEqual(unbroken(seen));
      }),
      MANY,
    );
  });

  it("P10: has one note of each kind of bookkeeping, but for what a finished turn keeps", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        const notes = liveJournal(log).filter((one) => !isCounted(one));
        const kinds = notes.filter(({ type }) => foldOf(type) !== "keep").map(({ type }) => type);
        expect(kinds).toEqual([...new Set(kinds)]);
        expect(kinds.filter((type) => foldOf(type) !== "latest")).toEqual([]);
      }),
      MANY,
    );
  });

  it("P3: has ids that rise, none beyond the last event", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        const all = ids(liveJournal(log)).map(Number);
        expect(all).toEqual([...new Set(all)].toSorted((a, b) => a - b));
        expect(all.at(-1) ?? 0).toBeLessThanOrEqual(log.at(-1)?.id ?? 0);
      }),
      MANY,
    );
  });

  it("P10: keeps to its bounds, says what it left out, and loses nothing after that", () => {
    const bounds = fc.record({
      maxEvents: fc.integer({ min: 1, max: 30 }),
      maxBytes: fc.integer({ min: 0, max: 8_000 }),
    });
    fc.assert(
      fc.property(anyLog, bounds, (log, { maxEvents, maxBytes }) => {
        const journal = liveJournal(log, "full", { maxEvents, maxBytes });
        const [first] = journal;
        const isCut = first?.type === "history_truncated";
        const rest = isCut ? journal.slice(1) : journal;
        if (isCut) expect(first.data.retainedEvents).toBe(rest.length);
        const kept = rest.filter(isCounted);
        expect(kept.length).toBeLessThanOrEqual(maxEvents);
        if (kept.length > 1) expect(sizeOf(kept)).toBeLessThanOrEqual(maxBytes);

        const seen = log.filter((one) => !isEndOfLife(one) && isCounted(one));
        const ends = isCut ? seen.map((_, index) => seen.slice(index + 1)) : [seen];
        const words = JSON.stringify(unbroken(kept));
        expect(ends.some((end) => JSON.stringify(unbroken(end)) === words)).toBe(true);
      }),
      MANY,
    );
  });
});
