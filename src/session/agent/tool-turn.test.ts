import { describe, expect, it } from "vitest";
import type { AgentAsk, AskAnswer } from "../../agent/agent.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import { fail, ok } from "../../core/result.ts";
import { skill } from "../../core/slash/snapshot.fixture.ts";
import type { ToolAnswer, ToolCall, Tools } from "../../tool/tool.ts";
import { NO_TOOLS, RANDOM_IDS, SETTINGS } from "../world.fixture.ts";
import { ToolTurn, type ToolTurnReports } from "./tool-turn.ts";

const CALL: ToolCall = {
  name: "shell",
  title: "ls",
  kind: "execute",
  input: { command: "ls" },
  locations: [],
};

const ENTRY = skill("list", { invocation_mode: "tool_dispatch", command_tool: "shell" });
const PLACE = { workspaceCwd: "/", cwd: "/" };
const allowed = (optionId: string): AskAnswer => ({ outcome: { outcome: "selected", optionId } });

interface Scene {
  readonly answer?: AskAnswer;
  readonly tools?: Partial<Tools>;
  audit?(): Promise<void>;
}

/** One turn of a tool, and all that its session heard of it, in order. */
function staged({ answer = allowed("allow"), tools = {}, audit = async () => {} }: Scene = {}) {
  const heard: string[] = [];
  const asks: AgentAsk[] = [];
  const owner: ToolTurnReports = {
    heardStatus: ({ stopReason }) => void heard.push(`verdict ${stopReason}`),
    heardUpdate: async ({ sessionUpdate, status }) => {
      heard.push(status === undefined ? `${sessionUpdate}` : `${sessionUpdate} ${status}`);
    },
    ask: async (ask) => {
      heard.push("ask");
      asks.push(ask);
      return answer;
    },
    audit: async (act) => {
      await audit();
      heard.push(`audit ${act}`);
    },
    commandResult: ({ code }) => void heard.push(code),
  };
  const run = async (): Promise<ToolAnswer> => {
    heard.push("run");
    return { isError: false, text: "a.txt" };
  };
  const all = { ...NO_TOOLS, callOf: async () => ok(CALL), run, ...tools };
  const world = { tools: all, settings: SETTINGS };
  const turn = new ToolTurn(owner, world, PLACE, RANDOM_IDS.turn());
  return { heard, asks, turn, ended: () => turn.run({ entry: ENTRY, words: "ls" }) };
}

const SAID = ["agent_message_chunk"];

describe("a turn that runs a tool", () => {
  it.each(["allow", "allow_always"])(
    "asks, is recorded, runs and answers: %s",
    async (optionId) => {
      const { heard, asks, ended } = staged({ answer: allowed(optionId) });
      await ended();
      expect(heard).toEqual([
        "tool_call pending",
        "ask",
        "audit tool_dispatch",
        "tool_call_update in_progress",
        "run",
        "tool_call_update completed",
        ...SAID,
        "tool_ok",
        "verdict end_turn",
      ]);
      expect(asks).toMatchObject([
        { kind: "permission", toolCall: { kind: "execute", rawInput: CALL.input } },
      ]);
    },
  );

  it.each([allowed("reject"), { outcome: CANCELLED }, allowed("something else")])(
    "does not run unless it is allowed: $outcome",
    async (answer) => {
      const { heard, ended } = staged({ answer });
      await ended();
      expect(heard).toEqual([
        "tool_call pending",
        "ask",
        "tool_call_update failed",
        ...SAID,
        "skill_capability_denied",
        "verdict end_turn",
      ]);
    },
  );

  it("does not run if that cannot be recorded, and its call is closed", async () => {
    const { heard, ended } = staged({ audit: () => Promise.reject(new Error("no room")) });
    await ended();
    expect(heard.slice(2)).toEqual([
      "tool_call_update failed",
      ...SAID,
      "tool_failed",
      "verdict end_turn",
    ]);
  });

  it.each([
    { code: "tool_input_invalid", details: { tool: "shell", reason: "no words" } },
    { code: "tool_unavailable", details: { tool: "shell", reason: "away" } },
    { code: "tool_unknown", details: { tool: "shell" } },
  ] as const)("asks nobody about a call that there cannot be: $code", async ({ code, details }) => {
    const { heard, ended } = staged({ tools: { callOf: async () => fail(code, details) } });
    await ended();
    const codes = {
      tool_input_invalid: "tool_input_invalid",
      tool_unavailable: "tool_failed",
      tool_unknown: "executor_unbound",
    };
    expect(heard).toEqual([...SAID, codes[code], "verdict end_turn"]);
  });

  it.each(["an answer", "an exception"])("fails with its tool, by %s", async (way) => {
    const run = async (): Promise<ToolAnswer> => {
      if (way === "an exception") throw new Error("it broke");
      return { isError: true, text: "it broke" };
    };
    const { heard, ended } = staged({ tools: { run } });
    await ended();
    expect(heard.slice(-4)).toEqual([
      "tool_call_update failed",
      ...SAID,
      "tool_failed",
      "verdict end_turn",
    ]);
  });

  it("ends its tool when it is cancelled, and says nothing more but its verdict", async () => {
    const started = Promise.withResolvers<void>();
    const run: Tools["run"] = (_call, _place, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve({ isError: true, text: "called off" }));
        started.resolve();
      });
    const { heard, turn, ended } = staged({ tools: { run } });
    const over = ended();
    await started.promise;
    turn.cancel();
    await over;
    expect(heard.slice(-2)).toEqual(["tool_call_update in_progress", "verdict cancelled"]);
  });
});
