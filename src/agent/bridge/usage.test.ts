import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { NO_TOKENS } from "../../core/price.ts";
import type { UsageScope } from "../profile/profile.ts";
import { UsageMeter } from "./usage.ts";

function turn(scope: UsageScope): UsageMeter {
  const meter = new UsageMeter(scope);
  meter.turnBegins();
  return meter;
}

const update = (more: JsonObject) => ({ sessionUpdate: "usage_update", used: 1, size: 2, ...more });
const called = (usage: JsonObject) => ({ sessionUpdate: "agent_message_chunk", _meta: { usage } });
const cost = (amount: unknown, currency = "USD") => update({ cost: { amount, currency } });
const tool = (toolCallId: string, status: string) => ({
  sessionUpdate: "tool_call",
  toolCallId,
  status,
});

function tokensOf(meter: UsageMeter) {
  return meter.reading(null).tokens;
}

function doubts(meter: UsageMeter): readonly string[] {
  return meter.takeSuspicions().map(({ reason }) => reason);
}

describe("P9: the usage of a turn", () => {
  it("is put together from updates and the prompt's answer", () => {
    const meter = turn("turn");
    meter.learn(update({ used: 5_000, size: 200_000 }));
    const usage = { totalTokens: 33, inputTokens: 20, outputTokens: 10 };
    expect(meter.answered({ usage })).toBe(true);
    expect(meter.reading("large")).toEqual({
      model: "large",
      used: 5_000,
      size: 200_000,
      tokens: { ...NO_TOKENS, input: 20, output: 10 },
    });
    expect(doubts(meter)).toEqual([]);
  });

  it("begins anew with each turn, while the context stays as full as it was", () => {
    const meter = turn("turn");
    meter.learn(update({}));
    meter.answered({ usage: { inputTokens: 20 } });
    meter.turnBegins();
    const reading = { model: null, used: 1, size: 2, tokens: NO_TOKENS, figures: "none" };
    expect(meter.reading(null)).toEqual(reading);
  });

  it.each([-1, 1.5, Number.NaN, "12", 2 ** 60])("does not count %s, and doubts it", (odd) => {
    const meter = turn("turn");
    meter.answered({ usage: { inputTokens: odd, outputTokens: 3 } });
    expect(meter.reading(null)).toMatchObject({ tokens: NO_TOKENS, figures: "none" });
    expect(doubts(meter)).toEqual(["invalid"]);
  });

  it.each([{}, { total: 5 }, { totalTokens: 5 }, { inputTokens: null }])(
    "is unknown where no figure has a known name: %j",
    (usage) => {
      const meter = turn("turn");
      meter.answered({ usage });
      expect(meter.reading(null).figures).toBe("none");
      expect(doubts(meter)).toEqual(["invalid"]);
    },
  );

  it("is known in part where the last figures are none, until others replace them", () => {
    const meter = turn("turn");
    meter.learn(update({ usage: { inputTokens: 5 } }));
    meter.learn(update({ usage: { inputTokens: -5 } }));
    expect(meter.reading(null)).toMatchObject({ tokens: { input: 5 }, figures: "partial" });
    meter.answered({ usage: { inputTokens: 9 } });
    expect(meter.reading(null)).not.toHaveProperty("figures");
    meter.answered({ usage: { inputTokens: "9" } });
    meter.answered({ usage: { inputTokens: 1 } });
    expect(meter.reading(null)).toMatchObject({ tokens: { input: 10 }, figures: "partial" });
  });

  const SAME = { input_tokens: 13, output_tokens: 2 };
  it.each([
    ["ACP's usage", { usage: { inputTokens: 13, outputTokens: 2 } }],
    ["a quota", { _meta: { quota: { token_count: SAME } } }],
    ["a usage of its own", { _meta: { usage: SAME } }],
  ])("counts merged prompts once, which are all answered with %s", (_where, answer) => {
    const meter = turn("turn");
    expect(meter.answered(answer)).toBe(true);
    meter.learn(update({ usage: SAME }));
    expect(meter.answered(answer)).toBe(false);
    expect(tokensOf(meter)).toMatchObject({ input: 13, output: 2 });
    meter.learn({ sessionUpdate: "agent_message_chunk" });
    meter.answered(answer);
    expect(tokensOf(meter)).toMatchObject({ input: 26, output: 4 });
  });

  it("is not of a model that the agent named in an earlier turn", () => {
    const meter = turn("turn");
    meter.learn(update({ _meta: { "_claude/model": "claude-opus-5-5" } }));
    meter.turnBegins();
    expect(meter.reading("small").model).toBe("small");
  });

  it("does not believe more than a turn can use, and says that it does not know", () => {
    const meter = turn("turn");
    meter.answered({ usage: { inputTokens: 2_000_000_000 } });
    expect(meter.reading(null)).toMatchObject({ tokens: NO_TOKENS, figures: "none" });
    expect(doubts(meter)).toEqual(["jumped"]);
  });

  const FIVE = { input: 100, output: 50, cachedRead: 30, cachedWrite: 10, thought: 20 };
  it.each([
    ["each kind by itself", 210, FIVE],
    ["thoughts as output too", 190, { ...FIVE, output: 30 }],
    ["what was read from a cache as input too", 180, { ...FIVE, input: 70 }],
    ["both", 160, { ...FIVE, input: 70, output: 30 }],
    ["all that was cached as input too", 170, { ...FIVE, input: 60 }],
    ["all of these", 150, { ...FIVE, input: 60, output: 30 }],
    ["in a way that cannot be told", 155, FIVE],
  ])("counts a token once, where an agent counts %s", (_way, totalTokens, tokens) => {
    const meter = turn("turn");
    const cached = { cachedReadTokens: 30, cachedWriteTokens: 10 };
    const told = { inputTokens: 100, outputTokens: 50, ...cached, thoughtTokens: 20 };
    meter.answered({ usage: { ...told, totalTokens } });
    expect(tokensOf(meter)).toEqual(tokens);
  });

  it("is the sum of its prompts, with or without an answer that tells it", () => {
    const meter = turn("turn");
    meter.learn(update({ usage: { inputTokens: 15 } }));
    meter.answered({ usage: { inputTokens: 20 } });
    expect(tokensOf(meter).input).toBe(20);
    meter.learn(update({ usage: { inputTokens: 5 } }));
    expect(tokensOf(meter).input).toBe(25);
    expect(meter.answered({})).toBe(false);
    meter.answered({ usage: { inputTokens: 7 } });
    expect(tokensOf(meter).input).toBe(32);
  });

  it("is doubted where the answer tells less than was told in the turn", () => {
    const meter = turn("turn");
    meter.learn(update({ usage: { inputTokens: 15 } }));
    meter.answered({ usage: { inputTokens: 7 } });
    expect(doubts(meter)).toEqual(["fell"]);
  });

  it.each([
    ["Gemini CLI", { quota: { token_count: { input_tokens: 13, output_tokens: 2 } } }],
    ["Grok", { usage: { inputTokens: 13, outputTokens: 2, cacheCreationTokens: 0 } }],
  ])("is found where %s puts it", (_agent, _meta) => {
    const meter = turn("turn");
    expect(meter.answered({ stopReason: "end_turn", _meta })).toBe(true);
    expect(tokensOf(meter)).toEqual({ ...NO_TOKENS, input: 13, output: 2 });
  });

  it("is of the model that the agent names, and of two of the one that took more", () => {
    const meter = turn("turn");
    meter.learn(update({ _meta: { "_claude/model": "claude-opus-5-5" } }));
    expect(meter.reading("default").model).toBe("claude-opus-5-5");
    const models = [
      { model: "gemini-2.5-flash", token_count: { input_tokens: 5, output_tokens: 1 } },
      { model: "gemini-2.5-pro", token_count: { input_tokens: 500, output_tokens: 1 } },
    ];
    meter.answered({ _meta: { quota: { model_usage: models } } });
    expect(meter.reading("unknown").model).toBe("gemini-2.5-pro");
  });

  it("is not changed after its verdict: such figures are doubted", () => {
    const meter = turn("turn");
    meter.answered({ usage: { inputTokens: 7 } });
    meter.turnEnds();
    meter.learn(called({ inputTokens: 50 }));
    expect(doubts(meter)).toEqual(["after_verdict"]);
    meter.turnBegins();
    expect(tokensOf(meter)).toEqual(NO_TOKENS);
  });
});

