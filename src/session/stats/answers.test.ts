import { describe, expect, it } from "vitest";
import { NO_TOKENS } from "../../core/price.ts";
import {
  AGENT,
  client,
  Life,
  newPrompt,
  noCredit,
  turnId,
} from "../../core/session/life.fixture.ts";
import { contextUsageAnswer, statsAnswer } from "./stats.ts";
import { EMPTY_TALLY, type Tally } from "./tally.ts";

const TOKENS = { input: 10, output: 5, cachedRead: 100, cachedWrite: 20, thought: 3 };

const TALLY: Tally = {
  ...EMPTY_TALLY,
  tools: new Map([
    [
      "edit",
      { count: 3, success: 2, fail: 1, durationMs: 50, accept: 1, reject: 1, autoAccept: 1 },
    ],
    ["read", { count: 1, success: 1, fail: 0, durationMs: 7, accept: 0, reject: 0, autoAccept: 0 }],
  ]),
  models: new Map([["large", { turns: 2, errors: 1, durationMs: 900 }]]),
  linesAdded: 12,
  linesRemoved: 4,
  context: { model: "large", used: 1_500, size: 200_000 },
};

const USED = { chargedMicro: 12, openMicro: 5 };

function used(life: Life, turn: string, model: string | null, more: object = {}) {
  const usage = { model, used: 40_000, size: 200_000, tokens: TOKENS, ...more };
  life.give("usage", { turnId: turnId(turn), usage }, AGENT);
  return life;
}

describe("the stats of a session", () => {
  it("have the wire's shape", () => {
    const life = used(new Life().running(), "t1", "large");
    life.complete("t1");
    const answer = statsAnswer(life.now, TALLY, USED, life.now.fixed.createdAtMs + 5_000);
    expect(answer).toEqual({
      v: 1,
      sessionId: "s",
      workspaceCwd: "/workspace",
      sessionStartTimeMs: 1_001,
      durationMs: 5_000,
      promptCount: 1,
      models: {
        large: {
          api: { totalRequests: 2, totalErrors: 1, totalLatencyMs: 900 },
          tokens: {
            prompt: 130,
            candidates: 5,
            total: 138,
            cached: 100,
            cachedWrite: 20,
            thoughts: 3,
          },
        },
      },
      tools: {
        totalCalls: 4,
        totalSuccess: 3,
        totalFail: 1,
        totalDurationMs: 57,
        byName: {
          edit: {
            count: 3,
            success: 2,
            fail: 1,
            durationMs: 50,
            decisions: { accept: 1, reject: 1, modify: 0, auto_accept: 1 },
          },
          read: {
            count: 1,
            success: 1,
            fail: 0,
            durationMs: 7,
            decisions: { accept: 0, reject: 0, modify: 0, auto_accept: 0 },
          },
        },
      },
      files: { totalLinesAdded: 12, totalLinesRemoved: 4 },
      turns: { completed: 1, failed: 0 },
      cost: { chargedMicro: 12, openMicro: 5, budgetMicro: null },
    });
  });

  it("have the tokens of the turn at work, and have them once when it has ended", () => {
    const life = used(new Life().running(), "t1", null);
    const tokens = () => statsAnswer(life.now, EMPTY_TALLY, USED, 0).models.unknown?.tokens.total;
    expect(tokens()).toBe(138);
    life.complete("t1");
    expect(tokens()).toBe(138);
    life.give("prompt", { ...newPrompt("p2"), start: noCredit("t2") }, client(null));
    used(life, "t2", null);
    expect(tokens()).toBe(276);
  });

  it("are safe with any name of a model, and with a clock that goes back", () => {
    const life = used(new Life().running(), "t1", "__proto__");
    const answer = statsAnswer(life.now, EMPTY_TALLY, USED, 0);
    expect(Object.keys(answer.models)).toEqual(["__proto__"]);
    expect(answer.durationMs).toBe(0);
  });
});

describe("how full the context is", () => {
  it("is what the turn at work reports", () => {
    const life = used(new Life().running(), "t1", "large");
    const answer = contextUsageAnswer(life.now, TALLY, true);
    expect(answer).toMatchObject({ v: 1, sessionId: "s", workspaceCwd: "/workspace" });
    expect(answer.usage).toMatchObject({
      modelName: "large",
      totalTokens: 40_000,
      contextWindowSize: 200_000,
      breakdown: { messages: 0, freeSpace: 160_000 },
      builtinTools: [],
      isEstimated: true,
      showDetails: true,
    });
    expect(answer.formattedText).toBe("The agent's context has 40,000 of 200,000 tokens (20 %).");
  });

  it("is what was last told, between turns", () => {
    const { usage } = contextUsageAnswer(new Life().ready().now, TALLY, false);
    expect(usage).toMatchObject({ totalTokens: 1_500, showDetails: false });
  });

  it("is not known if the agent never told", () => {
    const life = new Life().ready({ modelConfig: { modelId: "small" } });
    const answer = contextUsageAnswer(life.now, EMPTY_TALLY, false);
    expect(answer.usage).toMatchObject({ modelName: "small", totalTokens: 0 });
    expect(answer.formattedText).toBe("The agent has not said how full its context is.");
    const vague = used(new Life().running(), "t1", null, { size: null, tokens: NO_TOKENS });
    expect(contextUsageAnswer(vague.now, EMPTY_TALLY, false).formattedText).toBe(
      "The agent's context has 40,000 tokens.",
    );
  });
});
