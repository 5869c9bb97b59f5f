import { describe, expect, it } from "vitest";
import { AGENT_NAME_CHARS_MAX, TOOL_CALLS_TRACKED_MAX, TURN_TOKENS_MAX } from "../../limits.ts";
import { NO_TOKENS, type Price } from "../../price.ts";
import { isVerdict } from "../event.ts";
import { AGENT, dataOf, Life, newPrompt, turnId, types, verdictOn } from "../life.fixture.ts";

const tool = (life: Life, update: Readonly<Record<string, unknown>>) =>
  life.give("agent_update", { update: { sessionUpdate: "tool_call_update", ...update } }, AGENT);

describe("what an agent says", () => {
  it("is stored exactly as it came, known or not", () => {
    const life = new Life().running();
    const update = { sessionUpdate: "brand_new_kind", nested: { weird: [1, null] } };
    const { events } = life.give("agent_update", { update }, AGENT);
    expect(events[0]).toMatchObject({ type: "session_update", promptId: "p1" });
    expect(dataOf(events, "session_update")[0]?.update).toBe(update);
  });

  it("gathers as the turn's text and thoughts", () => {
    const life = new Life().running();
    const thought = { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } };
    life.give("agent_update", { update: thought }, AGENT);
    expect(life.turn.hasOutput).toBe(false);
    expect(life.view).toMatchObject({ isThinking: true, thinkingContent: "hm", acked: true });
    life.says("Hello");
    life.says(", world");
    expect(life.turn.hasOutput).toBe(true);
    expect(life.view).toMatchObject({ isThinking: false, fullContent: "Hello, world" });
  });

  it("between turns is recorded, and belongs to none", () => {
    const life = new Life().ready();
    const update = { sessionUpdate: "available_commands_update", availableCommands: [] };
    const { events } = life.give("agent_update", { update }, AGENT);
    expect(events[0]).not.toHaveProperty("promptId");
    expect(types(life.says("a word out of turn"))).toEqual(["session_update"]);
    expect(life.turn.hasOutput).toBe(false);
    expect(life.view.fullContent).toBe("");
  });

  it("without an agent is nobody's word", () => {
    expect(verdictOn(new Life().created().says("boo"))).toBe("agent_out_of_turn");
    expect(verdictOn(new Life().error().says("boo"))).toBe("agent_out_of_turn");
  });

  it("keeps the nesting of its messages", () => {
    const life = new Life().running();
    for (const id of ["m1", "m2", "m3", "m1"]) life.says("x", { messageId: id });
    expect(life.view.messageIdStack).toEqual(["m1"]);
    life.says("x", { messageId: "m2" });
    life.says("x", { messageId: "m".repeat(AGENT_NAME_CHARS_MAX + 1) });
    expect(life.view.messageIdStack).toEqual(["m1", "m2"]);
  });
});

describe("a verdict in an agent's words", () => {
  it("P2: has words even where the agent gives none, or clients would not see it", () => {
    const quiet = new Life().running();
    expect(dataOf(quiet.complete("t1", "").events, "turn_complete")).toMatchObject([
      { stopReason: "end_turn" },
    ]);
    const failing = new Life().running();
    const failure = { code: "-1", message: "", errorKind: null };
    const report = { status: "turn_error", turnId: null, failure } as const;
    const { events } = failing.give("agent_status", report, AGENT);
    expect(dataOf(events, "turn_error")).toMatchObject([{ message: "The agent gave no reason." }]);
  });
});

describe("a turn that has grown too large", () => {
  it("P10: grows no more while its agent is being stopped", () => {
    const life = new Life().running();
    life.give("limit_passed", { turnId: turnId("t1"), limit: "turn_too_large" });
    expect(life.says("more").events).toEqual([]);
  });
});

