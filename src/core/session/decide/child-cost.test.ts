import { describe, expect, it } from "vitest";
import { TOOL_CALLS_PER_RESERVE_MAX } from "../../limits.ts";
import { NO_TOKENS } from "../../price.ts";
import { neededMicro } from "../../turn-cost.ts";
import { asksOf, begins, EDIT, K1 } from "../child.fixture.ts";
import { childFailure } from "../child.ts";
import type { CommandData } from "../command.ts";
import { AGENT, client, dataOf, Life, newPrompt, turnId, verdictOn } from "../life.fixture.ts";

describe("the cost of a child", () => {
  const price = { ...NO_TOKENS, input: 1_000_000, perTurn: 2 };
  const used = (input: number) => {
    return { model: "small", used: null, size: null, tokens: { ...NO_TOKENS, input } };
  };

  it("P9: is that of its parent's turn, and settled with it", () => {
    const life = new Life().running();
    life.give("start_child", begins("k1", { price }), AGENT);
    life.give("child_usage", { childId: K1, usage: used(5), tokensMax: 1_000 }, AGENT);
    expect(life.turn.currentReservation?.spentMicro).toBe(7);
    life.complete("t1");
    expect(dataOf(life.log, "credits_settled")).toMatchObject([
      { reservedMicro: 7, chargedMicro: 7, releasedMicro: 0 },
    ]);
    expect(life.now.totals.tokensByModel.get("small")).toMatchObject({ input: 5 });
  });

  it("P9: is counted after its own end as well, as long as the turn has no verdict", () => {
    const life = new Life().running();
    life.give("start_child", begins("k1", { price }), AGENT);
    life.give("cancel", {}, client(null));
    life.give("child_usage", { childId: K1, usage: used(9), tokensMax: 1_000 }, AGENT);
    life.complete("t1", "cancelled");
    expect(dataOf(life.log, "credits_settled")).toMatchObject([{ chargedMicro: 11 }]);
    expect(
      verdictOn(life.give("child_usage", { childId: K1, usage: used(1), tokensMax: 1 }, AGENT)),
    ).toBe("turn_not_open");
  });

  /** What a turn costs whose only cost is a child, which ends so. */
  function chargedFor(act: (life: Life) => void): readonly [number, number] {
    const life = new Life().ready();
    const start = { turnId: turnId("t1"), reservedMicro: 50, price: null };
    life.give("prompt", { ...newPrompt("p1"), start }, client(null));
    life.give("start_child", begins("k1", { price: { ...NO_TOKENS, perTurn: 2 } }), AGENT);
    expect(life.turn.currentReservation?.spentMicro).toBe(2);
    act(life);
    const [ended] = dataOf(life.log, "child_session_ended");
    life.complete("t1");
    const [settled] = dataOf(life.log, "credits_settled");
    return [ended?.usage.costMicro ?? expect.fail(), settled?.chargedMicro ?? expect.fail()];
  }

  const endsWith = (outcome: CommandData["child_ended"]["outcome"]) => (life: Life) =>
    void life.give("child_ended", { childId: K1, outcome }, AGENT);
  const says = (life: Life) => {
    const word = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hm" } };
    life.give("child_update", { childId: K1, update: word }, AGENT);
  };

  it.each([
    ["whose agent could not be started", endsWith(childFailure("agent_unavailable"))],
    ["whose call was taken back at once", endsWith(childFailure("call_withdrawn"))],
    ["whose turn was cancelled at once", (life: Life) => life.give("cancel", {}, client(null))],
    [
      "that found no time to begin",
      (life: Life) => life.give("deadline_passed", { deadline: { of: "child", childId: K1 } }),
    ],
  ] as const)("P9: is nothing for one %s, also if it is priced per turn", (_how, act) => {
    expect(chargedFor(act)).toEqual([0, 0]);
  });

  it.each([
    [
      "has said a word",
      (life: Life) => {
        says(life);
        endsWith(childFailure("channel_closed"))(life);
      },
    ],
    [
      "has asked people",
      (life: Life) => {
        life.give("ask", asksOf("a1", { toolCall: EDIT }), AGENT);
        endsWith(childFailure("call_withdrawn"))(life);
      },
    ],
    [
      "has told a figure",
      (life: Life) => {
        life.give("child_usage", { childId: K1, usage: used(0), tokensMax: 9 }, AGENT);
        endsWith(childFailure("turn_failed"))(life);
      },
    ],
    ["has ended well without a word", endsWith({ state: "Closed", text: "" })],
    ["has stopped short", endsWith(childFailure("stopped_short"))],
  ] as const)("P9: is its price per turn once, if it %s", (_how, act) => {
    expect(chargedFor(act)).toEqual([2, 2]);
  });

  it("P9: is its price per turn if figures show after its end that it has worked", () => {
    const life = new Life().running();
    life.give("start_child", begins("k1", { price }), AGENT);
    life.give("cancel", {}, client(null));
    expect(life.turn.currentReservation?.spentMicro).toBe(0);
    life.give("child_usage", { childId: K1, usage: used(1), tokensMax: 9 }, AGENT);
    expect(life.turn.currentReservation?.spentMicro).toBe(3);
  });

  it("P9: needs one more reserve for every so many calls of which no figures are told", () => {
    const life = new Life().ready();
    const start = { turnId: turnId("t1"), reservedMicro: 50, price: null };
    life.give("prompt", { ...newPrompt("p1"), start }, client(null));
    life.give("start_child", begins("k1", { price }), AGENT);
    const call = (n: number) => {
      const update = { sessionUpdate: "tool_call", toolCallId: `c${n}`, title: "Look" };
      life.give("child_update", { childId: K1, update }, AGENT);
    };
    for (let n = 1; n <= TOOL_CALLS_PER_RESERVE_MAX; n += 1) call(n);
    expect(neededMicro(life.turn)).toBe(100);
    call(TOOL_CALLS_PER_RESERVE_MAX);
    expect(neededMicro(life.turn)).toBe(100);
    call(TOOL_CALLS_PER_RESERVE_MAX + 1);
    expect(neededMicro(life.turn)).toBe(150);
    life.give("child_usage", { childId: K1, usage: used(3), tokensMax: 1_000 }, AGENT);
    expect(neededMicro(life.turn)).toBe(5);
  });

  it("P9: needs no reserve any more, if it has ended before it began", () => {
    const life = new Life().ready();
    const start = { turnId: turnId("t1"), reservedMicro: 50, price: null };
    life.give("prompt", { ...newPrompt("p1"), start }, client(null));
    life.give("start_child", begins("k1", { price }), AGENT);
    expect(neededMicro(life.turn)).toBe(100);
    endsWith(childFailure("agent_unavailable"))(life);
    expect(neededMicro(life.turn)).toBe(0);
  });

  it("P9: is all that was reserved, if it has worked and told nothing", () => {
    const life = new Life().ready();
    const start = { turnId: turnId("t1"), reservedMicro: 50, price: null };
    life.give("prompt", { ...newPrompt("p1"), start }, client(null));
    life.give("start_child", begins("k1", { price }), AGENT);
    const word = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hm" } };
    life.give("child_update", { childId: K1, update: word }, AGENT);
    life.complete("t1");
    expect(dataOf(life.log, "credits_settled")).toMatchObject([
      { chargedMicro: 50, usage: "unknown" },
    ]);
  });
});
