import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { promptId } from "../session/life.fixture.ts";
import { compact, type LogEvent } from "./compact.ts";
import {
  brief,
  compactedReplay,
  echo,
  event,
  ids,
  image,
  message,
  thought,
  toolCall,
  toolUpdate,
  under,
  updated,
  verdict,
} from "./log.fixture.ts";
import { liveJournal, type ReplayEvent, serialisedBytes } from "./window.ts";

const sizeOf = (events: readonly ReplayEvent[]) =>
  events.reduce((bytes, one) => bytes + Buffer.byteLength(JSON.stringify(one)), 0);

const MIB = 1_024 * 1_024;

/** Three finished turns, of two, three and one event. */
const TURNS: readonly (readonly LogEvent[])[] = [
  [echo(1, "first question"), verdict(2)],
  [echo(3, "second question"), message(6, "second answer"), verdict(7)],
  [verdict(8)],
];

describe("P10: the compacted part of a replay", () => {
  it("is every finished turn in order, as long as all fit to the byte", () => {
    expect(ids(compactedReplay(TURNS, sizeOf(TURNS.flat())))).toEqual([1, 2, 3, 6, 7, 8]);
    expect(compactedReplay([], 0)).toEqual([]);
  });

  it("leaves out the oldest turn whole if one byte is missing, and says so first", () => {
    const maxBytes = sizeOf(TURNS.flat()) - 1;
    const [marker, ...kept] = compactedReplay(TURNS, maxBytes);
    expect(ids(kept)).toEqual([3, 6, 7, 8]);
    expect(marker).toEqual({
      v: 1,
      type: "history_truncated",
      data: {
        reason: "replay_window_exceeded",
        truncatedEvents: 2,
        retainedEvents: 4,
        truncatedTurns: 1,
        maxBytes,
        fullTranscriptAvailable: true,
      },
    });
  });

  it("counts all turns left out, and keeps none that is older than one of them", () => {
    const [small = [], large = [], newest = []] = TURNS;
    const replay = compactedReplay([small, large, newest], sizeOf(small) + sizeOf(newest));
    expect(replay).toMatchObject([
      { data: { truncatedEvents: 5, retainedEvents: 1, truncatedTurns: 2 } },
      { id: 8 },
    ]);
  });

  it("keeps the newest turn however large it is, as it is the one that people look for", () => {
    const long = [message(9, "x".repeat(1_000)), verdict(10)];
    expect(ids(compactedReplay([...TURNS, long], 100))).toEqual([null, 9, 10]);
    expect(ids(compactedReplay([long], 100))).toEqual([9, 10]);
  });

  it("has room for 4 MiB unless told otherwise", () => {
    const turn = (id: number, bytes: number) => [echo(id, "x".repeat(bytes))];
    expect(ids(compactedReplay([turn(1, MIB), turn(2, 2 * MIB)]))).toEqual([1, 2]);
    const replay = compactedReplay([turn(1, 2 * MIB), turn(2, 2 * MIB)]);
    expect(replay).toMatchObject([{ data: { maxBytes: 4_194_304, truncatedTurns: 1 } }, { id: 2 }]);
  });

  it("loses nothing more when what is left of it is bounded again", () => {
    const maxBytes = sizeOf(TURNS.flat()) - 1;
    const [, ...kept] = compactedReplay(TURNS, maxBytes);
    const left = kept.filter((one) => one.type !== "history_truncated");
    expect(compactedReplay(compact(left).segments, maxBytes)).toEqual(kept);
  });
});

