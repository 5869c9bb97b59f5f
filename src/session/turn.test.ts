import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { profileOf } from "../agent/profile/profile.ts";
import { CANCELLED } from "../core/policy/ask.ts";
import { SecretGuard } from "../store/index.ts";
import { echo, type Hand, SERVER, Stage, value } from "./stage.fixture.ts";

const ODD_AGENT = fileURLToPath(new URL("../agent/bridge/odd-agent.fixture.ts", import.meta.url));

/** How the asks of a session ended. */
function endsOf({ events }: Hand) {
  return events.flatMap((event) => (event.type === "permission_resolved" ? [event.data] : []));
}

describe("a turn", () => {
  it("P1, P2: is told as it is stored, numbered without gaps, and has one verdict", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const verdict = await hand.turn("say Hello", "say , world");
    expect(verdict).toMatchObject({ type: "turn_complete", data: { stopReason: "end_turn" } });
    expect(hand.text).toBe("Hello, world");
    expect(hand.status).toBe("ready");
    const page = value(
      await stage.world.store.readEvents(hand.live.key, { after: 0, limit: 1_000 }),
    );
    const stored = page.events.map(({ text }) => JSON.parse(text));
    expect(hand.events.map(({ id }) => id)).toEqual(hand.events.map((_, index) => index + 4));
    expect(stored.slice(-hand.events.length)).toEqual(hand.events);
  });

  it("ends in one commit: messages, snapshot and verdict are there together", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    await hand.turn("say one");
    const { store } = stage.world;
    const record = value(await store.readRecord(hand.live.key));
    expect(record).toMatchObject({ revision: 1, turnCount: 1, status: "ready" });
    const messages = value(await store.readMessages(hand.live.key, { after: 0, limit: 10 }));
    expect(messages.rows.map(({ text }) => JSON.parse(text).role)).toEqual(["user", "assistant"]);
  });
});

describe("prompts", () => {
  it("P2: wait their turn, in the order in which they came", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const first = await hand.prompt("say 1", "hang");
    const others = [await hand.prompt("say 2"), await hand.prompt("say 3")];
    await stage.until(() => hand.text === "1");
    await hand.say("cancel", {});
    for (const promptId of [first, ...others]) await hand.verdict(promptId);
    expect(hand.text).toBe("123");
  });

  it("wake a session whose agent is gone", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    await stage.registry.evict(hand.live, "idle_timeout");
    const again = await stage.opened(hand.sessionId);
    expect(again.status).toBe("inactive");
    expect(await again.turn("say awake")).toMatchObject({ type: "turn_complete" });
    expect(again.text).toBe("awake");
  });

  it("with a deadline are stopped when it has passed", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const promptId = await hand.prompt("hang");
    await hand.say("deadline_passed", { deadline: { of: "prompt", promptId } }, SERVER);
    expect(await hand.verdict(promptId)).toMatchObject({
      type: "turn_error",
      data: { code: "prompt_deadline_exceeded" },
    });
    expect(hand.status).toBe("ready");
  });
});

describe("cancelling", () => {
  it("lets the agent settle, and keeps what it said", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const promptId = await hand.prompt("say half", "hang");
    await stage.until(() => hand.text === "half");
    await hand.say("cancel", {});
    expect(await hand.verdict(promptId)).toMatchObject({ data: { stopReason: "cancelled" } });
    const { messageCount } = value(await stage.world.store.readRecord(hand.live.key));
    expect(messageCount).toBe(2);
  });

  it("P5: ends an agent that does not stop, and the next prompt gets a fresh one", async () => {
    const stage = await Stage.open({ settings: { settleMs: 50 } });
    const hand = await stage.created();
    const promptId = await hand.prompt("say deaf", "ignore-cancel", "hang");
    await stage.until(() => hand.text === "deaf");
    await hand.say("cancel", {});
    expect(await hand.verdict(promptId)).toMatchObject({ data: { code: "cancel_ignored" } });
    expect(await hand.turn("say fresh")).toMatchObject({ type: "turn_complete" });
    expect(hand.text).toBe("deaffresh");
  });
});

