import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { AGENT_TOOL_CALLS_KNOWN_CHARS_MAX } from "../../core/limits.ts";
import { CANCELLED, selected } from "../../core/policy/ask.ts";
import { KnownToolCalls, permissionAnswer, permissionAsk } from "./ask.ts";

const ALLOW = { optionId: "yes", name: "Allow", kind: "allow_once" };

describe("a permission request", () => {
  it("passes the call and its options on as they came", () => {
    const toolCall = { toolCallId: "c1", title: "rm -rf", kind: "execute", odd: [1] };
    expect(permissionAsk({ toolCall, options: [ALLOW] }, new KnownToolCalls())).toEqual({
      kind: "permission",
      toolCall,
      known: {},
      options: [ALLOW],
    });
  });

  it("P4: is judged by what the agent said of the call before, if it only names it", () => {
    const calls = new KnownToolCalls();
    calls.learn({ sessionUpdate: "tool_call", toolCallId: "c1", kind: "execute", title: "rm" }, 9);
    calls.learn(
      { sessionUpdate: "tool_call_update", toolCallId: "c1", kind: null, rawInput: {} },
      9,
    );
    const { known } = permissionAsk({ toolCall: { toolCallId: "c1" } }, calls);
    expect(known).toEqual({ toolCallId: "c1", kind: "execute", title: "rm", rawInput: {} });
  });

  it("is a question if its call brings questions", () => {
    const toolCall = { toolCallId: "c1", rawInput: { questions: [{ question: "Which?" }] } };
    expect(permissionAsk({ toolCall }, new KnownToolCalls()).kind).toBe("user_question");
  });

  const questions = [{ question: "Which?", header: "DB", options: [], multiSelect: false }];
  const kindOf = (said: JsonObject, before: JsonObject = {}) => {
    const calls = new KnownToolCalls();
    calls.learn({ sessionUpdate: "tool_call", toolCallId: "c1", ...before }, 9);
    return permissionAsk({ toolCall: { toolCallId: "c1", ...said } }, calls).kind;
  };

  it.each<[string, JsonObject, JsonObject]>([
    ["other, as Claude Code sends it", { kind: "other", rawInput: { questions } }, {}],
    ["think, as Qwen Code sends it", { kind: "think", rawInput: { questions } }, {}],
    ["metadata beside them", { rawInput: { questions, answers: {}, metadata: {} } }, {}],
    ["only the call's name now", {}, { kind: "other", rawInput: { questions } }],
  ])("is a question with questions and %s", (_, said, before) => {
    expect(kindOf(said, before)).toBe("user_question");
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["a command beside them", { kind: "other", rawInput: { command: "rm", questions } }, {}],
    ["a kind that acts", { kind: "execute", rawInput: { questions } }, {}],
    ["a kind that acts, told before", { kind: null, rawInput: { questions } }, { kind: "edit" }],
    ["none in the list", { kind: "other", rawInput: { questions: [] } }, {}],
    ["a list that holds none", { kind: "other", rawInput: { questions: ["rm"] } }, {}],
  ])("P4: is about permission if its call has questions and %s", (_, said, before) => {
    expect(kindOf(said, before)).toBe("permission");
  });

  it("without options, or with odd ones, is left to the core to refuse", () => {
    const calls = new KnownToolCalls();
    expect(permissionAsk({ options: "all" }, calls).options).toEqual([]);
    expect(permissionAsk({ options: [null, {}] }, calls).options).toEqual([{ optionId: "" }]);
  });

  it("is answered in ACP's words, with the answers of a question", () => {
    expect(permissionAnswer({ outcome: selected("yes") })).toEqual({
      outcome: { outcome: "selected", optionId: "yes" },
    });
    const answers = { which: "the first" };
    expect(permissionAnswer({ outcome: CANCELLED, answers })).toEqual({
      outcome: { outcome: "cancelled" },
      answers,
    });
    expect(permissionAnswer({ outcome: CANCELLED, reason: "it is closed" })).toEqual({
      outcome: { outcome: "cancelled" },
      _meta: { reason: "it is closed" },
    });
  });
});

describe("known tool calls", () => {
  it("P10: are forgotten when they end, and the oldest beyond the limit", () => {
    const calls = new KnownToolCalls();
    const tell = (toolCallId: string, status: string) =>
      calls.learn({ sessionUpdate: "tool_call", toolCallId, status }, 9);
    tell("ended", "in_progress");
    tell("ended", "completed");
    expect(calls.get("ended")).toEqual({});
    for (let n = 0; n < 1_000; n += 1) tell(`c${n}`, "pending");
    expect(calls.get("c0")).toEqual({});
    expect(calls.get("c999")).toMatchObject({ toolCallId: "c999" });
  });
});

describe("P10: what is known of tool calls", () => {
  const half = "x".repeat(AGENT_TOOL_CALLS_KNOWN_CHARS_MAX / 2);
  const tell = (calls: KnownToolCalls, toolCallId: string, said: object) =>
    calls.learn({ sessionUpdate: "tool_call", toolCallId, ...said }, JSON.stringify(said).length);

  it("is bounded in size too, the oldest being forgotten first", () => {
    const calls = new KnownToolCalls();
    tell(calls, "old", { content: half });
    tell(calls, "older than new", { kind: "edit" });
    tell(calls, "new", { content: half, kind: "execute" });
    expect(calls.get("old")).toEqual({});
    expect(calls.get("new")).toMatchObject({ kind: "execute" });
  });

  it("does not grow by what is said again in the same place", () => {
    const calls = new KnownToolCalls();
    tell(calls, "first", { kind: "execute" });
    for (let n = 0; n < 100; n += 1)
      tell(calls, "second", { content: `${n}${half.slice(0, 1e6)}` });
    expect(calls.get("first")).toMatchObject({ kind: "execute" });
  });

  it("does not grow without end in one call either", () => {
    const calls = new KnownToolCalls();
    for (let n = 0; n < 20; n += 1) tell(calls, "c", { [`field${n}`]: half.slice(0, 1e6) });
    expect(JSON.stringify(calls.get("c")).length).toBeLessThan(AGENT_TOOL_CALLS_KNOWN_CHARS_MAX);
    expect(calls.get("c")).toHaveProperty("field19");
  });
});
