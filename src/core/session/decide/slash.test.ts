import { describe, expect, it } from "vitest";
import type { CommandEffect } from "../command.ts";
import {
  client,
  dataOf,
  Life,
  newPrompt,
  noCredit,
  promptId,
  steps,
  types,
  verdictOn,
} from "../life.fixture.ts";

const result = { status: "ok", code: "done", message: "Done." } as const;
const slash = (text: string) => ({ content: [{ type: "text", text }] });

/** A session in which `/x` is next, with what it comes to. */
function answered(life: Life, effect: CommandEffect) {
  life.prompt("p1", slash("/x"));
  return life.give("command_result", { promptId: promptId("p1"), result, effect });
}

describe("a prompt that begins with a slash", () => {
  it("is no turn yet, even where it could begin at once", () => {
    const life = new Life().ready();
    const prompt = { ...newPrompt("p1", slash("/skills")), start: noCredit("t1") };
    expect(types(life.give("prompt", prompt, client(null)))).toEqual(["prompt_admitted"]);
    expect(life.state).toBe("ready");
  });

  it("is a turn like any other with a space before it", () => {
    const life = new Life().ready();
    const prompt = { ...newPrompt("p1", slash(" /skills")), start: noCredit("t1") };
    life.give("prompt", prompt, client(null));
    expect(life.state).toBe("running");
  });

  it("never reaches the model by the way, but waits for its turn", () => {
    const life = new Life().running();
    const prompt = newPrompt("p2", slash("/skills"));
    const steered = life.give("steer", { messageId: "m1", prompt, agentCanSteer: true });
    expect(types(steered)).toEqual(["prompt_admitted", "pending_prompt_added"]);
  });
});

describe("what a command does to its session", () => {
  const loaded = { hash: "abc", difference: "+ deploy" };

  it.each([
    ["reload_skills", "skills_reloaded", "skills"],
    ["reload_persona", "persona_reloaded", "persona"],
  ] as const)("%s changes one field, in one commit with its answer", (type, told, field) => {
    const life = new Life().ready();
    const before = life.now.chosen;
    const decision = answered(life, { type, ...loaded });
    const answer = ["command_result", "session_update", "turn_complete"];
    expect(types(decision)).toEqual(["session_update", told, ...answer]);
    const to = { version: 2, hash: "abc" };
    expect(dataOf(decision.events, told)).toMatchObject([{ from: before[field], to }]);
    expect(life.now.chosen).toEqual({ ...before, [field]: to });
    expect(steps(decision.events)).toEqual([]);
  });

  it("P7: another agent takes over, and the old one leaves first", () => {
    const life = new Life().ready();
    const before = life.now.chosen;
    answered(life, { type: "change_agent", to: "chat" });
    expect(life.now.chosen).toEqual({ ...before, activeAgent: "chat" });
    expect(life.state).toBe("deactivating");
  });

  it("is refused whole while the agent is just coming", () => {
    const life = new Life().activating();
    const decision = answered(life, { type: "change_agent", to: "chat" });
    expect(verdictOn(decision)).toBe("session_not_ready");
    expect(decision.events).toEqual([]);
    expect(life.now.queue).toHaveLength(1);
  });

  it("P2: a close answers its own prompt first, and then all that wait behind it", () => {
    const life = new Life().ready();
    life.prompt("p1", slash("/save-and-close"));
    life.prompt("p2");
    const effect = { type: "close" } as const;
    const { events } = life.give("command_result", { promptId: promptId("p1"), result, effect });
    const verdicts = events.filter(({ type }) => /^turn_(complete|error)$/.test(type));
    expect(verdicts.map(({ data }) => "promptId" in data && data.promptId)).toEqual(["p1", "p2"]);
    expect(dataOf(events, "turn_error")).toMatchObject([{ code: "session_closed" }]);
    expect(steps(events)).toEqual(["ready > deactivating"]);
  });

  it("P2: closes a session without an agent at once", () => {
    const life = new Life().created();
    answered(life, { type: "close" });
    expect(life.now.closed).toBe(true);
  });
});
