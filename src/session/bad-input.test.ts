import { describe, expect, it } from "vitest";
import { HeldStart } from "../agent/builtin/echo/held-start.fixture.ts";
import { parseAskId, parseClientId } from "../core/id.ts";
import { CANCELLED } from "../core/policy/ask.ts";
import type { Actor } from "../core/session/command.ts";
import type { Session } from "../core/session/state.ts";
import { ada, bob, NEVER, named, turn, withSession } from "./runtime.fixture.ts";
import { ANYBODY, echo, promptOf, SERVER, Stage, value } from "./stage.fixture.ts";

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

  it("P4: an agent that asks after its turn has ended is refused, and nobody asked", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    await hand.turn("say done");
    const { activation } = hand.live.session;
    const ask = {
      requestId: ASK,
      kind: "permission",
      toolCall: { toolCallId: "late" },
      known: {},
      options: [{ optionId: "yes", kind: "allow_once" }],
      policy: "first-responder",
      quorum: null,
      present: [],
      deadlineAtMs: null,
      workflow: null,
    } as const;
    const { refusal } = await hand.say("ask", ask, { kind: "agent", activation });
    expect(refusal?.code).toBe("agent_out_of_turn");
    expect(hand.status).toBe("ready");
    expect(hand.events.map(({ type }) => type)).not.toContain("permission_request");
  });
});

describe("P2: a prompt that comes", () => {
  it("while the agent starts waits for it", async () => {
    const profiles = new Map([echo()]);
    const stage = await Stage.open({ profiles });
    const hand = await stage.created();
    const held = new HeldStart();
    profiles.set(...echo(...held.flags));
    await stage.registry.evict(hand.live, "evicted");
    const again = await stage.opened(hand.sessionId);
    void again.say("activate", {}, SERVER);
    const promptId = await again.prompt("say early");
    expect(again.status).toBe("activating");
    held.begin();
    expect(await again.verdict(promptId)).toMatchObject({ type: "turn_complete" });
    expect(again.text).toContain("early");
  });

  it("while the agent is taken down gets the next one", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    void hand.say("stop", { reason: "idle_timeout" }, SERVER);
    expect(await hand.turn("say between")).toMatchObject({ type: "turn_complete" });
  });

  it("after the agent has died brings another one", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    expect(await hand.turn("crash")).toMatchObject({ data: { code: "channel_closed" } });
    expect(await hand.turn("say back again")).toMatchObject({ type: "turn_complete" });
  });
});

describe("a client", () => {
  it("that detaches twice, or was never there, changes nothing by it", async () => {
    const { runtime, key, live } = await withSession(await Stage.open());
    value(await runtime.attach(key, bob));
    for (let times = 0; times < 2; times += 1) value(await runtime.detach(key, bob.clientId, bob));
    value(await runtime.detach(key, named("nobody").clientId, named("nobody")));
    expect([...live.session.clients.keys()]).toEqual([ada.clientId]);
    await runtime.shutDown(NEVER);
  });

  it("P5: that closes a session while another brings it back leaves nothing halfway", async () => {
    const profiles = new Map([echo()]);
    const stage = await Stage.open({ profiles });
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "say hello");
    value(await runtime.close(key, ada));
    const held = new HeldStart();
    profiles.set(...echo(...held.flags));
    const resuming = runtime.resume(key, bob);
    const closed = await runtime.close(key, ada);
    held.begin();
    const codes = [await resuming, closed].map((one) => (one.ok ? "ok" : one.refusal.code));
    expect(codes).toContain("ok");
    const found = await runtime.find(key);
    if (found.ok) await found.value.until(isAtRest);
    value(await runtime.resume(key, bob));
    await runtime.shutDown(NEVER);
  });
});

/** Neither on its way up nor on its way down. */
function isAtRest({ connection }: Session): boolean {
  return !["activating", "deactivating"].includes(connection.sessionState);
}
