import { describe, expect, it } from "vitest";
import { EXPORT_TOOL_TEXT_CHARS_MAX } from "../../core/limits.ts";
import { under } from "../../core/replay/log.fixture.ts";
import {
  AGENT,
  client,
  Life,
  newPrompt,
  promptId,
  shellId,
} from "../../core/session/life.fixture.ts";
import type { StoredRecord } from "../../store/store.ts";
import { exportSession, sourceOf, storedLife, textOf } from "./source.fixture.ts";

const read = async (life: Life, change: Partial<StoredRecord> = {}) =>
  textOf(await exportSession(sourceOf({ ...storedLife(life), change }).source, "md"));

const heard = (life: Life, update: { sessionUpdate: string; [field: string]: unknown }) =>
  life.give("agent_update", { update }, AGENT);

/** The document without its opening. */
const story = async (life: Life) => (await read(life)).split("\n\n").slice(3).join("\n\n");

describe("a session as Markdown", () => {
  it("opens with its title, when it was, and its agent", async () => {
    const text = await read(new Life().running(), { displayName: "Fix *all* <bugs>" });
    expect(text).toMatch(/^# Fix \\\*all\\\* \\<bugs\\>\n/);
    expect(text).toContain("Session `s` in `/w`,\nbegun 2026-01-02 03:04 UTC");
    expect(text).toContain("Agent `echo`, security mode `ask`.");
    expect(await read(new Life().created())).toMatch(/^# Session s\n/);
  });

  it("has each turn with prompt, answer and tool calls as short lines", async () => {
    const life = new Life().running();
    life.says("Let me look.");
    heard(life, {
      sessionUpdate: "tool_call",
      toolCallId: "c",
      title: "Read `a.ts`",
      kind: "read",
    });
    heard(life, { sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed" });
    heard(life, { sessionUpdate: "tool_call", toolCallId: "d", title: "Edit", status: "failed" });
    heard(life, { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } });
    life.says("# Done\n\nAll `good`.");
    life.complete("t1");
    expect(await story(life)).toBe(
      [
        "## 1. 1970-01-01 00:00 UTC",
        "> say p1",
        "Let me look.",
        "+ **tool** `` Read `a.ts` `` (read) — completed",
        "+ **tool** `Edit` — **failed**",
        "### Done\n\nAll `good`.\n",
      ].join("\n\n"),
    );
  });

  it("shows what commands wrote and how they ended, and of other tools nothing", async () => {
    const life = new Life().running();
    const text = (words: string, more: object = {}) => {
      return { type: "content", content: { type: "text", text: words }, ...more };
    };
    const call = (toolCallId: string, more: object) =>
      heard(life, { sessionUpdate: "tool_call", toolCallId, title: toolCallId, ...more });
    const terminal = { terminal_id: "t", exit_code: null, signal: "SIGTERM" };
    call("a", { kind: "execute", content: [text("~~~\n```` x\n# no heading\n")] });
    call("b", { content: [text("", { _meta: { terminal } })] });
    call("c", { kind: "other", rawInput: { command: "ls" }, rawOutput: "from ls" });
    call("d", { kind: "read", content: [text("a whole file")] });
    life.complete("t1");
    expect((await story(life)).split("\n\n").slice(2).join("\n\n")).toBe(
      [
        "+ **tool** `a` (execute)",
        "`````\n~~~\n```` x\n# no heading\n`````",
        "+ **tool** `b`",
        "+ **output** SIGTERM",
        "+ **tool** `c` (other)",
        "```\nfrom ls\n```",
        "+ **tool** `d` (read)\n",
      ].join("\n\n"),
    );
  });

  it("P10: cuts what is too long to be read, and says so", async () => {
    const life = new Life().running();
    const rawOutput = `${"x".repeat(EXPORT_TOOL_TEXT_CHARS_MAX)}tail`;
    heard(life, { sessionUpdate: "tool_call", toolCallId: "c", kind: "execute", rawOutput });
    life.complete("t1");
    const whole = await story(life);
    expect(whole).toContain("x\n```\n\n*4 more characters are not shown here.*");
    expect(whole).not.toContain("tail");
  });

  it("tells how the model was set, and what the agent did not take", async () => {
    const life = new Life().ready();
    life.give("model", { change: { modelId: "large" } });
    life.give("model", { change: { temperature: 0.5, reasoning: "high" } });
    const failure = { setting: "verbosity", value: "loud", reason: "It offers *low*" } as const;
    life.give("model", { failure });
    const text = await read(life);
    expect(text.match(/.*(large|0\.5|loud).*/g)).toEqual([
      "+ **model** `large`",
      "+ **model** temperature `0.5`, reasoning `high`",
      "+ **verbosity** `loud` was not taken: It offers \\*low\\*",
    ]);
  });

  it("marks failures, and says if an answer broke off", async () => {
    const life = new Life().running();
    life.says("Half a");
    life.give("agent_exit", { exitCode: 1, signalCode: null, message: "" }, AGENT);
    const text = await story(life);
    expect(text).toMatch(/Half a\n\n\*\*Failed\*\* \(`channel_closed`\): The agent exited during/);
    expect(text).toMatch(/logs echo.* What was said above is not all\./);
  });

  it("says why a request of the agent had no answer", async () => {
    const life = new Life().waiting();
    life.give("agent_exit", { exitCode: 1, signalCode: null, message: "" }, AGENT);
    const text = await story(life);
    expect(text).toContain("+ **permission** the agent was gone before anybody answered");
    expect(text).not.toContain("in time");
  });

  it("marks what was cancelled, at work or waiting, with the words that waited", async () => {
    const life = new Life().running();
    life.prompt("p2");
    life.give("remove_prompt", { promptId: promptId("p2") }, client(null));
    life.give("cancel", {}, client(null));
    life.complete("t1", "cancelled");
    expect(await story(life)).toMatch(/> say p2\n\n\*Taken back before it ran\.\*/);
    expect(await story(life)).toMatch(/## 1\. continued .*\n\n\*Cancelled\.\*\n$/);
  });

  it("tells what was said meanwhile, and what the shell did", async () => {
    const life = new Life().running().attached("ann");
    const prompt = newPrompt("p9", { content: [{ type: "text", text: "be quick" }] });
    life.give("steer", { messageId: "m", prompt, agentCanSteer: true }, client("ann"));
    const shell = { shellId: shellId("sh"), command: "cat x", cwd: "/w", idempotency: null };
    life.give("shell_started", shell, client("ann"));
    const ended = { exitCode: 1, signal: null, aborted: false, output: "```\n" };
    life.give("shell_result", { ...ended, shellId: shellId("sh"), command: "cat x" });
    life.complete("t1");
    const text = await story(life);
    expect(text).toContain("*Said meanwhile:*\n\n> be quick");
    expect(text).toContain("+ **shell** exit code 1\n\n````\n$ cat x\n```\n````");
  });

  it("leaves to its call what a sub-agent says, and names what is no text", async () => {
    const life = new Life().running();
    life.says("inner", under("task"));
    const content = { type: "resource_link", uri: "file:///a_b.ts" };
    heard(life, { sessionUpdate: "agent_message_chunk", content });
    life.complete("t1");
    const text = await story(life);
    expect(text).not.toContain("inner");
    expect(text).toContain("*\\[resource\\_link: file:///a\\_b\\.ts\\]*");
  });

  it("tells a turn at work like one that has ended", async () => {
    const life = new Life().running();
    for (const word of ["so ", "far ", "so good"]) life.says(word);
    expect(await story(life)).toContain("> say p1\n\nso far so good\n");
  });

  it("is the same from large pages and from pages of one turn", async () => {
    const life = new Life().running();
    life.says("one");
    life.complete("t1");
    life.prompt("p2");
    life.begin("p2", "t2");
    life.complete("t2");
    const small = sourceOf(storedLife(life), 1).source;
    expect(await textOf(await exportSession(small, "md"))).toBe(await read(life));
  });
});
