import { describe, expect, it } from "vitest";
import { EXPORT_CHUNK_CHARS, EXPORT_TOOL_TEXT_CHARS_MAX } from "../../core/limits.ts";
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
import { faultsIn, textIn } from "./tags.fixture.ts";

const read = async (life: Life, change: Partial<StoredRecord> = {}) =>
  textOf(await exportSession(sourceOf({ ...storedLife(life), change }).source, "html"));

const heard = (life: Life, update: { sessionUpdate: string; [field: string]: unknown }) =>
  life.give("agent_update", { update }, AGENT);

const COMPLETED = '<span class="end good">completed</span>';

const bodyOf = (html: string) =>
  html.slice(html.indexOf("<main>") + "<main>".length, html.indexOf("</main>"));

/** What stands between the opening and the end. */
const story = async (life: Life) => {
  const body = bodyOf(await read(life));
  expect(faultsIn(body)).toEqual([]);
  return body.slice(body.indexOf("</header>") + "</header>".length, body.indexOf("<footer>"));
};

const SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>";
const HOSTILE = `</title></style></p>"'>${SCRIPT}\u202e`;

describe("a session as HTML", () => {
  it("opens with its title, when it was, and its agent", async () => {
    const text = textIn(bodyOf(await read(new Life().running(), { displayName: "Fix <bugs>" })));
    expect(text).toContain("Fix <bugs>");
    expect(text).toContain("Session s in /w,\nbegun 2026-01-02 03:04 UTC");
    expect(text).toContain("Agent echo, security mode ask.");
    expect(await read(new Life().created())).toContain("<h1>Session s</h1>");
  });

  it("needs nothing else, and may do nothing", async () => {
    const html = await read(new Life().running());
    const policy = "default-src 'none'; style-src 'unsafe-inline'";
    const before = html.slice(0, html.indexOf("<style>"));
    expect(before).toContain(`<meta http-equiv="Content-Security-Policy" content="${policy}">`);
    expect(html).not.toMatch(/<(?:script|link|img|iframe|form|base|object)|@import|url\(/i);
    expect(html).toContain("@media (prefers-color-scheme: dark)");
    expect(html).toContain("@media print");
  });

  it("shows who said what, with thoughts and tool calls folded", async () => {
    const life = new Life().running();
    heard(life, { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "*hm*" } });
    life.says("Let me look.");
    heard(life, { sessionUpdate: "tool_call", toolCallId: "c", title: "Read", kind: "read" });
    const content = [{ type: "content", content: { type: "text", text: "<b>\u001b[1mx" } }];
    const locations = [{ path: "/a.ts", line: 3 }];
    const end = { status: "completed", rawInput: { path: "a.ts" }, locations, content };
    heard(life, { sessionUpdate: "tool_call_update", toolCallId: "c", ...end });
    life.says("**Done.**");
    life.complete("t1");
    expect(await story(life)).toContain(`
<h2 id="turn-1">1 <span class="when">1970-01-01 00:00 UTC</span></h2>
<p class="who user">User</p>
<div class="said user">
<p>say p1</p>
</div>
<p class="who agent">Agent</p>
<details class="thought"><summary>Thought</summary>
<p><em>hm</em></p>
</details>
<div class="said agent">
<p>Let me look.</p>
</div>
<details class="tool"><summary><b>read</b> <code>Read</code> ${COMPLETED}</summary>
<p class="label">Places</p>
<pre>
/a.ts:3</pre>
<p class="label">Input</p>
<pre>
path: a.ts</pre>
<p class="label">Output</p>
<pre>
&lt;b&gt;x</pre>
</details>
<div class="said agent">
<p><strong>Done.</strong></p>
</div>
`);
  });

  it("marks failures, and says if an answer broke off", async () => {
    const life = new Life().running();
    life.says("Half a");
    heard(life, { sessionUpdate: "tool_call", toolCallId: "d", title: "Edit", status: "failed" });
    life.give("agent_exit", { exitCode: 1, signalCode: null, message: "" }, AGENT);
    const html = await story(life);
    expect(html).toContain('<p class="tool"><b>tool</b> <code>Edit</code> <span class="end bad">');
    expect(html).toContain(
      '<p class="failure"><strong>Failed</strong> <code>channel_closed</code>',
    );
    expect(textIn(html)).toMatch(
      /exited during the turn\. .*logs echo.* What was said above is not all\./,
    );
  });

  it("marks what was cancelled, and says where a turn is continued", async () => {
    const life = new Life().running();
    life.says("a");
    life.prompt("p2");
    life.give("remove_prompt", { promptId: promptId("p2") }, client(null));
    life.give("cancel", {}, client(null));
    life.complete("t1", "cancelled");
    const html = await story(life);
    expect(textIn(html)).toMatch(/2 .*\nUser\n\nsay p2\n\nTaken back before it ran\.\n1 continued/);
    expect(html).toMatch(/<p class="note">Cancelled\.<\/p>\n$/);
    expect(html.match(/id="turn-1"/g)).toHaveLength(1);
  });

  it("tells what was said meanwhile, what the shell did, and what is no text", async () => {
    const life = new Life().running().attached("ann");
    const prompt = newPrompt("p9", { content: [{ type: "text", text: "be quick" }] });
    life.give("steer", { messageId: "m", prompt, agentCanSteer: true }, client("ann"));
    const shell = { shellId: shellId("sh"), command: "cat x", cwd: "/w", idempotency: null };
    life.give("shell_started", shell, client("ann"));
    const ended = { exitCode: 1, signal: null, aborted: false, output: "\u001b[31mno\u001b[0m" };
    life.give("shell_result", { ...ended, shellId: shellId("sh"), command: "cat x" });
    life.says("inner", under("task"));
    const content = { type: "resource_link", uri: "file:///a_b.ts" };
    heard(life, { sessionUpdate: "agent_message_chunk", content });
    life.complete("t1");
    const text = textIn(await story(life));
    expect(text).toContain("User, meanwhile\n\nbe quick");
    expect(text).toContain("shell cat x exit code 1\nOutput\n\n$ cat x\nno");
    expect(text).toContain("[resource_link: file:///a_b.ts]");
    expect(text).not.toContain("inner");
  });

  it("shows of a change the lines that are different, and of other input all", async () => {
    const life = new Life().running();
    const diff = { type: "diff", path: "/a", oldText: "1\n2\n3\n4", newText: "1\ntwo\n3\n4" };
    heard(life, { sessionUpdate: "tool_call", toolCallId: "c", title: "E", content: [diff] });
    const rawInput = { n: [1], text: "a\nb" };
    heard(life, { sessionUpdate: "tool_call", toolCallId: "d", rawInput, rawOutput: "raw" });
    const text = textIn(await story(life));
    expect(text).toContain("Change of /a\n\n@@ line 2 @@\n- 2\n+ two\n");
    expect(text).toContain("Input\n\nn:\n[\n  1\n]\ntext:\na\nb\nOutput\n\nraw\n");
  });

  it("cuts what a tool gave back where nobody would read on, and says so", async () => {
    const life = new Life().running();
    const rawOutput = "x".repeat(EXPORT_TOOL_TEXT_CHARS_MAX + 5);
    heard(life, { sessionUpdate: "tool_call", toolCallId: "c", title: "T", rawOutput });
    const text = textIn(await story(life));
    expect(text).toContain("x\n5 more characters are not shown here.");
    expect(text.match(/x{100,}/)?.[0]).toHaveLength(EXPORT_TOOL_TEXT_CHARS_MAX);
  });

  it("is the same from large pages and from pages of one turn", async () => {
    const life = new Life().running();
    life.says("one");
    life.complete("t1");
    life.prompt("p2");
    life.begin("p2", "t2");
    life.complete("t2");
    const small = sourceOf(storedLife(life), 1).source;
    expect(await textOf(await exportSession(small, "html"))).toBe(await read(life));
  });
});

