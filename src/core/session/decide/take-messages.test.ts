import { describe, expect, it } from "vitest";
import { STEERED_MESSAGES_MAX } from "../../limits.ts";
import {
  AGENT,
  client,
  dataOf,
  Life,
  newPrompt,
  promptId,
  SERVER,
  turnId,
  types,
  userId,
  verdictOn,
} from "../life.fixture.ts";
import { messagesToTake, pendingCount } from "../state.ts";

/** A turn of `p1`, into which these messages were sent; its agent cannot be steered. */
function turnWith(...ids: readonly string[]): Life {
  const life = new Life().running();
  for (const id of ids) say(life, id);
  return life;
}

function say(life: Life, id: string, by = client(null)) {
  const prompt = newPrompt(`p-${id}`);
  return life.give("steer", { messageId: id, prompt, agentCanSteer: false }, by);
}

function take(life: Life, ...ids: readonly string[]) {
  const promptIds = ids.map((id) => promptId(`p-${id}`));
  return life.give("take_messages", { promptIds }, AGENT);
}

const idsToTake = (life: Life) => messagesToTake(life.now).map(({ messageId }) => messageId);

describe("an agent that fetches messages", () => {
  it("has those that wait, in their order, and each of them once", () => {
    const life = turnWith("m1", "m2");
    expect(idsToTake(life)).toEqual(["m1", "m2"]);
    const taken = take(life, "m1", "m2");
    const said = dataOf(taken.events, "mid_turn_message_injected");
    expect(said.map(({ messageIds, takenPromptId }) => [...messageIds, takenPromptId])).toEqual([
      ["m1", "p-m1"],
      ["m2", "p-m2"],
    ]);
    expect(types(taken).filter((type) => type === "pending_prompt_completed")).toHaveLength(2);
    expect([idsToTake(life), life.now.queue]).toEqual([[], []]);
    expect(verdictOn(take(life, "m1"))).toBe("prompt_not_found");
    // They have no verdict yet, so nothing else can have their ids.
    expect(pendingCount(life.now)).toBe(3);
    expect(verdictOn(life.prompt("p-m1"))).toBe("prompt_id_conflict");
  });

  it("has all that it asked for, or nothing", () => {
    const life = turnWith("m1");
    const asked = take(life, "m1", "m9");
    expect([verdictOn(asked), asked.events]).toEqual(["prompt_not_found", []]);
    expect(idsToTake(life)).toEqual(["m1"]);
  });

  it("P2: leaves no message without a verdict, however the turn ends", () => {
    const ends = {
      turn_complete: (life: Life) =>
        life.give(
          "agent_status",
          { status: "turn_complete", turnId: turnId("t1"), stopReason: "end_turn" },
          AGENT,
        ),
      turn_error: (life: Life) => life.give("recovery", {}, SERVER),
    } as const;
    for (const [type, end] of Object.entries(ends)) {
      const life = turnWith("m1", "m2");
      take(life, "m1");
      end(life);
      const verdicts = life.log.filter((event) => event.type === type);
      expect(verdicts.map((event) => event.promptId)).toEqual(["p1", "p-m1"]);
      expect(life.now.queue.map((prompt) => prompt.promptId)).toEqual(["p-m2"]);
    }
  });

  it("P8: has no words of a user who does not speak in the turn", () => {
    const life = turnWith("m1");
    const bob = { kind: "client", clientId: null, userId: userId("bob"), loopback: true } as const;
    say(life, "m2", bob);
    expect(idsToTake(life)).toEqual(["m1"]);
    expect(verdictOn(take(life, "m2"))).toBe("prompt_not_found");
  });

  it("has nothing in a turn that is being stopped, or out of turn", () => {
    const stopping = turnWith("m1");
    stopping.give("cancel", {});
    expect(idsToTake(stopping)).toEqual([]);
    expect(verdictOn(take(new Life().ready(), "m1"))).toBe("turn_not_open");
  });

  it("P10: has so many in one turn", () => {
    const life = new Life().running();
    for (let n = 0; n < STEERED_MESSAGES_MAX; n += 1) say(life, `m${n}`);
    take(life, ...idsToTake(life));
    say(life, "late");
    expect(idsToTake(life)).toEqual([]);
    expect(verdictOn(take(life, "late"))).toBe("prompt_not_found");
  });
});
