// What each known agent tells of its usage, as it was recorded with a model that counted itself:
// a turn of 13 model calls, and three turns of one call each.

import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { KNOWN_PROFILES } from "../profile/known.ts";
import { UsageMeter } from "./usage.ts";

interface Told {
  readonly updates?: readonly JsonObject[];
  readonly answer?: JsonObject;
  /** Of this turn: tokens in all, or the cost, or that not all of it is told. */
  readonly is: { tokens: number } | { costMicro: number } | { figures: "none" | "partial" };
}

const filled = (used: number, more: JsonObject = {}) => ({
  sessionUpdate: "usage_update",
  used,
  size: 200_000,
  ...more,
});
const dollars = (used: number, amount: number) =>
  filled(used, { cost: { amount, currency: "USD" } });
const called = (inputTokens: number, outputTokens: number) => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text: "" },
  _meta: { usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens } },
});
const usage = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
});
const quota = (input_tokens: number, output_tokens: number) => {
  const token_count = { input_tokens, output_tokens };
  return {
    _meta: { quota: { token_count, model_usage: [{ model: "gemini-2.5-pro", token_count }] } },
  };
};
/** Twelve commands, one after the other. */
const COMMANDS = Array.from({ length: 12 }, (_, index) => {
  const call = { sessionUpdate: "tool_call", toolCallId: `call_${index}` };
  return [
    { ...call, status: "pending" },
    { ...call, status: "completed" },
  ];
}).flat();

const RECORDED: Readonly<Record<string, readonly (readonly [string, readonly Told[]])[]>> = {
  opencode: [
    [
      "13 calls",
      [
        {
          updates: [...COMMANDS, dollars(1_003, 0.013_193_999_999_999_999)],
          answer: { usage: usage(1_003, 11) },
          is: { costMicro: 13_194 },
        },
      ],
    ],
    [
      "three turns",
      [
        {
          updates: [dollars(1_005, 0.001_015)],
          answer: { usage: usage(1_005, 10) },
          is: { costMicro: 1_015 },
        },
        {
          updates: [dollars(1_006, 0.002_032)],
          answer: { usage: usage(1_006, 11) },
          is: { costMicro: 1_017 },
        },
        {
          updates: [dollars(1_008, 0.003_049_999_999_999_999_8)],
          answer: { usage: usage(1_008, 10) },
          is: { costMicro: 1_018 },
        },
      ],
    ],
    [
      "13 calls of a model whose cost it does not know",
      [{ updates: COMMANDS, answer: { usage: usage(1_004, 12) }, is: { figures: "partial" } }],
    ],
  ],
  copilot: [
    ["13 calls", [{ answer: { usage: usage(13_051, 143) }, is: { tokens: 13_194 } }]],
    [
      "three turns",
      [
        { answer: { usage: usage(1_004, 12) }, is: { tokens: 1_016 } },
        { answer: { usage: usage(2_009, 22) }, is: { tokens: 1_015 } },
        { answer: { usage: usage(3_015, 33) }, is: { tokens: 1_017 } },
      ],
    ],
  ],
  gemini: [
    ["13 calls", [{ answer: quota(13_051, 143), is: { tokens: 13_194 } }]],
    [
      "three turns",
      [
        { answer: quota(1_004, 12), is: { tokens: 1_016 } },
        { answer: quota(1_005, 10), is: { tokens: 1_015 } },
        { answer: quota(1_006, 11), is: { tokens: 1_017 } },
      ],
    ],
  ],
  qwen: [
    [
      "three of 13 calls",
      [
        {
          updates: [called(1_001, 11), ...COMMANDS, called(1_002, 12), called(1_003, 10)],
          is: { tokens: 3_039 },
        },
      ],
    ],
  ],
  grok: [
    [
      "13 calls",
      [
        {
          answer: { _meta: { ...usage(1_003, 11), usage: usage(13_051, 143), modelId: "grok-4" } },
          is: { tokens: 13_194 },
        },
      ],
    ],
  ],
  claude: [
    [
      "13 calls",
      [
        {
          updates: [...COMMANDS, dollars(1_016, 0.059_319_999_999_999_984)],
          answer: { usage: usage(13_054, 144), ...quota(13_054, 144) },
          is: { tokens: 13_198 },
        },
      ],
    ],
  ],
  goose: [
    [
      "13 calls",
      [{ updates: COMMANDS, answer: { usage: usage(1_007, 10) }, is: { figures: "partial" } }],
    ],
    ["one call", [{ answer: { usage: usage(1_009, 12) }, is: { tokens: 1_021 } }]],
  ],
  kimi: [
    ["13 calls", [{ updates: [...COMMANDS, filled(1_010)], answer: {}, is: { figures: "none" } }]],
  ],
  "codex-zed": [
    ["13 calls", [{ updates: [...COMMANDS, filled(9)], answer: {}, is: { figures: "none" } }]],
  ],
};

/** Kilo Code was made of opencode, and tells the same. */
const ROWS = Object.entries({ ...RECORDED, kilo: RECORDED.opencode ?? [] }).flatMap(
  ([agent, runs]) => runs.map(([what, turns]) => [agent, what, turns] as const),
);

describe("P9: what known agents tell of their usage", () => {
  it.each(ROWS)("%s: %s", (agent, _what, turns) => {
    const profile = KNOWN_PROFILES.find(({ name }) => name === agent);
    const meter = new UsageMeter(profile?.usage ?? "turn");
    for (const { updates = [], answer = {}, is } of turns) {
      meter.turnBegins();
      for (const update of updates) meter.learn({ sessionUpdate: "", ...update });
      meter.answered(answer);
      const { tokens, ...reading } = meter.reading(null);
      const all = Object.values(tokens).reduce((sum, count) => sum + count, 0);
      expect({ tokens: all, ...reading }).toMatchObject(is);
      if (!("figures" in is) && profile?.usage !== "cost") {
        expect(reading).not.toHaveProperty("figures");
      }
      meter.turnEnds();
    }
    expect(meter.takeSuspicions()).toEqual([]);
  });
});
