import { describe, expect, it, vi } from "vitest";
import type { AgentUpdate } from "../../core/agent-update.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  TERMINAL_CALL_CONTENT_CHARS_MAX,
  TERMINAL_CLAIM_MS_MAX,
  TERMINAL_NEWS_MAX,
  TERMINAL_NEWS_MS_MAX,
  TERMINAL_NEWS_MS_MIN,
  TERMINAL_REPEATS_MAX,
  TERMINAL_SHOWN_HEAD_BYTES_MAX,
  TERMINAL_SHOWN_TAIL_BYTES_MAX,
  TERMINALS_SHOWN_TURN_BYTES_MAX,
} from "../../core/limits.ts";
import { StillTime } from "../still-time.fixture.ts";
import type { TerminalObserver } from "../workspace/terminal.ts";
import { ShownTerminals } from "./shown-terminals.ts";

function withStillTime(act: () => void) {
  new StillTime();
  act();
}

/** A session's terminals, an agent that speaks of them, and what people are told. */
class Scene {
  readonly told: AgentUpdate[] = [];
  readonly shown = new ShownTerminals((update) => this.told.push(update));

  open(id = "t", line = "npm test"): TerminalObserver {
    return this.shown.opened(id, line);
  }

  agent(toolCallId: string, more: JsonObject = {}) {
    const said = { sessionUpdate: "tool_call_update", toolCallId, ...more };
    const update = this.shown.withoutClaims(said);
    this.told.push(this.shown.filled(update));
    this.shown.learn(update);
  }

  names(toolCallId: string, ...ids: readonly string[]) {
    this.agent(toolCallId, { content: named(...ids) });
  }

  get last(): JsonObject {
    return this.told.at(-1) ?? {};
  }

  /** All that was told of a call in pieces. */
  pieces(toolCallId: string): string {
    const own = this.told.filter((update) => update.toolCallId === toolCallId);
    return own.map(({ _meta }) => Object(_meta).terminal_output?.data ?? "").join("");
  }
}

const named = (...ids: readonly string[]) =>
  ids.map((terminalId) => ({ type: "terminal", terminalId }));
const whole = (text: string, terminal: JsonObject) => {
  return { type: "content", content: { type: "text", text }, _meta: { terminal } };
};
const bytes = (text: string) => Buffer.from(text);
const OK = { exitCode: 0, signal: null };
const errorText = (id: string, exit_code: number | null = 0, signal: string | null = null) => {
  return { terminal_id: id, exit_code, signal };
};

