import { describe, expect, it } from "vitest";
import { reduceTrace } from "./reduce.ts";

function recorded(...lines: readonly (readonly [string, object | string])[]): string {
  return lines
    .map(([from, said]) => {
      const line = typeof said === "string" ? said : JSON.stringify(said);
      return JSON.stringify({ from, line });
    })
    .join("\n");
}

const INITIALIZE = [
  ["server", { id: 1, method: "initialize", params: {} }],
  ["agent", { id: 1, result: { protocolVersion: 1 } }],
] as const;

const NEW = [
  ["server", { id: 2, method: "session/new", params: { cwd: "/tmp/fermata-serve-x1/workspace" } }],
  ["agent", { id: 2, result: { sessionId: "one" } }],
] as const;

function update(sessionId: string, said: object) {
  return ["agent", { method: "session/update", params: { sessionId, update: said } }] as const;
}

function chunk(text: string) {
  const content = { type: "text", text };
  return update("one", { sessionUpdate: "agent_message_chunk", content });
}

function messagesOf(text: string): readonly unknown[] {
  return reduceTrace(text).map((line) => ("check" in line ? line.check : line.message));
}

describe("a reduced trace", () => {
  it("has the wanted checks, each with the initialize of its process", () => {
    const text = recorded(
      ...INITIALIZE,
      ["contract", "stream"],
      ...NEW,
      ["contract", "output"],
      ["server", { id: 3, method: "session/new", params: {} }],
    );
    expect(messagesOf(text)).toEqual([
      "output",
      { id: 1, method: "initialize", params: {} },
      { id: 1, result: { protocolVersion: 1 } },
      { id: 3, method: "session/new", params: {} },
    ]);
  });

  it("has no process that has ended before its check began", () => {
    const text = recorded(...INITIALIZE, ["contract", "output"], ...INITIALIZE, ...NEW);
    expect(messagesOf(text)).toHaveLength(1 + 2 + 2);
  });

  it("has nothing of sessions that others have made", () => {
    const own = update("one", { sessionUpdate: "plan" });
    const other = update("other", { sessionUpdate: "plan" });
    const text = recorded(["contract", "output"], ...NEW, other, own);
    expect(messagesOf(text)).toHaveLength(4);
  });

  it("has few of many chunks", () => {
    const chunks = Array.from({ length: 9 }, (_, index) => chunk(`${index}`));
    const text = recorded(["contract", "output"], ...NEW, ...chunks);
    expect(messagesOf(text)).toHaveLength(3 + 2);
  });

  it("has the chunks of each side, where one speaks after the other", () => {
    const asked = update("one", { sessionUpdate: "user_message_chunk" });
    const text = recorded(["contract", "output"], ...NEW, asked, asked, asked, chunk("I see"));
    expect(JSON.stringify(messagesOf(text))).toContain("I see");
    expect(messagesOf(text)).toHaveLength(3 + 2 + 1);
  });

  it("has one name for a terminal, in ACP's words and in those of `_meta`", () => {
    const named = { content: [{ type: "terminal", terminalId: "call_7" }] };
    const wrote = { _meta: { terminal_output: { terminal_id: "call_7" } } };
    const said = update("one", { sessionUpdate: "tool_call", ...named, ...wrote });
    const [last] = messagesOf(recorded(["contract", "output"], ...NEW, said)).slice(-1);
    expect(last).toMatchObject({
      params: {
        update: {
          content: [{ terminalId: "terminal-2" }],
          _meta: { terminal_output: { terminal_id: "terminal-2" } },
        },
      },
    });
  });

  it("names sessions, folders and times alike in every run", () => {
    const title = "in /tmp/fermata-serve-x1/workspace at 2026-01-01T00:00:00.000Z";
    const said = update("one", {
      sessionUpdate: "tool_call",
      title,
      started_at: 1_799_999_999_999,
    });
    const [last] = messagesOf(recorded(["contract", "output"], ...NEW, said)).slice(-1);
    expect(last).toEqual({
      method: "session/update",
      params: {
        sessionId: "session-1",
        update: { sessionUpdate: "tool_call", title: "in /workspace at (time)", started_at: 1 },
      },
    });
  });

  it("P11: has no secret of a session's tools, and names their folder alike", () => {
    const env = [
      { name: "FERMATA_TOOLBOX", value: "/tmp/fermata-serve-x1/fermata-AbC1d2/tools" },
      { name: "FERMATA_TOOLBOX_SECRET", value: "fermata-secret-of-one-session-x_Y-z" },
    ];
    const messages = messagesOf(
      recorded(
        ...INITIALIZE,
        ["contract", "output"],
        ["server", { id: 2, method: "session/new", params: { mcpServers: [{ env }] } }],
        ["agent", { id: 2, result: { sessionId: "one" } }],
        update("one", { sessionUpdate: "agent_message_chunk", content: {} }),
      ),
    );
    expect(JSON.stringify(messages)).toContain('"/home/run/tools"');
    expect(JSON.stringify(messages)).toContain('"(secret)"');
  });

  it("has no long texts but what a command has printed", () => {
    const long = "word ".repeat(100);
    const text = recorded(
      ["contract", "output"],
      ...NEW,
      chunk(long),
      chunk(`${long} seen-out12Z345-here`),
    );
    expect(JSON.stringify(messagesOf(text))).not.toContain("word word");
    expect(JSON.stringify(messagesOf(text))).toContain("(text with seen-out-mark-here)");
  });
});
