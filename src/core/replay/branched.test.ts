import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSessionId } from "../id.ts";
import { eventIs } from "../session/event-table.ts";
import { anyLog } from "./any-log.fixture.ts";
import { branchedTurn } from "./branched.ts";
import type { LogEvent } from "./compact.ts";

const id = (text: string) => parseSessionId(text) ?? expect.fail();
const FROM = id("source-1");
const TO = id("the-branch");

const event = (type: string, data: object, at = 1) =>
  ({
    id: at,
    v: 1,
    type,
    data: { sessionId: FROM, ...data },
    _meta: { serverTimestamp: 5 },
  }) as const;

function branched(events: readonly unknown[], firstId = 1) {
  const { events: texts, ...rest } = branchedTurn(JSON.stringify(events), {
    ...{ from: FROM, to: TO, firstId },
  });
  return { events: texts.map((text): LogEvent => JSON.parse(text)), ...rest };
}

describe("a turn in a branch", () => {
  it("has what was said and done, in the branch's name, numbered on from its log", () => {
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hi" } };
    const { events, turnsCompleted } = branched(
      [
        event("session_status", { from: "ready", to: "running" }, 21),
        event("session_update", { update }, 22),
        event("pending_prompt_started", { promptId: "p" }, 23),
        event("turn_complete", { turnId: "t" }, 24),
        event("credits_settled", { chargedMicro: 5 }, 25),
      ],
      7,
    );
    expect(events).toEqual([
      { ...event("session_update", { update }, 7), data: { sessionId: TO, update } },
      { ...event("turn_complete", {}, 8), data: { sessionId: TO, turnId: "t" } },
    ]);
    expect(turnsCompleted).toBe(1);
  });

  it("is no turn of the conversation if a command or a failure ended it", () => {
    expect(branched([event("turn_complete", { promptId: "p" })]).turnsCompleted).toBe(0);
    expect(branched([event("turn_error", { turnId: "t" })]).turnsCompleted).toBe(0);
    const quoted = { update: { text: '"type":"turn_complete"', turnId: "t" } };
    expect(branched([event("session_update", quoted)]).turnsCompleted).toBe(0);
  });

  it("P7: keeps what an agent says, also where that looks like an event of its session", () => {
    const inner = event("session_update", { update: { id: 4 } }, 9);
    const update = { sessionUpdate: "tool_call", rawOutput: [inner, JSON.stringify([inner])] };
    const { events } = branched([event("session_update", { update }, 3)]);
    expect(events).toEqual([
      { ...event("session_update", {}, 1), data: { sessionId: TO, update } },
    ]);
  });

  it("is the same from an event that is written in another order", () => {
    const { id: at, v, type, data, _meta } = event("turn_complete", { turnId: "t" }, 4);
    const swapped = { type, _meta, data: { turnId: "t", sessionId: data.sessionId }, v, id: at };
    expect(branched([swapped])).toEqual(branched([event("turn_complete", { turnId: "t" }, 4)]));
  });

  it("is for any log what parsing all of it would give", () => {
    fc.assert(
      fc.property(anyLog, fc.nat(1_000), (log, firstId) => {
        const copied = log.filter((one) => eventIs(one, "copied"));
        const expected = copied.map((one, index) => {
          return { ...one, id: firstId + index, data: { ...one.data, sessionId: TO } };
        });
        const { events } = branched(log, firstId);
        expect(events).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
    );
  });
});