describe("P9: figures of single model calls", () => {
  it("are added up", () => {
    const meter = turn("call");
    meter.learn(called({ inputTokens: 10, outputTokens: 3 }));
    meter.learn(called({ inputTokens: 20, outputTokens: 4 }));
    meter.answered({});
    expect(meter.reading(null)).toMatchObject({ tokens: { input: 30, output: 7 } });
    expect(meter.reading(null)).not.toHaveProperty("figures");
  });

  it("are not counted again by an answer that repeats the last of them", () => {
    const meter = turn("call");
    meter.learn(called({ inputTokens: 10, outputTokens: 3 }));
    meter.learn(called({ inputTokens: 20, outputTokens: 4 }));
    meter.answered({ usage: { inputTokens: 20, outputTokens: 4 } });
    expect(tokensOf(meter)).toMatchObject({ input: 30, output: 7 });
  });

  it("are replaced by an answer that has their sum, which is doubted", () => {
    const meter = turn("call");
    meter.learn(called({ inputTokens: 10, outputTokens: 3 }));
    meter.learn(called({ inputTokens: 20, outputTokens: 4 }));
    meter.answered({ usage: { inputTokens: 30, outputTokens: 7 } });
    expect(tokensOf(meter)).toMatchObject({ input: 30, output: 7 });
    expect(doubts(meter)).toEqual(["sum_repeated"]);
  });

  it("are a part of the turn where tools were called and only the last call is told", () => {
    const meter = turn("call");
    for (const id of ["a", "b"]) for (const is of ["open", "completed"]) meter.learn(tool(id, is));
    meter.answered({ usage: { inputTokens: 10 } });
    expect(meter.reading(null)).toMatchObject({ tokens: { input: 10 }, figures: "partial" });
  });

  it("are the whole turn where no tool was called", () => {
    const meter = turn("call");
    meter.answered({ usage: { inputTokens: 10 } });
    expect(meter.reading(null)).not.toHaveProperty("figures");
  });
});

