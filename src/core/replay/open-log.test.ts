import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { promptId } from "../session/life.fixture.ts";
import { anyLog } from "./any-log.fixture.ts";
import { compact, compactSegment, type LogEvent } from "./compact.ts";
import { image, message, thought, toolCall, under, updated } from "./log.fixture.ts";
import { OpenLog } from "./open-log.ts";

const held = (events: readonly LogEvent[]) => {
  const log = new OpenLog();
  for (const event of events) log.add(event);
  return log.events;
};

/** As it would be written, in which fields have an order. */
function folded(events: readonly LogEvent[]): string {
  const { segments, open } = compact(events);
  return JSON.stringify([...segments, compactSegment(open)]);
}

describe("the events of a turn at work", () => {
  it("have words that go on as one event, with the number and time of the latest", () => {
    const log = new OpenLog();
    const said = [message(3, "Hel"), message(4, "lo, "), message(5, "world")].map((one) => {
      return log.add(one);
    });
    expect(said).toEqual([false, true, true]);
    expect(log.events).toEqual([message(5, "Hello, world")]);
    expect(log.add(message(6, "!"))).toBe(true);
    expect(log.events).toEqual([message(6, "Hello, world!")]);
  });

  it.each([
    ["of another kind", thought(2, "b")],
    ["of another message", message(2, "b", { messageId: "m2" })],
    ["of another prompt", { ...message(2, "b"), promptId: promptId("p2") }],
    ["of a sub-agent", message(2, "b", under("t1"))],
    ["with a field that may matter", message(2, "b", { annotations: {} })],
    ["with a field of a later version", { ...message(2, "b"), later: 1 }],
    ["that are no text", image(2, "b")],
    ["with more than their text", updated(2, annotated("b"))],
    ["of no one", toolCall(2, "t1")],
  ])("have words %s apart", (_, event) => {
    expect(held([message(1, "a"), event, message(3, "c")])).toEqual([
      message(1, "a"),
      event,
      message(3, "c"),
    ]);
  });

  it("fold to what all that was added folds to, however often they are looked at", () => {
    const isSame = (log: readonly LogEvent[], at: number) => {
      const open = new OpenLog();
      for (const [index, event] of log.entries()) {
        open.add(event);
        if (index === at && folded(open.events) !== folded(log.slice(0, at + 1))) return false;
      }
      return folded(open.events) === folded(log);
    };
    fc.assert(fc.property(anyLog, fc.nat(20), isSame), { numRuns: 2_000 });
  });
});

function annotated(text: string) {
  const content = { type: "text", text, annotations: {} };
  return { sessionUpdate: "agent_message_chunk", content };
}
