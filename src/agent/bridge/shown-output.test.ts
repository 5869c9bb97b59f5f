import { describe, expect, it } from "vitest";
import type { AgentUpdate } from "../../core/agent-update.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  TERMINAL_REPEATS_MAX,
  TERMINAL_SHOWN_HEAD_BYTES_MAX,
  TERMINAL_SHOWN_TAIL_BYTES_MAX,
  TERMINALS_TOLD_BY_AGENT_MAX,
} from "../../core/limits.ts";
import { ShownOutput } from "./shown-output.ts";

/** An agent that runs commands itself, and what people are told beside its own words. */
class Scene {
  readonly ours: AgentUpdate[] = [];
  readonly known = new Map<string, unknown>();
  readonly output = new ShownOutput(
    (update) => this.ours.push(update),
    (toolCallId) => this.known.get(toolCallId),
  );

  says(toolCallId: string, more: JsonObject = {}) {
    const update = { sessionUpdate: "tool_call_update", toolCallId, ...more };
    expect(this.output.before(update)).toBe(update);
    if (more.content !== undefined) this.known.set(toolCallId, more.content);
    this.output.after(update);
  }

  wrote(toolCallId: string, data: unknown, more: JsonObject = {}, terminal_id = toolCallId) {
    this.says(toolCallId, { _meta: { terminal_output_delta: { terminal_id, data } }, ...more });
  }

  exits(toolCallId: string, exit_code: number, more: JsonObject = {}) {
    const terminal_exit = { terminal_id: toolCallId, exit_code, signal: null };
    this.says(toolCallId, { _meta: { terminal_exit }, ...more });
  }

  get last(): JsonObject {
    return this.ours.at(-1) ?? {};
  }
}

const named = (terminalId: string) => [{ type: "terminal", terminalId }];
const whole = (text: string, terminal: JsonObject) => {
  return { type: "content", content: { type: "text", text }, _meta: { terminal } };
};

describe("a command that an agent runs itself", () => {
  it("is shown whole behind its end, in the way of codex", () => {
    const scene = new Scene();
    const input = { type: "content", content: { type: "text", text: "$ ls" } };
    scene.says("c", { content: [...named("c"), input] });
    scene.wrote("c", "one\n");
    scene.wrote("c", "two\n");
    expect(scene.ours).toEqual([]);
    scene.exits("c", 2, { status: "failed" });
    expect(scene.ours).toEqual([
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "c",
        content: [whole("one\ntwo\n", { terminal_id: "c", exit_code: 2, signal: null }), input],
      },
    ]);
  });

  it("is shown if all of it comes at once, and if it names no terminal and has no exit", () => {
    const scene = new Scene();
    scene.wrote("c", "all", { status: "completed" });
    expect(scene.last.content).toEqual([whole("all", { terminal_id: "c" })]);
  });

  it("is shown again where the agent takes the text away, a few times", () => {
    const scene = new Scene();
    scene.wrote("c", "out");
    scene.exits("c", 0);
    for (let time = 0; time < 10; time += 1) scene.says("c", { content: named("c") });
    expect(scene.ours).toHaveLength(TERMINAL_REPEATS_MAX);
  });

  it("is shown as far as it came when its turn ends, and forgotten", () => {
    const scene = new Scene();
    scene.wrote("c", "half");
    scene.output.turnEnds();
    expect(scene.last.content).toEqual([whole("half", { terminal_id: "c" })]);
    scene.says("c", { status: "completed" });
    scene.output.turnEnds();
    expect(scene.ours).toHaveLength(1);
  });

  it("is told by the agent alone where nothing of it is output", () => {
    const scene = new Scene();
    for (const data of [5, null, ["x"], {}]) scene.wrote("c", data);
    scene.says("c", { _meta: { terminal_output: "odd", terminal_exit: [] } });
    scene.exits("c", 0, { status: "completed" });
    scene.says("d", { status: "completed", content: named("d") });
    scene.output.turnEnds();
    expect(scene.ours).toEqual([]);
  });

  it("has ended when it has: what comes after that is the agent's word only", () => {
    const scene = new Scene();
    scene.wrote("c", "out");
    scene.exits("c", 0);
    scene.wrote("c", "late", { status: "completed" });
    expect(scene.last.content).toEqual([
      whole("out", { terminal_id: "c", exit_code: 0, signal: null }),
    ]);
  });

  it("P10: is shown by its beginning and end, however much and in however many terminals", () => {
    const scene = new Scene();
    for (let mib = 0; mib < 50; mib += 1) scene.wrote("c", "x".repeat(1_024 * 1_024));
    scene.exits("c", 0);
    const room = TERMINAL_SHOWN_HEAD_BYTES_MAX + TERMINAL_SHOWN_TAIL_BYTES_MAX + 1_000;
    expect(JSON.stringify(scene.last).length).toBeLessThan(room);
    for (let n = 0; n < 2 * TERMINALS_TOLD_BY_AGENT_MAX; n += 1) scene.wrote(`d${n}`, "x");
    scene.output.turnEnds();
    expect(scene.ours).toHaveLength(1 + TERMINALS_TOLD_BY_AGENT_MAX);
  });

  it("P10: is not forgotten for the many terminals of its own call; the first are shown", () => {
    const scene = new Scene();
    const ids = Array.from({ length: TERMINALS_TOLD_BY_AGENT_MAX + 1 }, (_, n) => `t${n}`);
    for (const id of ids) scene.wrote("c", id, {}, id);
    scene.says("c", { status: "completed" });
    const shown = ids.slice(0, -1).map((id) => whole(id, { terminal_id: id }));
    expect(scene.last.content).toEqual(shown);
  });
});
