import { describe, expect, it } from "vitest";
import { HEARTBEAT, readEventEpoch, readLastEventId, retryLine, sseFrame } from "./sse.ts";

describe("a frame", () => {
  it("has the id, the type and the text as it is stored", () => {
    const text = '{"id":7,"v":1,"type":"session_update","data":{"a":"ü"}}';
    expect(sseFrame(7, text)).toBe(`id: 7\nevent: session_update\ndata: ${text}\n\n`);
  });

  it("has no id where it is in no log", () => {
    const text = '{"v":1,"type":"replay_complete","data":{"replayedCount":0}}';
    expect(sseFrame(null, text)).toBe(`event: replay_complete\ndata: ${text}\n\n`);
  });

  it("finds its type wherever it stands", () => {
    const text = '{"data":{"type":"inner"},"type":"outer","v":1}';
    expect(sseFrame(null, text)).toMatch(/^event: outer\n/);
  });

  it.each(['{"v":1}', '{"type":"a b\\nid: 9"}', "nonsense", "null", '{"type":5}'])(
    "without a usable type is a plain message: %s",
    (text) => {
      expect(sseFrame(1, text)).toBe(`id: 1\nevent: message\ndata: ${text}\n\n`);
    },
  );

  it("is one line of data, whatever the text looks like, and means the same", () => {
    const value = { v: 1, type: "session_update", data: { text: "two\nlines\r" } };
    const [, data] = sseFrame(null, JSON.stringify(value, null, 2)).split("\n");
    expect(JSON.parse(data?.slice("data: ".length) ?? "")).toEqual(value);
  });
});

describe("between frames", () => {
  it("there are comments and the advice for browsers", () => {
    expect(HEARTBEAT).toBe(": heartbeat\n\n");
    expect(retryLine(3_000)).toBe("retry: 3000\n\n");
  });
});

describe("what a client asks of a stream", () => {
  it.each([
    ["0", 0],
    ["7", 7],
    ["007", 7],
    ["9007199254740991", 9_007_199_254_740_991],
  ])("Last-Event-ID %s is event %d", (header, id) => {
    expect(readLastEventId(header)).toBe(id);
  });

  it.each(["", "-1", "1.5", "1e3", "0x10", "9007199254740992", "1, 2", " 1", "null", "１"])(
    "Last-Event-ID %j is as if it were not there",
    (header) => {
      expect(readLastEventId(header)).toBeNull();
    },
  );

  it.each([
    ["e-1_A", "e-1_A"],
    ["x".repeat(64), "x".repeat(64)],
    ["x".repeat(65), null],
    ["", null],
    ["a b", null],
    [null, null],
  ])("the epoch %j is read as %j", (header, epoch) => {
    expect(readEventEpoch(header)).toBe(epoch);
  });
});