describe("a tool call", () => {
  it("is pending from its announcement to its end, and counted once", () => {
    const life = new Life().running();
    tool(life, { sessionUpdate: "tool_call", toolCallId: "c1", title: "Read" });
    expect(life.turn.pendingToolCalls.get("c1")).toEqual({
      toolName: "Read",
      startedAt: life.nowMs,
    });
    tool(life, { toolCallId: "c1", status: "completed" });
    tool(life, { toolCallId: "c1", status: "completed" });
    expect(life.turn.pendingToolCalls.size).toBe(0);
    expect([...life.turn.completedToolIds]).toEqual(["c1"]);
    tool(life, { toolCallId: "c2", status: "failed" });
    expect([...life.turn.persistedToolCallIds]).toEqual(["c1", "c2"]);
    expect(life.now.totals).toMatchObject({ toolCalls: 2, toolFailures: 1 });
  });

  it("that is open when the agent says it is done is left as the agent left it", () => {
    const life = new Life().running();
    tool(life, { sessionUpdate: "tool_call", toolCallId: "c1", title: "Run" });
    const updates = dataOf(life.complete("t1").events, "session_update");
    expect(updates.filter(({ update }) => "toolCallId" in update)).toEqual([]);
  });

  it("P5: that is open when the turn ends otherwise is closed before the verdict", () => {
    const life = new Life().running();
    tool(life, { sessionUpdate: "tool_call", toolCallId: "c1", title: "Run" });
    const { events } = life.give("recovery", {});
    expect(dataOf(events, "session_update")).toMatchObject([
      { update: { toolCallId: "c1", status: "failed", _meta: { cancelled: true } } },
    ]);
    expect(events.findIndex(({ type }) => type === "turn_error")).toBe(1);
  });

  it("P10: is tracked up to a limit, and stored beyond it", () => {
    const life = new Life().running();
    for (let n = 0; n <= TOOL_CALLS_TRACKED_MAX; n += 1) {
      const decision = tool(life, { toolCallId: `c${n}`, status: "completed" });
      expect(decision.events).toHaveLength(1);
    }
    expect(life.turn.persistedToolCallIds.size).toBe(TOOL_CALLS_TRACKED_MAX);
  });
});

const PRICE: Price = { ...NO_TOKENS, input: 1_000_000, output: 5_000_000, perTurn: 10 };

/** With 100 micro-credits reserved at that price. */
function paid(): Life {
  const life = new Life().ready();
  const start = { turnId: turnId("t1"), reservedMicro: 100, price: PRICE };
  life.give("prompt", { ...newPrompt("p1"), start });
  return life;
}

const used = (life: Life, input: number, output: number) =>
  life.give("usage", {
    turnId: turnId("t1"),
    usage: { model: "large", used: null, size: null, tokens: { ...NO_TOKENS, input, output } },
  });

const settled = (life: Life) => dataOf(life.log, "credits_settled")[0];

/** Every way a turn can end. */
const ENDINGS: Readonly<Record<string, (life: Life) => void>> = {
  completed: (life) => life.complete("t1"),
  refused: (life) => life.complete("t1", "refusal"),
  cancelled: (life) => {
    life.give("cancel", {});
    life.complete("t1", "cancelled");
  },
  "failed by the agent": (life) => {
    const failure = { code: "-1", message: "", errorKind: null };
    life.give("agent_status", { status: "turn_error", turnId: null, failure }, AGENT);
  },
  "lost with the agent": (life) =>
    life.give("agent_exit", { exitCode: 1, signalCode: null, message: "" }, AGENT),
  "taken down by the agent": (life) => life.give("agent_status", { status: "terminating" }, AGENT),
  "out of budget": (life) => {
    life.give("limit_passed", { turnId: turnId("t1"), limit: "budget" });
    life.complete("t1");
  },
  "ignoring its cancel": (life) => {
    life.give("cancel", {});
    life.give("deadline_passed", { deadline: { of: "settling", turnId: turnId("t1") } });
  },
  "too large to store": (life) => life.give("commit_refused", { turnId: turnId("t1") }),
  "closed under it": (life) => life.give("close", {}),
  "stopped under it": (life) => life.give("stop", { reason: "daemon_shutdown" }),
  "interrupted by a crash": (life) => life.give("recovery", {}),
  "interrupted by its store": (life) => life.give("store_failure", {}),
};

