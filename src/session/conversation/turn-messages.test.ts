import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chunkText } from "../../core/agent-update.ts";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { anyLog } from "../../core/replay/any-log.fixture.ts";
import { compactSegment, type LogEvent } from "../../core/replay/compact.ts";
import { event, under } from "../../core/replay/log.fixture.ts";
import { anything, commandFor } from "../../core/session/anything.fixture.ts";
import { AGENT, client, Life, newPrompt, noCredit } from "../../core/session/life.fixture.ts";
import type { RunningPrompt } from "../../core/session/state.ts";
import { type ConversationMessage, messageText, readMessage } from "./message.ts";
import { turnMessages } from "./turn-messages.ts";

const numbered = ({ log }: Life): readonly LogEvent[] =>
  log.map((event, index) => ({ ...event, id: index + 1 }));

const of = (life: Life) => turnMessages(numbered(life));

const heard = (life: Life, update: { sessionUpdate: string; [field: string]: unknown }) =>
  life.give("agent_update", { update }, AGENT);

/** Messages in brief, as `role: text` or `tool: id status`. */
const brief = (messages: readonly ConversationMessage[]) =>
  messages.map((message) => {
    if (message.role === "tool") return `tool: ${message.toolCallId} ${message.status}`;
    return `${message.role}: ${message.content.map(({ text, type }) => text ?? type).join("|")}`;
  });

describe("the messages of a completed turn", () => {
  it("are the prompt and the answer, whose chunks are one text", () => {
    const life = new Life().running();
    life.says("Hel");
    life.says("lo.");
    life.complete("t1");
    expect(of(life)).toMatchObject([
      { role: "user", turnId: "t1", promptId: "p1", content: [{ type: "text", text: "say p1" }] },
      { role: "assistant", turnId: "t1", content: [{ type: "text", text: "Hello." }] },
    ]);
  });

  it("leave out what the agent thought, and go on across it", () => {
    const life = new Life().running();
    life.says("one");
    heard(life, { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } });
    life.says("two");
    life.complete("t1");
    expect(brief(of(life))).toEqual(["user: say p1", "assistant: one|two"]);
  });

  it("have no message for words that are none, which some agents send their usage with", () => {
    const life = new Life().running();
    life.says("");
    life.complete("t1");
    expect(brief(of(life))).toEqual(["user: say p1"]);
  });

  it("have each tool call with its result where the call began", () => {
    const life = new Life().running();
    life.says("Let me look.");
    const asked = { toolCallId: "c", title: "Read a.ts", kind: "read", rawInput: { path: "a" } };
    heard(life, { sessionUpdate: "tool_call", ...asked });
    life.says("Reading");
    const content = [{ type: "content", content: { type: "text", text: "export" } }];
    const done = { toolCallId: "c", status: "completed", content, rawOutput: { lines: 1 } };
    heard(life, { sessionUpdate: "tool_call_update", ...done });
    life.says(".");
    life.complete("t1");
    expect(brief(of(life))).toEqual([
      "user: say p1",
      "assistant: Let me look.",
      "tool: c completed",
      "assistant: Reading.",
    ]);
    expect(of(life)[2]).toMatchObject({
      call: { title: "Read a.ts", kind: "read", rawInput: { path: "a" } },
      result: { content, rawOutput: { lines: 1 } },
    });
  });

  it("say of a call whose end the agent never told that it was not told", () => {
    const life = new Life().running();
    heard(life, { sessionUpdate: "tool_call", toolCallId: "c" });
    life.complete("t1");
    expect(brief(of(life))).toEqual(["user: say p1", "tool: c unreported"]);
  });

  it("have what was steered into it where it was said", () => {
    const life = new Life().running();
    life.says("Red");
    const content = [{ type: "text", text: "no, blue" }];
    const prompt = newPrompt("p9", { content });
    life.give("steer", { messageId: "m1", prompt, agentCanSteer: true }, client(null));
    life.says("Blue");
    life.complete("t1");
    expect(brief(of(life))).toEqual([
      "user: say p1",
      "assistant: Red",
      "user: no, blue",
      "assistant: Blue",
    ]);
    expect(of(life)[2]).toMatchObject({ promptId: "p1", messageId: "m1", turnId: "t1" });
  });

  it("keep pictures, in their place", () => {
    const life = new Life().running();
    life.says("See:");
    const image = { type: "image", mimeType: "image/png", data: "iVBO" };
    heard(life, { sessionUpdate: "agent_message_chunk", content: image });
    life.complete("t1");
    expect(of(life)[1]).toMatchObject({ content: [{ text: "See:" }, image] });
  });

  it("mark what a sub-agent said and did by the call it stood under", () => {
    const life = new Life().running();
    life.says("inner", under("task"));
    heard(life, { sessionUpdate: "tool_call", toolCallId: "c", ...under("task") });
    life.says("outer");
    life.complete("t1");
    expect(of(life).slice(1)).toMatchObject([
      { role: "assistant", under: "task" },
      { role: "tool", under: "task" },
      { role: "assistant", content: [{ text: "outer" }] },
    ]);
    expect(of(life)[3]).not.toHaveProperty("under");
  });

  it("have nothing of the prompts that wait meanwhile, or of words between turns", () => {
    const life = new Life().ready();
    life.says("good morning");
    life.give("prompt", newPrompt("p1"), client(null));
    life.begin("p1", "t1");
    life.prompt("p2");
    life.says("Yes");
    life.give("remove_prompt", { promptId: newPrompt("p2").promptId }, client(null));
    life.complete("t1");
    expect(brief(of(life))).toEqual(["user: say p1", "assistant: Yes"]);
  });
});

