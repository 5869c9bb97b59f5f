import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { isCount, isTokenUsage } from "../../core/price.ts";
import { spentMicro } from "../../core/turn-cost.ts";
import { USAGE_SCOPES, type UsageScope } from "../profile/profile.ts";
import { UsageMeter } from "./usage.ts";

/** Figures of all kinds: right ones, and such as no honest agent would tell. */
const figure = fc.oneof(
  fc.nat(5_000),
  fc.nat(3_000_000_000),
  fc.constantFrom<unknown>(-1, 1.5, Number.NaN, "many", null, 2 ** 60, Number.MAX_SAFE_INTEGER),
);
const tokens = fc.record(
  { inputTokens: figure, outputTokens: figure, thoughtTokens: figure, totalTokens: figure },
  { requiredKeys: [] },
);
const cost = fc.record({
  amount: fc.oneof(fc.double({ min: 0, max: 30 }), fc.constantFrom<unknown>(-2, "5", 1e300)),
  currency: fc.constantFrom<unknown>("USD", "usd", "EUR", "", 5),
});
const model = fc.constantFrom("gpt-5", "", "a model that has no price", "\u0000");
const quota = fc.record({
  token_count: tokens,
  model_usage: fc.array(fc.record({ model, token_count: tokens }), { maxLength: 2 }),
});

type Step =
  | { readonly does: "begin" | "end" | "restore" }
  | { readonly does: "update"; readonly update: JsonObject }
  | { readonly does: "answer"; readonly answer: JsonObject };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom("begin", "end", "restore").map((does) => ({ does }) as Step),
  fc
    .record({ cost, usage: tokens }, { requiredKeys: [] })
    .map((more) => ({ does: "update", update: { used: 1, size: 2, ...more } }) as Step),
  fc
    .oneof(
      tokens.map((usage) => ({ usage })),
      quota.map((one) => ({ _meta: { quota: one } })),
    )
    .map((answer) => ({ does: "answer", answer }) as Step),
);

interface Lived {
  /** What each turn came to. */
  readonly inputs: readonly number[];
  readonly costs: readonly number[];
  readonly reasons: readonly string[];
}

function live(scope: UsageScope, steps: readonly Step[], look: (meter: UsageMeter) => void): Lived {
  const meter = new UsageMeter(scope);
  const [inputs, costs, reasons]: [number[], number[], string[]] = [[], [], []];
  let isInTurn = false;
  const end = () => {
    if (!isInTurn) return;
    inputs.push(meter.reading(null).tokens.input);
    costs.push(meter.reading(null).costMicro ?? 0);
    isInTurn = false;
    meter.turnEnds();
  };
  for (const one of steps) {
    if (one.does === "update") meter.learn({ sessionUpdate: "usage_update", ...one.update });
    if (one.does === "answer" && isInTurn) meter.answered(one.answer);
    if (one.does === "end") end();
    if (one.does === "restore" && !isInTurn) meter.restored();
    if (one.does === "begin") {
      end();
      meter.turnBegins();
      isInTurn = true;
    }
    look(meter);
    reasons.push(...meter.takeSuspicions().map(({ reason }) => reason));
  }
  end();
  return { inputs, costs, reasons };
}

function highest(steps: readonly Step[], read: (told: JsonObject) => unknown): number {
  const told = steps.flatMap((one) => {
    const value = one.does === "update" ? read(one.update) : null;
    const answered = one.does === "answer" ? read(one.answer) : null;
    return [value, answered].filter((figure) => typeof figure === "number");
  });
  return told.reduce((most, figure) => (figure > most ? figure : most), 0);
}

const at = (told: unknown, key: string): unknown =>
  typeof told === "object" && told !== null
    ? Object.entries(told).find(([k]) => k === key)?.[1]
    : null;

/** A model call of an agent whose figures are right. */
const call = fc.record({ inputTokens: fc.nat(5_000), outputTokens: fc.nat(500) });
type Call = { readonly inputTokens: number; readonly outputTokens: number };
const turns = fc.array(fc.array(call, { minLength: 1, maxLength: 6 }), { maxLength: 8 });

const NONE: Call = { inputTokens: 0, outputTokens: 0 };
const plus = (one: Call, other: Call): Call => ({
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
});
const sumOf = (calls: readonly Call[]) => calls.reduce(plus, NONE);
/** A total of zero says nothing, and some agents tell it all the same. */
const told = (usage: Call) => ({
  ...usage,
  totalTokens: usage.inputTokens + usage.outputTokens,
});

/** What the calls of a turn cost at this price, and in the agent's own dollars. */
const PRICE = { input: 3_000_000, output: 15_000_000, cachedRead: 0, cachedWrite: 0, thought: 0 };
const priceOf = ({ inputTokens, outputTokens }: Call) => inputTokens * 3 + outputTokens * 15;

