import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AgentUpdate, chunkText } from "../../core/agent-update.ts";
import { SECRET_HELD_MS } from "../../core/limits.ts";
import { outputDeltas, outputUpdate } from "../../core/terminal-output.ts";
import { SecretGuard } from "../../store/index.ts";
import { HeldText } from "./held-text.ts";

const SECRET = "key+of/ada 4711?tell";
const TOOL_CALL = { sessionUpdate: "tool_call", toolCallId: "t1", title: "Look" };

/** Text that is held, with a clock that stands still until it is told to go on. */
class Desk {
  readonly guard = new SecretGuard();
  readonly updates: AgentUpdate[] = [];
  readonly #timers = new Set<() => void>();
  redactions = 0;
  readonly held: HeldText;

  constructor(...secrets: readonly string[]) {
    for (const secret of secrets) this.guard.know(secret);
    const clock = {
      nowMs: () => 0,
      after: (ms: number, act: () => void) => {
        expect([SECRET_HELD_MS, 0]).toContain(ms);
        this.#timers.add(act);
        return () => void this.#timers.delete(act);
      },
    };
    this.held = new HeldText({
      world: { borders: this.guard, clock },
      send: (update) => {
        this.updates.push(update);
        return undefined;
      },
      redacted: () => {
        this.redactions += 1;
      },
    });
  }

  get timers(): number {
    return this.#timers.size;
  }

  wait() {
    for (const act of this.#timers) {
      this.#timers.delete(act);
      act();
    }
  }

  say(...texts: readonly string[]): this {
    for (const text of texts) void this.held.pass(chunk(text));
    return this;
  }

  /** As it is stored: each update by itself without the secrets that are whole in it. */
  get texts(): readonly string[] {
    return this.updates.map((update) => this.guard.redact(textOf(update)));
  }
}

function chunk(text: string, more: object = {}): AgentUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, ...more };
}

const EXIT = { exitCode: 0, signal: null };

/** A piece of what the command of `t1` writes. */
function output(data: string): AgentUpdate {
  return outputUpdate("t1", { terminalId: "term", data, exit: null });
}

function textOf(update: AgentUpdate): string {
  return chunkText(update) ?? outputDeltas(update)[0]?.data ?? `<${update.sessionUpdate}>`;
}

/** What the text is in each of these spellings, and what is left of it. */
const SPELLINGS: readonly (readonly [string, string, string])[] = [
  ["plain", SECRET, "[redacted]"],
  ["percent-encoded", encodeURIComponent(SECRET), "[redacted]"],
  ["in JSON", JSON.stringify(SECRET).slice(1, -1), "[redacted]"],
  ...["", "a", "ab"].map((before) => {
    const text = Buffer.from(before + SECRET)
      .toString("base64")
      .replace(/=+$/, "");
    const clean = new Desk(SECRET).guard.redact(text);
    return [`in base64 behind ${before.length} bytes`, text, clean] as const;
  }),
];

describe.each(SPELLINGS)("P11: a secret that is split over two chunks, %s", (_, text, clean) => {
  it("is never sent, at whichever position it is split", () => {
    expect(clean).toContain("[redacted]");
    for (let at = 1; at < text.length; at += 1) {
      const desk = new Desk(SECRET).say(`see: ${text.slice(0, at)}`, `${text.slice(at)}. Done.`);
      desk.held.release();
      expect(desk.texts.join("")).toBe(`see: ${clean}. Done.`);
      expect(desk.timers).toBe(0);
    }
  });

  it("is never sent character by character", () => {
    const desk = new Desk(SECRET).say(...`see: ${text}.`);
    desk.held.release();
    expect(desk.texts.join("")).toBe(`see: ${clean}.`);
  });

  it("is never sent in the output of a command", () => {
    for (let at = 1; at < text.length; at += 1) {
      const desk = new Desk(SECRET);
      const pieces = [`see: ${text.slice(0, at)}`, `${text.slice(at)}.`];
      for (const data of pieces) {
        void desk.held.pass(outputUpdate("t1", { terminalId: "term", data, exit: null }));
      }
      desk.held.release();
      expect(desk.texts.join("")).toBe(`see: ${clean}.`);
    }
  });
});