describe("what a terminal writes", () => {
  it("is told as part of the call that names it, also what came before", () =>
    withStillTime(() => {
      const scene = new Scene();
      const terminal = scene.open();
      terminal.wrote(bytes("early "));
      expect(scene.told).toEqual([]);
      scene.names("c", "t");
      expect(scene.last).toEqual({
        sessionUpdate: "tool_call_update",
        toolCallId: "c",
        _meta: { terminal_output: { terminal_id: "t", data: "early " } },
      });
      terminal.wrote(bytes("late"));
      vi.advanceTimersByTime(TERMINAL_NEWS_MS_MIN);
      expect(scene.pieces("c")).toBe("early late");
    }));

  it("P10: is gathered, so that many lines are few events, and ever fewer", () =>
    withStillTime(() => {
      const scene = new Scene();
      const terminal = scene.open();
      scene.names("c", "t");
      for (let line = 0; line < 1_000; line += 1) terminal.wrote(bytes("x"));
      vi.advanceTimersByTime(TERMINAL_NEWS_MS_MIN);
      expect(scene.told).toHaveLength(2);
      for (let moment = 0; moment < 2 * TERMINAL_NEWS_MAX; moment += 1) {
        terminal.wrote(bytes("."));
        vi.advanceTimersByTime(TERMINAL_NEWS_MS_MAX);
      }
      expect(scene.told.length).toBeLessThanOrEqual(TERMINAL_NEWS_MAX + 1);
      terminal.ended(OK);
      expect(scene.pieces("c")).toBe("x".repeat(1_000) + ".".repeat(2 * TERMINAL_NEWS_MAX));
    }));

  it("is in the call's content at its end, in its place, with how it ended", () => {
    const scene = new Scene();
    const terminal = scene.open();
    const diff = { type: "diff", path: "/a", newText: "b" };
    scene.agent("c", { content: [...named("t"), diff] });
    terminal.wrote(bytes("failed\n"));
    terminal.ended({ exitCode: null, signal: "SIGKILL" });
    const ended = errorText("t", null, "SIGKILL");
    expect(scene.last).toEqual({
      sessionUpdate: "tool_call_update",
      toolCallId: "c",
      content: [whole("failed\n", ended), diff],
      _meta: { terminal_output: { terminal_id: "t", data: "failed\n" }, terminal_exit: ended },
    });
  });

  it("stands where an agent names the terminal again, a few times", () => {
    const scene = new Scene();
    const terminal = scene.open();
    scene.names("c", "t");
    terminal.wrote(bytes("out"));
    terminal.ended(OK);
    for (let time = 0; time < TERMINAL_REPEATS_MAX; time += 1) {
      scene.agent("c", { status: "completed", content: named("t") });
      expect(scene.last.content).toEqual([whole("out", errorText("t"))]);
    }
    scene.names("c", "t");
    expect(scene.last.content).toEqual(named("t"));
  });

  it("is told to a call that names it only when it has ended", () => {
    const scene = new Scene();
    const terminal = scene.open();
    terminal.wrote(bytes("out"));
    terminal.ended(OK);
    scene.names("c", "t");
    expect(scene.last.content).toEqual([whole("out", errorText("t"))]);
    expect(scene.pieces("c")).toBe("out");
  });

  it("is told in the first of two calls, and shown in the other if that names it again", () => {
    const scene = new Scene();
    const terminal = scene.open();
    scene.names("c", "t");
    scene.names("d", "t");
    terminal.wrote(bytes("out"));
    terminal.ended(OK);
    expect([scene.pieces("c"), scene.pieces("d")]).toEqual(["out", ""]);
    scene.names("d", "t");
    expect(scene.last.content).toEqual([whole("out", errorText("t"))]);
  });

  it("of two terminals in one call is kept apart, and the content has both", () => {
    const scene = new Scene();
    const [one, two] = [scene.open("t"), scene.open("u")];
    scene.names("c", "t", "u");
    one.wrote(bytes("1"));
    one.ended(OK);
    expect(scene.last.content).toEqual([whole("1", errorText("t")), ...named("u")]);
    two.ended({ exitCode: 3, signal: null });
    expect(scene.last.content).toEqual([whole("1", errorText("t")), whole("", errorText("u", 3))]);
  });

  it("keeps the sub-agent's call that it stands under", () => {
    const scene = new Scene();
    const terminal = scene.open();
    scene.agent("c", { content: named("t"), _meta: { parentToolCallId: "task" } });
    terminal.wrote(bytes("x"));
    terminal.ended(OK);
    expect(scene.last._meta).toMatchObject({ parentToolCallId: "task" });
  });

  it("takes nothing out of a call that contains too much to be said again", () => {
    const scene = new Scene();
    const terminal = scene.open();
    const text = "x".repeat(TERMINAL_CALL_CONTENT_CHARS_MAX);
    const large = { type: "content", content: { type: "text", text } };
    scene.agent("c", { content: [...named("t"), large] });
    terminal.wrote(bytes("out"));
    terminal.ended(OK);
    expect(scene.last).not.toHaveProperty("content");
    expect(scene.last._meta).toMatchObject({ terminal_exit: errorText("t") });
  });

  it("P2: is what it wrote, whatever the agent says that it did", () => {
    const scene = new Scene();
    const terminal = scene.open();
    scene.names("c", "t");
    const claim = { terminal_id: "t", data: "all is well" };
    const mine = { terminal_output: claim, terminal_output_delta: claim, other: 1 };
    scene.agent("c", { _meta: { ...mine, terminal_exit: errorText("t") } });
    scene.agent("c", { content: [whole("all is well", errorText("t"))] });
    terminal.wrote(bytes("leaked"));
    terminal.ended({ exitCode: 1, signal: null });
    scene.shown.turnEnds();
    expect(scene.pieces("c")).toBe("leaked");
    const exits = scene.told.flatMap(({ _meta }) => Object(_meta).terminal_exit ?? []);
    expect(exits).toEqual([errorText("t", 1)]);
    expect(scene.last.content).toContainEqual(whole("leaked", errorText("t", 1)));
    expect(scene.told).toContainEqual(expect.objectContaining({ _meta: { other: 1 } }));
  });

  it("is the agent's to tell of a terminal that is its own", () => {
    const scene = new Scene();
    scene.open();
    const _meta = { terminal_output: { terminal_id: "its", data: "out" } };
    scene.agent("c", { _meta });
    expect(scene.last).toMatchObject({ toolCallId: "c", _meta });
  });

  it("P8: is not told by a name that no terminal of this session has", () => {
    const scene = new Scene();
    const other = new Scene();
    const terminal = other.open("theirs");
    terminal.wrote(bytes("private"));
    terminal.ended(OK);
    scene.open("t");
    scene.names("c", "theirs");
    expect(JSON.stringify(scene.told)).not.toContain("private");
    expect(scene.last.content).toEqual(named("theirs"));
  });
});

