import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TOOLS_COUNTED_MAX } from "../../core/limits.ts";
import { NO_TOKENS } from "../../core/price.ts";
import { compactSegment, type LogEvent } from "../../core/replay/compact.ts";
import { anything, commandFor } from "../../core/session/anything.fixture.ts";
import {
  AGENT,
  askId,
  client,
  Life,
  newAsk,
  promptId,
  turnId,
} from "../../core/session/life.fixture.ts";
import { EMPTY_TALLY, readTally, type Tally, tallyText, withEvents } from "./tally.ts";

const logOf = ({ log }: Life): readonly LogEvent[] =>
  log.map((event, index) => ({ ...event, id: index + 1 }));

const tallyOf = (life: Life) => withEvents(EMPTY_TALLY, logOf(life));

const heard = (life: Life, update: { sessionUpdate: string; [field: string]: unknown }) =>
  life.give("agent_update", { update }, AGENT);

const call = (life: Life, toolCallId: string, more: object = {}) =>
  heard(life, { sessionUpdate: "tool_call", toolCallId, kind: "edit", ...more });

const ended = (life: Life, toolCallId: string, status: string, more: object = {}) =>
  heard(life, { sessionUpdate: "tool_call_update", toolCallId, status, ...more });

describe("the tally of tool calls", () => {
  it("counts them by name, with how they ended and how long they took", () => {
    const life = new Life().running();
    call(life, "a");
    life.nowMs += 100;
    ended(life, "a", "completed");
    call(life, "b");
    ended(life, "b", "failed");
    call(life, "c", { _meta: { toolName: "write_file" } });
    call(life, "d", { kind: undefined, _meta: { claudeCode: { toolName: "Bash" } } });
    call(life, "e", { kind: null });
    const { tools } = tallyOf(life);
    expect([...tools.keys()]).toEqual(["edit", "write_file", "Bash", "other"]);
    expect(tools.get("edit")).toMatchObject({ count: 2, success: 1, fail: 1, durationMs: 102 });
    expect(tools.get("Bash")).toMatchObject({ count: 1, success: 0, fail: 0, durationMs: 0 });
  });

  it("counts the lines of edits that were made, as they were last shown", () => {
    const life = new Life().running();
    const diff = (newText: string) => [{ type: "diff", path: "/a", oldText: "1\n2\n", newText }];
    call(life, "a", { content: diff("nothing yet") });
    ended(life, "a", "completed", { content: diff("1\n3\n4\n") });
    call(life, "b");
    ended(life, "b", "failed", { content: diff("lost") });
    expect(tallyOf(life)).toMatchObject({ linesAdded: 2, linesRemoved: 1 });
  });

  it("counts what people and gates decided", () => {
    const asked = (id: string) => ({ toolCall: { toolCallId: id, kind: "edit" } });
    const life = new Life().running();
    for (const id of ["a", "b", "c", "d", "e"])
      life.give("ask", newAsk(`ask-${id}`, asked(id)), AGENT);
    const vote = (id: string, optionId: string) => {
      const outcome = { outcome: "selected", optionId } as const;
      life.give("vote", { requestId: askId(`ask-${id}`), outcome }, client(null));
    };
    vote("a", "yes");
    vote("b", "no");
    const deadline = { of: "ask", requestId: askId("ask-c") } as const;
    life.give("deadline_passed", { deadline });
    // What an agent takes back was not decided, nor what the end of its turn cancels.
    life.give("ask_withdrawn", { requestId: askId("ask-d"), reason: "withdrawn" }, AGENT);
    life.complete("t1");
    expect(tallyOf(life).tools.get("edit")).toMatchObject({ accept: 1, reject: 2, autoAccept: 0 });
    const eager = new Life().running({ approvalMode: "auto-edit" });
    eager.give("ask", newAsk("a1", asked("a")), AGENT);
    expect(tallyOf(eager).tools.get("edit")).toMatchObject({ count: 1, autoAccept: 1 });
    ended(eager, "a", "failed");
    expect(tallyOf(eager).tools.get("edit")).toMatchObject({ reject: 1, autoAccept: 0 });
  });

  it("does not count what an agent does between turns", () => {
    const life = new Life().ready();
    call(life, "a");
    expect(tallyOf(life).tools.size).toBe(0);
  });

  it("P10: counts tools beyond its limit together", () => {
    const life = new Life().running();
    for (let n = 0; n < TOOLS_COUNTED_MAX + 3; n += 1) call(life, `c${n}`, { kind: `kind ${n}` });
    const { tools } = tallyOf(life);
    expect(tools.size).toBe(TOOLS_COUNTED_MAX + 1);
    expect(tools.get("other")?.count).toBe(3);
  });
});