describe("the live journal", () => {
  it("joins adjacent chunks of one text", () => {
    const open = [message(1, "a"), message(2, "b"), thought(3, "c"), thought(4, "d")];
    expect(brief(liveJournal(open))).toEqual([
      '2 agent_message_chunk "ab"',
      '4 agent_thought_chunk "cd"',
    ]);
  });

  it("changes nothing else of what was said, not even what a finished turn would fold", () => {
    const plan = (id: number) => updated(id, { sessionUpdate: "plan" });
    const open = [
      plan(3),
      message(4, "a"),
      toolCall(5, "t"),
      toolUpdate(6, "t"),
      message(7, "b"),
      image(8, "png"),
      image(9, "png"),
      message(10, "c", { _meta: { qwenDiscreteMessage: true } }),
      message(11, "d"),
      plan(14),
      event(15, "permission_partial_vote"),
    ];
    expect(liveJournal(open)).toEqual(open);
  });

  it("has of our bookkeeping the latest, and nothing that only those who were there needed", () => {
    const open = [
      event(1, "session_created"),
      event(2, "session_status"),
      event(3, "prompt_admitted"),
      event(4, "credits_reserved"),
      event(5, "session_status"),
      echo(6, "hi"),
      message(7, "a"),
      event(8, "usage_reported"),
      event(9, "client_attached"),
      message(10, "b"),
      event(11, "usage_reported"),
    ];
    expect(brief(liveJournal(open))).toEqual([
      "1 session_created",
      "5 session_status",
      '6 user_message_chunk "hi"',
      '10 agent_message_chunk "ab"',
      "11 usage_reported",
    ]);
  });

  it("joins only neighbours: the sub-agents' chunks stay where they were", () => {
    const open = [
      message(1, "a", under("x")),
      message(2, "b", under("y")),
      message(3, "c", under("y")),
      message(4, "d", under("x")),
    ];
    expect(brief(liveJournal(open))).toEqual([
      '1 agent_message_chunk "a" of x',
      '3 agent_message_chunk "bc" of y',
      '4 agent_message_chunk "d" of x',
    ]);
  });

  it("P10: joins up to 256 chunks in one entry", () => {
    const chunks = Array.from({ length: 600 }, (_, index) => message(index + 1, "x"));
    const entries = liveJournal(chunks);
    expect(ids(entries)).toEqual([256, 512, 600]);
    expect(brief(entries)[2]).toBe(`600 agent_message_chunk "${"x".repeat(88)}"`);
  });

  it("passes over the end of an earlier life, which would look like the end of this one", () => {
    const open = [event(1, "session_died"), event(2, "session_closed"), echo(3, "hi again")];
    expect(ids(liveJournal(open))).toEqual([3]);
  });

  it("is empty when nothing has happened since the last verdict", () => {
    expect(liveJournal([])).toEqual([]);
  });
});