describe("a terminal that no call names", () => {
  it.each<[string, (scene: Scene) => void]>([
    ["has written something for long enough", () => vi.advanceTimersByTime(TERMINAL_CLAIM_MS_MAX)],
    ["is released", ({ shown }) => shown.released("t")],
    ["is there when the turn ends", ({ shown }) => shown.turnEnds()],
  ])("gets a call of its own when it %s", (_, act) =>
    withStillTime(() => {
      const scene = new Scene();
      const terminal = scene.open("t", `npm test ${"x".repeat(10_000)}`);
      terminal.wrote(bytes("out"));
      act(scene);
      expect(scene.told[0]).toMatchObject({
        sessionUpdate: "tool_call",
        toolCallId: "t",
        title: `npm test ${"x".repeat(247)}`,
        kind: "execute",
        status: "in_progress",
        content: named("t"),
      });
      expect(scene.pieces("t")).toBe("out");
    }),
  );

  it.each([
    [0, "completed"],
    [1, "failed"],
  ])("has ended with exit code %i when its call has %s", (exitCode, status) => {
    const scene = new Scene();
    const terminal = scene.open();
    terminal.ended({ exitCode, signal: null });
    scene.shown.released("t");
    expect(scene.last).toMatchObject({ status, content: [whole("", errorText("t", exitCode))] });
  });

  it("is shown where it is named later all the same, once it has ended", () => {
    const scene = new Scene();
    const terminal = scene.open();
    terminal.wrote(bytes("out"));
    terminal.ended(OK);
    scene.shown.released("t");
    scene.names("c", "t");
    expect(scene.last).toMatchObject({ toolCallId: "c", content: [whole("out", errorText("t"))] });
  });
});

describe("a terminal that goes on when its turn has ended", () => {
  it("has been told up to there, and goes on in a call of its own", () =>
    withStillTime(() => {
      const scene = new Scene();
      const terminal = scene.open();
      scene.names("c", "t");
      terminal.wrote(bytes("in the turn"));
      scene.shown.turnEnds();
      expect(scene.pieces("c")).toBe("in the turn");
      terminal.wrote(bytes("later"));
      vi.advanceTimersByTime(TERMINAL_CLAIM_MS_MAX);
      terminal.ended(OK);
      expect(scene.pieces("c")).toBe("in the turn");
      expect(scene.last).toMatchObject({
        toolCallId: "t",
        status: "completed",
        content: [whole("later", errorText("t"))],
      });
    }));

  it("is not told to anybody when the session is over", () =>
    withStillTime(() => {
      const scene = new Scene();
      const terminal = scene.open();
      terminal.wrote(bytes("x"));
      scene.shown.end();
      terminal.wrote(bytes("y"));
      terminal.ended(OK);
      vi.advanceTimersByTime(TERMINAL_CLAIM_MS_MAX);
      expect(scene.told).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    }));
});

describe("P10: a command that floods", () => {
  const MIB = bytes("x".repeat(1_024 * 1_024));

  it("is told by its beginning and its end, and how much is missing", () => {
    const scene = new Scene();
    const terminal = scene.open();
    scene.names("c", "t");
    for (let mib = 0; mib < 100; mib += 1) terminal.wrote(MIB);
    terminal.wrote(bytes("the end"));
    terminal.ended(OK);
    const text = scene.pieces("c");
    const kept = TERMINAL_SHOWN_HEAD_BYTES_MAX + TERMINAL_SHOWN_TAIL_BYTES_MAX;
    expect(text).toContain(`… ${100 * MIB.length + 7 - kept} bytes left out …`);
    expect(text.endsWith("the end")).toBe(true);
    expect(text.length).toBeLessThan(kept + 100);
    expect(scene.last.content).toEqual([whole(text, errorText("t"))]);
  });

  it("leaves room for the other commands of its turn, however many there are", () => {
    const scene = new Scene();
    const floods = (count: number) => {
      for (let command = 0; command < count; command += 1) {
        const terminal = scene.open(`t${command}`);
        scene.names(`c${command}`, `t${command}`);
        terminal.wrote(MIB);
        terminal.ended(OK);
      }
    };
    floods(1_000);
    const told = scene.told.reduce((sum, update) => sum + JSON.stringify(update).length, 0);
    expect(told).toBeLessThan(2.5 * TERMINALS_SHOWN_TURN_BYTES_MAX);
    scene.shown.turnEnds();
    floods(1);
    const kept = TERMINAL_SHOWN_HEAD_BYTES_MAX + TERMINAL_SHOWN_TAIL_BYTES_MAX;
    expect(JSON.stringify(scene.last.content).length).toBeGreaterThan(kept);
  });
});