describe("asks", () => {
  it("wait for people, and their vote reaches the agent", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const promptId = await hand.prompt("ask kind=execute command=ls");
    await stage.until(() => hand.events.some(({ type }) => type === "permission_request"));
    expect(hand.status).toBe("waiting");
    const asked = hand.events.find(({ type }) => type === "permission_request");
    if (asked?.type !== "permission_request") expect.fail();
    const { requestId, options } = asked.data;
    const optionId = options[0]?.optionId ?? "";
    const outcome = { outcome: "selected", optionId } as const;
    expect((await hand.say("vote", { requestId, outcome })).refusal).toBeNull();
    await hand.verdict(promptId);
    expect(hand.text).toContain(`selected ${optionId}`);
  });

  it("that nobody answers in time are refused, and the agent goes on", async () => {
    const stage = await Stage.open({ settings: { askMs: 20 } });
    const hand = await stage.created();
    await hand.turn("ask kind=execute options=allow_once,reject_once", "say after");
    expect(hand.text).toMatch(/selected reject_once.*after/s);
    expect(endsOf(hand)).toMatchObject([{ reason: "timeout" }]);
  });

  it("that their agent takes back are cancelled, and it goes on", async () => {
    const command = { command: process.execPath, args: [ODD_AGENT, "takes-back"] };
    const odd = profileOf({ name: "echo", ...command });
    const stage = await Stage.open({ profiles: new Map([["echo", odd]]) });
    const hand = await stage.created();
    const promptId = await hand.prompt("go");
    await hand.asked();
    writeFileSync(join(stage.folder, "take-back"), "");
    expect(await hand.verdict(promptId)).toMatchObject({ data: { stopReason: "end_turn" } });
    expect(endsOf(hand)).toMatchObject([{ outcome: CANCELLED, reason: "withdrawn" }]);
    expect(hand.text).toBe("went on");
  });

  it("P5: of an agent that dies are cancelled because it is gone, in log and audit", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const promptId = await hand.prompt("say before", "ask");
    const { requestId } = await hand.asked();
    await hand.live.agent?.kill();
    expect(await hand.verdict(promptId)).toMatchObject({ data: { code: "channel_closed" } });
    expect(endsOf(hand)).toMatchObject([{ requestId, outcome: CANCELLED, reason: "agent_gone" }]);
    expect(hand.events.map(({ type }) => type)).not.toContain("permission_decided");
    const told = hand.events.filter(({ type }) => type === "prompt_cancelled");
    expect(told).toMatchObject([{ promptId, data: { reason: "forward_failed" } }]);
    const { tenantId } = hand.live.key;
    const query = { journal: "audit", after: 0, limit: 100 } as const;
    const { rows } = value(await stage.world.store.readJournal(tenantId, query));
    const audited = rows.map(({ text }) => JSON.parse(text));
    expect(audited.filter(({ act }) => act === "permission_resolved")).toMatchObject([
      { details: { requestId, reason: "agent_gone" } },
    ]);
  });
});

describe("an agent that dies", () => {
  it("P2, P5: gives its turn a verdict, and the queue goes on with another agent", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const first = await hand.prompt("say before", "ask", "crash 3");
    const second = await hand.prompt("say after");
    expect((await hand.agree()).refusal).toBeNull();
    expect(await hand.verdict(first)).toMatchObject({
      data: { code: "channel_closed", partialOutput: true },
    });
    expect(await hand.verdict(second)).toMatchObject({ type: "turn_complete" });
    expect(hand.events.map(({ type }) => type)).toContain("session_died");
    expect(hand.text).toMatch(/^before.*after$/s);
  });

  it("P2: that cannot be started at all gives waiting prompts their verdict", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    await stage.registry.evict(hand.live, "idle_timeout");
    const broken = await Stage.open({
      folder: stage.folder,
      profiles: new Map([echo("--exit-at-start", "1")]),
    });
    const again = await broken.opened(hand.sessionId);
    const verdict = await again.turn("say never");
    expect(verdict).toMatchObject({ type: "turn_error", data: { code: "agent_unavailable" } });
  });
});

describe("secrets", () => {
  it("P11: are stored and sent nowhere, and it is said that one was there", async () => {
    const guard = new SecretGuard();
    guard.know("sk-very-secret-value");
    const stage = await Stage.open({ guard });
    const hand = await stage.created();
    await hand.turn("say the key is sk-very-secret-value");
    await stage.until(() => hand.events.some(({ type }) => type === "secret_redacted"));
    const { store } = stage.world;
    const page = value(await store.readEvents(hand.live.key, { after: 0, limit: 1_000 }));
    expect(JSON.stringify(page)).not.toContain("sk-very");
    expect(JSON.stringify(hand.events)).not.toContain("sk-very");
    expect(hand.text).toContain("[redacted]");
  });
});