describe("the tally of turns", () => {
  const usage = (life: Life, model: string, used: number, size: number | null = null) =>
    life.give(
      "usage",
      { turnId: turnId("t1"), usage: { model, used, size, tokens: NO_TOKENS } },
      AGENT,
    );

  it("counts them by model, with how long they took, and remembers the context", () => {
    const life = new Life().running();
    usage(life, "large", 10, 100);
    life.nowMs += 1_000;
    life.complete("t1");
    life.prompt("p2");
    life.begin("p2", "t2");
    life.give("agent_exit", { exitCode: 1, signalCode: null, message: "" }, AGENT);
    const { models, context } = tallyOf(life);
    expect([...models]).toEqual([["large", { turns: 2, errors: 1, durationMs: 1_003 }]]);
    expect(context).toEqual({ model: "large", used: 10, size: 100 });
  });

  it("takes what an agent leaves out as it was, and hears it between turns too", () => {
    const life = new Life().running();
    usage(life, "large", 10, 100);
    life.complete("t1");
    heard(life, { sessionUpdate: "usage_update", used: 3, size: -1 });
    expect(tallyOf(life).context).toEqual({ model: "large", used: 3, size: 100 });
  });

  it("does not count what never ran", () => {
    const life = new Life().created();
    life.prompt("p1");
    life.give("remove_prompt", { promptId: promptId("p1") }, client(null));
    expect(tallyOf(life)).toEqual(EMPTY_TALLY);
  });
});

describe("a tally", () => {
  const inEveryLife = (look: (life: Life) => void) => {
    const live = fc.property(anything, (intents) => {
      const life = new Life().created();
      for (const [step, intent] of intents.entries()) {
        life.submit(commandFor(life, intent, step + 2));
      }
      look(life);
    });
    fc.assert(live, { numRuns: 300 });
  };

  it("is read as it was written", () => {
    inEveryLife((life) => {
      const tally = tallyOf(life);
      expect(readTally(tallyText(tally))).toEqual(tally);
    });
  });

  it("of folded events counts the same calls, only without their durations", () => {
    const counts = ({ tools, linesAdded }: Tally) => ({
      linesAdded,
      tools: [...tools].map(([name, { count, success, fail }]) => ({ name, count, success, fail })),
    });
    const ofTurn = (life: Life) => {
      call(life, "a");
      ended(life, "a", "completed");
      call(life, "b", { kind: "read" });
      ended(life, "b", "failed");
      return logOf(life);
    };
    const log = ofTurn(new Life().running());
    expect(counts(withEvents(EMPTY_TALLY, compactSegment(log)))).toEqual(
      counts(withEvents(EMPTY_TALLY, log)),
    );
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "1"],
    ["without figures", '{"tools":[],"models":[]}'],
    ["with a figure that is none", '{"tools":[],"models":[],"linesAdded":-1,"linesRemoved":0}'],
    [
      "with a tool that is none",
      '{"tools":[["x",{}]],"models":[],"linesAdded":0,"linesRemoved":0}',
    ],
    ["without its tools", '{"models":[],"linesAdded":0,"linesRemoved":0}'],
  ])("P6: is not believed if it is %s", (_what, text) => {
    expect(readTally(text)).toBeNull();
  });
});