describe("a prompt that waited for its turn", () => {
  function second(more: Partial<ReturnType<typeof newPrompt>> = {}) {
    const life = new Life().running();
    life.prompt("p2", more);
    life.complete("t1");
    const from = life.log.length;
    life.begin("p2", "t2");
    const { running } = life.now;
    life.says("Yes");
    life.complete("t2");
    return { running, events: numbered(life).slice(from) };
  }

  it("is known by what other clients were shown of it", () => {
    expect(brief(turnMessages(second().events))).toEqual(["user: say p2", "assistant: Yes"]);
  });

  it("is told by whoever knows it, if nobody was shown anything", () => {
    const { events, running } = second({ echo: false });
    expect(brief(turnMessages(events))).toEqual(["assistant: Yes"]);
    expect(brief(turnMessages(events, running))).toEqual(["user: say p2", "assistant: Yes"]);
  });

  it("brings what the agent was told beside it", () => {
    const { events, running } = second();
    const told = running && { ...running, shellContext: ["$ ls\na.ts\n(exit code 0)"] };
    expect(turnMessages(events, told)[0]).toMatchObject({ context: [expect.any(String)] });
  });
});

describe("a turn that is not whole", () => {
  it("adds what was said until a person cancelled it, with open calls closed as cancelled", () => {
    const life = new Life().running();
    life.says("Half a");
    heard(life, { sessionUpdate: "tool_call", toolCallId: "open" });
    heard(life, { sessionUpdate: "tool_call", toolCallId: "bad", status: "failed" });
    life.give("cancel", {}, client(null));
    life.complete("t1", "cancelled");
    expect(brief(of(life))).toEqual([
      "user: say p1",
      "assistant: Half a",
      "tool: open cancelled",
      "tool: bad failed",
    ]);
  });

  it("has also those calls closed that were too many or too odd for the core to track", () => {
    const life = new Life().running();
    const toolCallId = "c".repeat(AGENT_NAME_CHARS_MAX + 1);
    heard(life, { sessionUpdate: "tool_call", toolCallId });
    life.give("cancel", {}, client(null));
    life.complete("t1", "cancelled");
    expect(brief(of(life))).toEqual(["user: say p1", `tool: ${toolCallId} cancelled`]);
  });

  it("adds nothing if it failed, was abandoned, or is still at work", () => {
    const failed = new Life().running();
    failed.says("Half a");
    expect(of(failed)).toEqual([]);
    failed.give("agent_exit", { exitCode: 1, signalCode: null, message: "" }, AGENT);
    expect(of(failed)).toEqual([]);
    const closed = new Life().running();
    closed.give("close", {}, client(null));
    expect(of(closed)).toEqual([]);
  });

  it("adds nothing if it was taken back before it began", () => {
    const life = new Life().running();
    life.prompt("p2");
    const [waiting = never()] = life.now.queue;
    life.give("remove_prompt", { promptId: waiting.promptId }, client(null));
    expect(turnMessages(numbered(life), { ...waiting, shellContext: [] })).toEqual([]);
  });

  it("adds nothing if it was a command of ours and no turn", () => {
    const life = new Life().ready();
    life.prompt("p1");
    const result = { status: "ok", code: "skills_listed", message: "none" } as const;
    life.give("command_result", { promptId: newPrompt("p1").promptId, result });
    expect(of(life)).toEqual([]);
  });
});