describe("P9: totals of a session", () => {
  it("count by what they have grown", () => {
    const meter = turn("session");
    meter.learn(update({ usage: { inputTokens: 10, outputTokens: 1 } }));
    meter.answered({ usage: { inputTokens: 30, outputTokens: 2 } });
    expect(tokensOf(meter)).toMatchObject({ input: 30, output: 2 });
    meter.turnBegins();
    meter.answered({ usage: { inputTokens: 80, outputTokens: 9 } });
    expect(tokensOf(meter)).toMatchObject({ input: 50, output: 7 });
  });

  it("count nothing again when they are told with and without their sum", () => {
    const meter = turn("session");
    const told = { inputTokens: 100, outputTokens: 50, thoughtTokens: 20 };
    meter.learn(update({ usage: told }));
    meter.answered({ usage: { ...told, totalTokens: 150 } });
    expect(tokensOf(meter)).toEqual({ ...NO_TOKENS, input: 100, output: 50, thought: 20 });
  });

  it("are without what stands in two kinds of what is new", () => {
    const meter = turn("session");
    const kinds = (input: number, output: number, cachedRead: number, thought: number) => {
      const some = { inputTokens: input, outputTokens: output };
      return { ...some, cachedReadTokens: cachedRead, thoughtTokens: thought };
    };
    meter.answered({ usage: { ...kinds(1_000, 600, 400, 100), totalTokens: 1_600 } });
    meter.turnBegins();
    meter.answered({ usage: { ...kinds(1_100, 920, 400, 400), totalTokens: 2_020 } });
    expect(tokensOf(meter)).toEqual({ ...NO_TOKENS, input: 100, output: 20, thought: 300 });
  });

  it("that fall are doubted and count nothing, until they pass what was paid for", () => {
    const meter = turn("session");
    meter.answered({ usage: { inputTokens: 100 } });
    meter.turnBegins();
    meter.answered({ usage: { inputTokens: 8 } });
    expect(meter.reading(null)).toMatchObject({ tokens: NO_TOKENS, figures: "none" });
    expect(doubts(meter)).toEqual(["fell"]);
    meter.turnBegins();
    meter.answered({ usage: { inputTokens: 130 } });
    expect(tokensOf(meter).input).toBe(30);
  });

  it("of a restored session begin where the agent says, and nothing of that counts", () => {
    const meter = new UsageMeter("session");
    meter.restored();
    meter.turnBegins();
    meter.answered({ usage: { inputTokens: 100 } });
    expect(meter.reading(null)).toMatchObject({ tokens: NO_TOKENS, figures: "none" });
    expect(doubts(meter)).toEqual(["unknown_start"]);
    meter.answered({ usage: { inputTokens: 110 } });
    expect(meter.reading(null)).toMatchObject({ tokens: { input: 10 }, figures: "partial" });
    meter.turnBegins();
    meter.answered({ usage: { inputTokens: 140 } });
    expect(meter.reading(null)).toMatchObject({ tokens: { input: 30 } });
    expect(meter.reading(null)).not.toHaveProperty("figures");
  });
});

