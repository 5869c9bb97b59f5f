import { describe, expect, it } from "vitest";
import { parseAskId, parseClientId } from "../core/id.ts";
import { CANCELLED } from "../core/policy/ask.ts";
import type { Actor } from "../core/session/command.ts";
import { ANYBODY, promptOf, Stage } from "./stage.fixture.ts";

const ASK = parseAskId("ask-of-nobody") ?? expect.fail();
const stranger: Actor = {
  kind: "client",
  clientId: parseClientId("stranger") ?? expect.fail(),
  userId: null,
  loopback: true,
};

describe("what a session is asked that makes no sense", () => {
  it("P10: more prompts than may wait are refused, however many come", async () => {
    const stage = await Stage.open();
    const { live } = await stage.created();
    await live.submit(promptOf(live, "hang"));
    const outcomes = await Promise.all(
      Array.from({ length: 10_000 }, () => live.submit(promptOf(live, "say never"))),
    );
    const taken = outcomes.filter(({ refusal }) => refusal === null);
    expect(taken).toHaveLength(4);
    expect(outcomes.at(-1)?.refusal?.code).toBe("prompt_queue_full");
  });

  it("a prompt of ten megabytes is a prompt", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const promptId = await hand.prompt("say got it", `# ${"x".repeat(10_000_000)}`);
    expect(await hand.verdict(promptId)).toMatchObject({ type: "turn_complete" });
    expect(hand.text).toBe("got it");
  });

  it("an empty prompt, and one whose time is over, are refused", async () => {
    const stage = await Stage.open();
    const { live } = await stage.created();
    const code = async (change: object) =>
      (await live.submit({ ...promptOf(live, "x"), ...change })).refusal?.code;
    expect(await code({ content: [] })).toBe("invalid_prompt");
    expect(await code({ deadlineAtMs: 0 })).toBe("invalid_deadline_ms");
  });

  it("votes for what nobody asked, and words of unknown clients, are refused", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const vote = { requestId: ASK, outcome: CANCELLED };
    expect((await hand.say("vote", vote)).refusal?.code).toBe("ask_not_found");
    const prompt = { ...promptOf(hand.live, "say no"), actor: stranger };
    expect((await hand.live.submit(prompt)).refusal?.code).toBe("invalid_client_id");
  });

  it("two clients that cancel at once cancel once", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const promptId = await hand.prompt("say at work", "hang");
    await stage.until(() => hand.text === "at work");
    await Promise.all([hand.say("cancel", {}), hand.say("cancel", {})]);
    expect(await hand.verdict(promptId)).toMatchObject({ data: { stopReason: "cancelled" } });
    const cancels = hand.events.filter(({ type }) => type === "prompt_cancelled");
    expect(cancels).toHaveLength(1);
  });

  it("P4: an agent's word out of turn changes nothing", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const { activation } = hand.live.session;
    const agent: Actor = { kind: "agent", activation };
    const turnId = stage.world.ids.turn();
    const report = { status: "turn_complete", turnId, stopReason: "end_turn" } as const;
    const { refusal } = await hand.say("agent_status", report, agent);
    expect(refusal?.code).toMatch(/turn_not_open|agent_out_of_turn/);
    expect(hand.status).toBe("ready");
    expect((await hand.say("cancel", {}, ANYBODY)).refusal).toBeNull();
  });
});