describe("a hostile session as HTML", () => {
  /** A life in which all parties say the same, wherever something can be said. */
  function hostileLife(said: string): Life {
    const life = new Life().ready({ activeAgent: said, modelConfig: { modelId: said } });
    const content = [{ type: "text", text: said }];
    life.attached("ann").prompt("p1", { content });
    life.begin("p1", "t1");
    const call = { title: said, kind: said, status: said, locations: [{ path: said }] };
    const block = { type: said, uri: said };
    const results = [
      { type: "content", content: { type: "text", text: said } },
      { type: "content", content: block },
      { type: "diff", path: said, oldText: "", newText: said },
    ];
    const raw = { rawInput: { [said]: said }, content: results };
    heard(life, { sessionUpdate: "tool_call", toolCallId: "c", ...call, ...raw });
    for (const kind of ["agent_message_chunk", "agent_thought_chunk"]) {
      heard(life, { sessionUpdate: kind, content: { type: "text", text: said } });
      heard(life, { sessionUpdate: kind, content: block });
    }
    const steered = { messageId: "m", prompt: newPrompt("p9", { content }), agentCanSteer: true };
    life.give("steer", steered, client("ann"));
    const shell = { shellId: shellId("sh"), command: said, cwd: "/w", idempotency: null };
    life.give("shell_started", shell, client("ann"));
    const ended = { exitCode: null, signal: said, aborted: false, output: said };
    life.give("shell_result", { ...ended, shellId: shellId("sh"), command: said });
    life.give("agent_exit", { exitCode: 1, signalCode: null, message: said }, AGENT);
    return life;
  }

  it.each([
    ["markup", HOSTILE],
    ["an attribute", `" onmouseover="alert(1)" x='`],
    ["a link", `[x](javascript:alert(1)) [y](https://a.b/"onclick="alert\\(1\\)) <https://'">`],
    ["the end of what we opened", "</code></pre></details></div></main></body></html>"],
    ["a comment", "<!-- --> <![CDATA[ ]]> <?xml?>"],
  ])("has nothing in it that works: %s", async (_what, said) => {
    const html = await read(hostileLife(said), { displayName: said, workspaceCwd: said });
    expect(faultsIn(bodyOf(html))).toEqual([]);
    expect(html.match(/<\/title>|<\/style>|<\/main>|<\/html>/g)).toHaveLength(4);
    expect(html).not.toMatch(/<script|<img|<!--|\u202e/);
  });

  it("breaks very long lines instead of growing wide", async () => {
    expect(await read(hostileLife("x".repeat(100_000)))).toContain("overflow-wrap: anywhere");
  });
});

describe("P10: a huge session as HTML", () => {
  it("leaves in pieces, and is read as it leaves", async () => {
    const life = new Life().running();
    for (let n = 0; n < 3_000; n += 1)
      life.says(`chunk ${n} <b> `.repeat(5), { messageId: `m${n}` });
    const { source, reads } = sourceOf(storedLife(life), 50);
    const pieces = await exportSession(source, "html");
    const sizes: number[] = [];
    const readsBefore: number[] = [];
    for await (const piece of pieces.ok ? pieces.value : []) {
      sizes.push(piece.length);
      readsBefore.push(reads.length);
    }
    expect(sizes.length).toBeGreaterThan(3);
    expect(Math.max(...sizes)).toBeLessThan(EXPORT_CHUNK_CHARS * 2);
    expect(readsBefore[0]).toBeLessThan(reads.length / 2);
  });
});
