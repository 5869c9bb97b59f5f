import { describe, expect, it } from "vitest";
import type { Command } from "../core/session/command.ts";
import { ANYBODY, echo, type Hand, promptOf, Stage } from "./stage.fixture.ts";

/** A word in between, by this name. */
function steering({ live }: Hand, messageId: string, text: string): Command<"steer"> {
  const { start: _start, ...prompt } = promptOf(live, text);
  const by = { atMs: Date.now(), actor: ANYBODY };
  return {
    ...by,
    type: "steer",
    messageId,
    prompt,
    agentCanSteer: live.agent?.offer.canSteer ?? false,
  };
}

async function running(...flags: readonly string[]) {
  const stage = await Stage.open({ profiles: new Map([echo(...flags)]) });
  const hand = await stage.created();
  const promptId = await hand.prompt("ask", "say first");
  await hand.live.until(({ connection }) => connection.sessionState === "waiting");
  return { hand, promptId };
}

/** Lets the turn that asks go on. */
async function allow(hand: Hand) {
  const asked = hand.events.find((event) => event.type === "permission_request") ?? expect.fail();
  const [option] = asked.data.options;
  const outcome = { outcome: "selected", optionId: option?.optionId ?? "" } as const;
  await hand.say("vote", { requestId: asked.data.requestId, outcome });
}

describe("a word in between", () => {
  it("reaches the turn at work where the agent can take it, however often it is sent", async () => {
    const { hand, promptId } = await running("--steer");
    const word = steering(hand, "m1", "say in between");
    expect((await hand.live.submit(word)).refusal).toBeNull();
    expect((await hand.live.submit(word)).refusal).toBeNull();
    await allow(hand);
    expect(await hand.verdict(promptId)).toMatchObject({ data: { stopReason: "end_turn" } });
    expect(hand.text.split("in between")).toHaveLength(2);
    expect(hand.events.filter(({ type }) => type === "turn_complete")).toHaveLength(1);
  });

  it("P2: waits as a prompt of its own where the agent cannot", async () => {
    const { hand, promptId } = await running();
    const word = steering(hand, "m1", "say in between");
    expect((await hand.live.submit(word)).refusal).toBeNull();
    await allow(hand);
    await hand.verdict(promptId);
    await hand.verdict(word.prompt.promptId);
    expect(hand.text).toMatch(/first.*in between/s);
  });

  it("is refused when nothing is at work", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const { refusal } = await hand.live.submit(steering(hand, "m1", "say nothing"));
    expect(refusal).toMatchObject({ code: "no_turn_running" });
  });
});