describe("P9: a cost that the agent reports", () => {
  it("is the session's so far, of which each turn has what it has grown by", () => {
    const meter = turn("cost");
    meter.learn(cost(0.013_193_999_999_999_999));
    expect(meter.reading(null)).toMatchObject({ costMicro: 13_194, decidedBy: "cost" });
    meter.turnBegins();
    meter.learn(cost(0.014_2));
    expect(meter.reading(null).costMicro).toBe(1_006);
  });

  it("waits for tokens that may come with it, and counts when the turn goes on", () => {
    const meter = turn("turn");
    meter.learn(cost(25.5));
    expect(meter.reading(null)).not.toHaveProperty("costMicro");
    expect(meter.learn({ sessionUpdate: "plan" })).toBe(true);
    expect(meter.reading(null).costMicro).toBe(25_500_000);
  });

  it.each([
    ["in another currency", cost(5, "EUR"), "currency"],
    ["below zero", cost(-1), "invalid"],
    ["that is no number", cost("much"), "invalid"],
    ["that falls", cost(0.5), "fell"],
    ["beyond what a turn can cost", cost(1_002), "jumped"],
  ])("%s is doubted, and does not count", (_what, told, reason) => {
    const meter = turn("cost");
    meter.learn(cost(1));
    meter.turnBegins();
    meter.learn(told);
    expect(meter.reading(null)).not.toHaveProperty("costMicro");
    expect(doubts(meter)).toEqual([reason]);
  });

  it("that jumped does not hide the costs that come after it", () => {
    const meter = turn("cost");
    meter.learn(cost(5_000));
    meter.learn(cost(0.5));
    expect(meter.reading(null).costMicro).toBe(500_000);
  });

  it("after the verdict is doubted, and does not count in the next turn", () => {
    const meter = turn("cost");
    meter.turnEnds();
    meter.learn(cost(1));
    expect(doubts(meter)).toEqual(["after_verdict"]);
    meter.turnBegins();
    meter.learn(cost(1.5));
    expect(meter.reading(null).costMicro).toBe(500_000);
  });

  it("of a restored session begins where it is told before the first turn", () => {
    const meter = new UsageMeter("cost");
    meter.restored();
    meter.learn(cost(3));
    meter.turnBegins();
    meter.learn(cost(3.25));
    expect(meter.reading(null).costMicro).toBe(250_000);
    expect(doubts(meter)).toEqual([]);
  });
});