describe("in any life", () => {
  /** Looks at each turn that entered the conversation, with all that was logged until then. */
  function inEveryTurn(
    look: (log: readonly LogEvent[], messages: readonly ConversationMessage[]) => void,
  ) {
    const live = fc.property(anything, (intents) => {
      const life = new Life().created();
      for (const [step, intent] of intents.entries()) {
        const running: RunningPrompt | null = life.now.running;
        const { events } = life.submit(commandFor(life, intent, step + 2));
        const ended = events.some(({ type }) => type === "turn_complete" || type === "turn_error");
        if (!ended || running === null || life.now.running !== null) continue;
        const log = numbered(life);
        look(log, turnMessages(log, running));
      }
    });
    fc.assert(live, { numRuns: 500 });
  }

  it("a whole turn has all of the agent's text exactly once, and a failed one none", () => {
    inEveryTurn((log, messages) => {
      const verdict = log.findLast(({ data }) => "turnId" in data && "promptId" in data);
      const said = log.flatMap((event) =>
        event.type === "session_update" &&
        event.childId === undefined &&
        event.promptId === verdict?.promptId &&
        event.data.update.sessionUpdate === "agent_message_chunk"
          ? [chunkText(event.data.update) ?? ""]
          : [],
      );
      const told = messages.flatMap((message) =>
        message.role === "assistant" ? message.content.map(({ text }) => text) : [],
      );
      const isWhole = verdict?.type === "turn_complete";
      expect(told.join("")).toBe(isWhole ? said.join("") : "");
      expect(messages.length > 0).toBe(isWhole);
    });
  });

  it("stored messages are read as they were written", () => {
    inEveryTurn((_, messages) => {
      expect(messages.map((message) => readMessage(messageText(message)))).toEqual(messages);
    });
  });

  it("raw and folded events of one turn come to the same messages, whatever they are", () => {
    const verdict = event(1_000, "turn_complete", { ...OF_TURN, stopReason: "end_turn" }, OF_TURN);
    const same = fc.property(anyLog, (log) => {
      const turn = log
        .filter(({ type }) => !APART.has(type))
        .map((one) => ({ ...one, promptId: OF_TURN.promptId }));
      const raw = [...turn, verdict];
      expect(turnMessages(compactSegment(raw))).toEqual(turnMessages(raw));
    });
    fc.assert(same, { numRuns: 500 });
  });
});

function never(): never {
  throw new Error("nothing waits");
}

const OF_TURN = { promptId: newPrompt("p1").promptId, turnId: noCredit("t1").turnId };

/** Dropped by folding, or not as real as these properties need them. */
const APART = new Set([
  "prompt_admitted",
  "mid_turn_message_injected",
  "turn_complete",
  "turn_error",
]);