describe("P9: credits", () => {
  for (const [how, end] of Object.entries(ENDINGS)) {
    it(`of a turn ${how} are settled by what was used`, () => {
      const life = paid();
      used(life, 20, 6);
      end(life);
      expect(settled(life)).toMatchObject({
        reservedMicro: 100,
        chargedMicro: 60,
        releasedMicro: 40,
      });
      expect(life.log.find(isVerdict)?.data).toMatchObject({ cost: { chargedMicro: 60 } });
      expect(life.turn.currentReservation).toBeNull();
    });
  }

  it("of a turn without any report are all charged: its usage is unknown", () => {
    const life = paid();
    life.complete("t1");
    const all = { reservedMicro: 100, chargedMicro: 100, releasedMicro: 0, usage: "unknown" };
    expect(settled(life)).toMatchObject(all);
    const cost = { chargedMicro: 100, usage: "unknown" };
    expect(life.log.find(isVerdict)?.data.cost).toEqual(cost);
  });

  it("are not told of a turn without a price", () => {
    const life = new Life().running();
    life.complete("t1");
    expect(life.log.find(isVerdict)?.data).not.toHaveProperty("cost");
  });

  it("used beyond the reservation are reserved first", () => {
    const life = paid();
    used(life, 200, 0);
    const { events } = life.complete("t1");
    expect(dataOf(events, "credits_reserved")).toMatchObject([{ n: 2, amountMicro: 110 }]);
    expect(settled(life)).toMatchObject({
      reservedMicro: 210,
      chargedMicro: 210,
      releasedMicro: 0,
    });
  });

  it("are reserved in further slices, in order, each once", () => {
    const life = paid();
    const slice = (n: number, amountMicro: number) =>
      life.give("reserve_slice", { turnId: turnId("t1"), n, amountMicro });
    expect(types(slice(1, 50))).toEqual(["credits_reserved"]);
    expect(slice(1, 50)).toMatchObject({ kind: "accepted", events: [] });
    expect(verdictOn(slice(3, 50))).toBe("invalid_amount");
    expect(verdictOn(slice(2, -1))).toBe("invalid_amount");
    expect(verdictOn(slice(2, 0.5))).toBe("invalid_amount");
    expect(life.turn.currentReservation).toMatchObject({ reservedMicro: 150, slices: 2 });
  });

  it("are counted by model over the session, and only with whole numbers", () => {
    const life = paid();
    expect(verdictOn(used(life, 0.5, 0))).toBe("invalid_amount");
    expect(verdictOn(used(life, -1, 0))).toBe("invalid_amount");
    expect(verdictOn(used(life, TURN_TOKENS_MAX + 1, 0))).toBe("invalid_amount");
    used(life, 7, 2);
    used(life, 1, 1);
    life.complete("t1");
    expect(life.now.totals.tokensByModel.get("large")).toMatchObject({ input: 7, output: 2 });
    expect(life.now.totals.chargedMicro).toBe(27);
    expect(verdictOn(used(life, 8, 2))).toBe("turn_not_open");
  });
});

describe("the end of an answer", () => {
  it("is told by an empty chunk with `_meta`, before the end of the turn", () => {
    const decision = new Life().running().complete("t1");
    const { events } = decision;
    expect(types(decision).slice(0, 3)).toEqual([
      ...["session_update", "session_lifecycle", "turn_complete"],
    ]);
    expect(events[0]).toMatchObject({
      type: "session_update",
      data: {
        update: {
          sessionUpdate: "agent_message_chunk",
          content: { type: "text", text: "" },
          _meta: { source: "turn-end" },
        },
      },
    });
  });

  it("says what the turn has used, where the agent has told", () => {
    const life = new Life().running();
    const tokens = { input: 10, output: 5, cachedRead: 3, cachedWrite: 0, thought: 2 };
    const usage = { model: null, used: null, size: null, tokens };
    life.give("usage", { turnId: turnId("t1"), usage }, AGENT);
    const [last] = dataOf(life.complete("t1").events, "session_update").slice(-1);
    expect(last).toMatchObject({
      update: { _meta: { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } } },
    });
  });

  it("is not told of a turn that failed, which has no answer", () => {
    const { events } = new Life().running().give("recovery", {});
    expect(dataOf(events, "session_update")).toEqual([]);
  });
});