describe("text that may begin a secret", () => {
  it("P11: joined, has no secret and is otherwise unchanged, however it is cut", () => {
    const unit = fc.constantFrom(..."ke+/ y?");
    const texts = fc.array(fc.oneof(fc.string({ unit, maxLength: 9 }), fc.constant(SECRET)));
    const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
    const property = fc.property(texts, cuts, (parts, sizes) => {
      const whole = parts.join("");
      const desk = new Desk(SECRET);
      for (let at = 0, n = 0; at < whole.length; n += 1) {
        const size = sizes[n % sizes.length] ?? 1;
        desk.say(whole.slice(at, at + size));
        at += size;
      }
      desk.held.release();
      expect(desk.texts.join("")).toBe(desk.guard.redact(whole));
    });
    fc.assert(property, { numRuns: 1_000 });
  });

  it("P11: has none either in the pieces of a summary", () => {
    const desk = new Desk(SECRET);
    const piece = { sessionUpdate: "compaction_summary_chunk", compactionId: "c" };
    for (const text of [`is ${SECRET.slice(0, 5)}`, `${SECRET.slice(5)}.`]) {
      void desk.held.pass({ ...piece, content: { type: "text", text } });
    }
    desk.held.release();
    const texts = desk.updates.map((update) => desk.guard.redact(chunkText(update) ?? ""));
    expect(texts.join("")).toBe("is [redacted].");
    for (const update of desk.updates) expect(update).toMatchObject(piece);
  });

  it("P11: is held where a whole secret begins a longer one", () => {
    const desk = new Desk("abcdefgh", "abcdefghIJKL").say("x abcdefgh", "IJKL y");
    desk.held.release();
    expect(desk.texts.join("")).toBe("x [redacted] y");
  });

  it("is held until the next chunk, and then goes on as one text", () => {
    const desk = new Desk(SECRET).say("the key");
    expect(desk.texts).toEqual(["the "]);
    desk.say("board");
    expect(desk.texts).toEqual(["the ", "keyboard"]);
    expect(desk.timers).toBe(0);
  });

  it("is sent as it is after a while, and at the turn's end", () => {
    const desk = new Desk(SECRET).say("the key");
    desk.wait();
    expect(desk.texts).toEqual(["the ", "key"]);
    desk.say("a key+");
    desk.held.release();
    expect(desk.texts).toEqual(["the ", "key", "a ", "key+"]);
    expect(desk.redactions).toBe(0);
  });

  it("P11: if the rest of the secret follows later, that is redacted", () => {
    for (let at = 1; at < SECRET.length; at += 1) {
      const desk = new Desk(SECRET).say(`it is ${SECRET.slice(0, at)}`);
      desk.wait();
      desk.say(...`${SECRET.slice(at)}.`);
      expect(desk.texts.join("")).toBe(`it is ${SECRET.slice(0, at)}[redacted].`);
      expect(desk.redactions).toBe(1);
    }
  });

  it("P11: is redacted if something else comes and it has eight characters or more", () => {
    const desk = new Desk(SECRET).say(SECRET.slice(0, 12));
    void desk.held.pass(TOOL_CALL);
    desk.say(SECRET.slice(12));
    desk.held.release();
    expect(desk.texts).toEqual(["[redacted]", "<tool_call>", "[redacted]"]);
    expect(desk.redactions).toBe(2);
  });

  it("keeps its place before what else comes", () => {
    const desk = new Desk(SECRET).say("some ke");
    void desk.held.pass(TOOL_CALL);
    void desk.held.pass(chunk("hm, k", { sessionUpdate: "agent_thought_chunk" }));
    desk.say("y");
    desk.held.release();
    expect(desk.texts).toEqual(["some ", "ke", "<tool_call>", "hm, ", "k", "y"]);
    expect(desk.updates.map(({ sessionUpdate }) => sessionUpdate).slice(3)).toEqual([
      "agent_thought_chunk",
      "agent_thought_chunk",
      "agent_message_chunk",
    ]);
  });

  it.each([
    "plan",
    "usage_update",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
  ])("is not lost to a %s, which has no place in the conversation", (sessionUpdate) => {
    const desk = new Desk("sk-ant-api03-4711").say("keys look like sk-ant-api03-");
    void desk.held.pass({ sessionUpdate });
    desk.say("…");
    expect(desk.texts).toEqual(["keys look like ", `<${sessionUpdate}>`, "sk-ant-api03-…"]);
    expect(desk.redactions).toBe(0);
  });

  it.each([
    ["its exit", outputUpdate("t1", { terminalId: "term", data: "", exit: EXIT })],
    ["its success", { sessionUpdate: "tool_call_update", toolCallId: "t1", status: "completed" }],
    ["its failure", { sessionUpdate: "tool_call_update", toolCallId: "t1", status: "failed" }],
  ])("is sent as it is if a command ends with it, by %s", (_, end) => {
    const desk = new Desk("sk-ant-api03-4711");
    void desk.held.pass(output("keys look like sk-ant-api03-"));
    void desk.held.pass(end);
    expect(desk.texts).toEqual(["keys look like ", "sk-ant-api03-", "<tool_call_update>"]);
    expect([desk.redactions, desk.timers]).toEqual([0, 0]);
  });

  it("P11: is held on while its command goes on", () => {
    const desk = new Desk(SECRET);
    const progress = { sessionUpdate: "tool_call_update", toolCallId: "t1", status: "in_progress" };
    void desk.held.pass({ ...output(SECRET.slice(0, 12)), ...progress });
    void desk.held.pass(progress);
    void desk.held.pass(output(SECRET.slice(12)));
    desk.held.release();
    expect(desk.texts.filter((text) => text !== "<tool_call_update>")).toEqual(["", "[redacted]"]);
  });

  it("P11: of one command is not sent as it is by the end of another", () => {
    const desk = new Desk(SECRET);
    void desk.held.pass(output(SECRET.slice(0, 12)));
    void desk.held.pass({ ...TOOL_CALL, toolCallId: "t2", status: "completed" });
    expect(desk.texts).toEqual(["[redacted]", "<tool_call>"]);
  });

  it("leaves every other update as it is: the very same object", () => {
    const desk = new Desk(SECRET);
    const updates = [chunk("hello"), chunk(""), TOOL_CALL, chunk("x", { _meta: { a: 1 } })];
    for (const update of updates) void desk.held.pass(update);
    expect(desk.updates).toHaveLength(updates.length);
    for (const [at, update] of updates.entries()) expect(desk.updates[at]).toBe(update);
  });

  it("loses nothing that an update has beside its text", () => {
    const desk = new Desk(SECRET);
    void desk.held.pass(chunk("key", { messageId: "m1", _meta: { parentToolCallId: "p", n: 1 } }));
    desk.held.release();
    expect(desk.updates).toEqual([
      chunk("", { messageId: "m1", _meta: { parentToolCallId: "p", n: 1 } }),
      chunk("key", { messageId: "m1", _meta: { parentToolCallId: "p" } }),
    ]);
  });

  it("is not held where its command has ended", () => {
    const desk = new Desk(SECRET);
    void desk.held.pass(outputUpdate("t1", { terminalId: "term", data: "a key", exit: EXIT }));
    expect(desk.texts).toEqual(["a key"]);
    expect(desk.timers).toBe(0);
  });

  it("is dropped, and its timer ended, when the agent is not heard any more", () => {
    const desk = new Desk(SECRET).say("the key");
    desk.held.end();
    expect(desk.timers).toBe(0);
    desk.held.release();
    expect(desk.texts).toEqual(["the "]);
  });
});