describe("the live journal as a summary", () => {
  const usage = { inputTokens: 5 };
  const open = [
    toolCall(1, "task"),
    message(2, "in a sub-agent", under("task")),
    toolCall(3, "inner", under("task")),
    toolUpdate(4, "task", under("task")),
    message(5, "", under("task", { usage })),
    updated(6, { sessionUpdate: "usage_update", used: 5, ...under("task") }),
    message(7, "by the agent"),
    event(8, "permission_request"),
  ];

  it("leaves out what sub-agents say and do, but for what they used", () => {
    expect(ids(liveJournal(open, "summary"))).toEqual([1, 4, 5, 6, 7, 8]);
  });

  it("is the whole if nobody asks for the summary", () => {
    expect(ids(liveJournal(open, "full"))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(liveJournal(open)).toEqual(liveJournal(open, "full"));
  });
});

describe("P10: the live journal within its bounds", () => {
  const open = [echo(1, "one"), echo(2, "two"), message(3, "thr"), message(4, "ee")];
  const entries = liveJournal(open);

  it("leaves out its oldest entries if there are too many, and says so first", () => {
    const maxBytes = sizeOf(entries);
    expect(ids(liveJournal(open, "full", { maxEvents: 3, maxBytes }))).toEqual([1, 2, 4]);
    const [marker, ...kept] = liveJournal(open, "full", { maxEvents: 2, maxBytes });
    expect(ids(kept)).toEqual([2, 4]);
    expect(marker).toEqual({
      v: 1,
      type: "history_truncated",
      data: {
        reason: "replay_window_exceeded",
        scope: "live_journal",
        truncatedEvents: 1,
        retainedEvents: 2,
        maxBytes,
        maxEvents: 2,
        fullTranscriptAvailable: true,
      },
    });
  });

  it("counts what the original server counts: our bookkeeping takes no place of it", () => {
    const kept = [event(5, "session_created"), event(6, "session_status")];
    const noted = [...open, ...kept, event(7, "prompt_admitted"), event(8, "credits_reserved")];
    const bounds = { maxEvents: 3, maxBytes: sizeOf(entries) };
    expect(ids(liveJournal(noted, "full", bounds))).toEqual([1, 2, 4, 5, 6]);
    const cut = ids(liveJournal(noted, "full", { ...bounds, maxEvents: 2 }));
    expect(cut).toEqual([null, 2, 4, 5, 6]);
  });

  it("names the prompt whose turn was cut, and not one that waits behind it", () => {
    const start = { event: "SessionTurnStart" } as const;
    const turn = event(5, "session_lifecycle", start, { promptId: promptId("p1") });
    const waits = event(6, "pending_prompt_added", {}, { promptId: promptId("p2") });
    const bounds = { maxEvents: 1, maxBytes: MIB };
    const [marker] = liveJournal([turn, ...open, waits], "full", bounds);
    expect(marker).toMatchObject({ type: "history_truncated", promptId: "p1" });
    const [without] = liveJournal(open, "full", bounds);
    expect(without).not.toHaveProperty("promptId");
  });

  it("leaves out its oldest entries if one byte is missing", () => {
    const bounds = { maxEvents: 3, maxBytes: sizeOf(entries) - 1 };
    expect(ids(liveJournal(open, "full", bounds))).toEqual([null, 2, 4]);
  });

  it("keeps the newest entry however large it is", () => {
    expect(ids(liveJournal(open, "full", { maxEvents: 3, maxBytes: 1 }))).toEqual([null, 4]);
  });

  it("joins no entry beyond its bytes, so that the end of a long output is there", () => {
    const chunks = Array.from({ length: 10 }, (_, index) => message(index + 1, "x".repeat(1_000)));
    const [marker, ...kept] = liveJournal(chunks, "full", { maxEvents: 100, maxBytes: 5_000 });
    expect(marker).toMatchObject({ data: { truncatedEvents: 2, retainedEvents: 1 } });
    expect(brief(kept)).toEqual([`10 agent_message_chunk "${"x".repeat(2_000)}"`]);
  });

  it("has room for 10,000 entries and 8 MiB unless told otherwise", () => {
    const many = Array.from({ length: 10_001 }, (_, index) => echo(index + 1, "x"));
    expect(liveJournal(many.slice(1))).toHaveLength(10_000);
    expect(liveJournal(many)[0]).toMatchObject({
      data: { maxBytes: 8_388_608, maxEvents: 10_000, truncatedEvents: 1, retainedEvents: 10_000 },
    });
    const large = [1, 2, 3].map((id) => echo(id, "x".repeat(3 * MIB)));
    expect(ids(liveJournal(large))).toEqual([null, 2, 3]);
  });
});

/** Any sequence of UTF-16 units: control characters, halves of surrogate pairs and all. */
const unit = fc.oneof(
  fc.integer({ min: 0, max: 0xffff }),
  fc.integer({ min: 0, max: 0x9ff }),
  fc.integer({ min: 0xd7f0, max: 0xe00f }),
);
const anyText = fc.array(unit).map((units) => String.fromCharCode(...units));
const anyJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    anyText,
    fc.jsonValue(),
    fc.array(tie("value")),
    fc.dictionary(anyText, tie("value")),
  ),
})).value;

describe("the bytes of a serialised value", () => {
  it.each([
    ["ascii", '"ascii"'.length],
    ["ä", 4],
    ["€", 5],
    ["😀", 6],
    ["\ud800", 8], // JSON spells half a pair out, as \ud800.
    ["\udc00\ud800", 14],
    ["\n", 4],
    [{ "😀": [null, true, 1.5] }, 24],
  ])("of %j are counted as they go over the wire", (value, bytes) => {
    expect(serialisedBytes(value)).toBe(bytes);
  });

  it("are what encoding would make of any JSON", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(serialisedBytes(value)).toBe(Buffer.byteLength(JSON.stringify(value)));
      }),
      { numRuns: 2_000 },
    );
  });
});