/** How an honest agent tells a turn; `before` is what the session had used until then. */
type Telling = (meter: UsageMeter, calls: readonly Call[], before: Call) => void;

const update = (meter: UsageMeter, more: JsonObject) =>
  void meter.learn({ sessionUpdate: "usage_update", used: 1, size: 2, ...more });
const chunk = (meter: UsageMeter, usage: Call) =>
  void meter.learn({
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: "" },
    _meta: { usage: told(usage) },
  });

const HONEST: readonly (readonly [string, UsageScope, Telling])[] = [
  [
    "calls, each with a chunk",
    "call",
    (meter, calls) => {
      for (const one of calls) chunk(meter, one);
      meter.answered({});
    },
  ],
  [
    "calls, the last of them in the answer again",
    "call",
    (meter, calls) => {
      for (const one of calls) update(meter, { usage: told(one) });
      meter.answered({ usage: told(calls.at(-1) ?? NONE) });
    },
  ],
  [
    "the turn, in the answer",
    "turn",
    (meter, calls) => void meter.answered({ usage: told(sumOf(calls)) }),
  ],
  [
    "the turn so far, and in the answer",
    "turn",
    (meter, calls) => {
      for (const [at] of calls.entries()) {
        update(meter, { usage: told(sumOf(calls.slice(0, at + 1))) });
      }
      meter.answered({ _meta: { quota: { token_count: told(sumOf(calls)) } } });
    },
  ],
  [
    "totals of the session",
    "session",
    (meter, calls, before) => {
      for (const [at] of calls.entries()) {
        update(meter, { usage: told(plus(before, sumOf(calls.slice(0, at + 1)))) });
      }
      meter.answered({ usage: told(plus(before, sumOf(calls))) });
    },
  ],
  [
    "costs of the session",
    "cost",
    (meter, calls, before) => {
      for (const [at] of calls.entries()) {
        const micro = priceOf(plus(before, sumOf(calls.slice(0, at + 1))));
        update(meter, { cost: { amount: micro / 1_000_000, currency: "USD" } });
      }
      meter.answered({ usage: told(calls.at(-1) ?? NONE) });
    },
  ],
];

const total = (figures: readonly number[]) => figures.reduce((all, one) => all + one, 0);

describe("P9: where the figures of an agent are right", () => {
  it.each(HONEST)("each turn costs exactly its model calls, told by %s", (_, scope, tell) => {
    const lives = fc.property(turns, (life) => {
      const meter = new UsageMeter(scope);
      let before = NONE;
      for (const calls of life) {
        meter.turnBegins();
        tell(meter, calls, before);
        const reading = meter.reading("gpt-5");
        expect(spentMicro({ ...PRICE, perTurn: 0 }, reading)).toBe(priceOf(sumOf(calls)));
        expect(meter.takeSuspicions()).toEqual([]);
        meter.turnEnds();
        before = plus(before, sumOf(calls));
      }
    });
    fc.assert(lives, { numRuns: 500 });
  });
});

describe("P9: whatever an agent tells of its usage", () => {
  it.each(USAGE_SCOPES)("a turn by %s is counted in whole numbers that it can have", (scope) => {
    const lives = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      live(scope, steps, (meter) => {
        const { tokens: counted, costMicro = 0 } = meter.reading("any");
        expect(counted).toSatisfy(isTokenUsage);
        expect(costMicro).toSatisfy((micro) => isCount(micro));
      });
    });
    fc.assert(lives, { numRuns: 500 });
  });

  it("no token of a session's totals is counted twice, however they fall and jump", () => {
    const lives = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { inputs } = live("session", steps, () => {});
      const most = highest(steps, (told) => {
        const quoted = at(at(at(told, "_meta"), "quota"), "token_count");
        return at(at(told, "usage") ?? quoted, "inputTokens");
      });
      expect(total(inputs)).toBeLessThanOrEqual(most);
    });
    fc.assert(lives, { numRuns: 1_000 });
  });

  it.each(["cost", "turn"] as const)("no cost is counted twice, by %s", (scope) => {
    const lives = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { costs } = live(scope, steps, () => {});
      const most = highest(steps, (told) => at(at(told, "cost"), "amount"));
      expect(total(costs)).toBeLessThanOrEqual(Math.round(most * 1_000_000));
    });
    fc.assert(lives, { numRuns: 1_000 });
  });

  it("what is doubted has every reason that a meter knows", () => {
    const seen = new Set<string>();
    const lives = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      for (const scope of USAGE_SCOPES) {
        for (const reason of live(scope, steps, () => {}).reasons) seen.add(reason);
      }
    });
    fc.assert(lives, { numRuns: 300, seed: 1 });
    const all = ["after_verdict", "currency", "fell", "invalid", "jumped", "unknown_start"];
    expect([...seen].toSorted()).toEqual(all);
  });
});
