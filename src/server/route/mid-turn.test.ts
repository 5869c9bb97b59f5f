import { describe, expect, it } from "vitest";
import { objectAt, stringAt } from "../../core/json.ts";
import { STEERED_MESSAGES_MAX } from "../../core/limits.ts";
import { echo } from "../../session/stage.fixture.ts";
import { STRANGER } from "../daemon.fixture.ts";
import type { StreamClient } from "../http/stream-client.fixture.ts";
import { heard, openWork, Work } from "./work.fixture.ts";

/** A turn that waits for an answer, at an agent that takes words in between, or does not. */
async function atWork(how: string | { readonly script?: string } = {}) {
  const flags = typeof how === "string" ? [how] : [];
  const { script = "ask\nsay first" } = typeof how === "string" ? {} : how;
  const world = await openWork({ stage: { profiles: new Map([echo(...flags)]) } });
  const work = await Work.made(world, "ada");
  const stream = await work.stream();
  const promptId = await work.admitted(script);
  const { requestId } = (await heard(stream, "permission_request")).data.data;
  const goOn = () => {
    const body = { outcome: { outcome: "selected", optionId: "allow_once" } };
    return work.call("POST", `/permission/${requestId}`, { body });
  };
  const send = (body: object) => work.call("POST", "/mid-turn-message", { body, clientId: "ada" });
  const list = async () => (await work.call("GET", "/mid-turn-messages")).body;
  return { work, stream, promptId, goOn, send, list };
}

describe("a message to an agent that takes words in between", () => {
  it("reaches the turn at work, and is known as settled then and later", async () => {
    const { work, stream, promptId, goOn, send, list } = await atWork("--steer");
    const answer = await send({ message: "say between", messageId: "m1" });
    expect([answer.status, answer.body]).toEqual([200, { accepted: true, messageId: "m1" }]);
    const injected = await heard(stream, "mid_turn_message_injected");
    expect(injected.data.data).toMatchObject({
      messages: ["say between"],
      messageIds: ["m1"],
      items: [{ messageId: "m1" }],
    });
    const settled = { messages: [], settledMessageIds: ["m1"], promotedMessageIds: [] };
    expect(await list()).toEqual(settled);
    expect((await send({ message: "say between", messageId: "m1" })).body.accepted).toBe(true);
    await goOn();
    await heard(stream, "turn_complete", promptId);
    expect(await list()).toEqual(settled);
    // What the agent has been given cannot be taken back, and is not to be sent again.
    const removed = await work.call("DELETE", "/mid-turn-messages/m1");
    expect(removed.body).toEqual({ removed: false });
    const repeat = await send({ message: "say between", messageId: "m1" });
    expect(repeat.body).toEqual({ accepted: true, messageId: "m1" });
    const said = stream.frames.map(({ data }) => JSON.stringify(data.data));
    expect(said.filter((text) => text.includes('"text":"between"'))).toHaveLength(1);
  });

  it("P10: is one of so many in a turn", async () => {
    const { send } = await atWork("--steer");
    for (let sent = 0; sent < STEERED_MESSAGES_MAX; sent += 1) {
      expect((await send({ message: `say ${sent}` })).body.accepted).toBe(true);
    }
    const refused = { accepted: false, reason: "queue_full" };
    expect((await send({ message: "say one more" })).body).toEqual(refused);
  });
});

/** How Qwen Code fetches what was said into its turn. */
const FETCH = "call craft/drainMidTurnQueue {}";
const MAY_GO_ON = "call craft/claimTodoStopGuardContinuation {}";

/** All that the agent said so far. */
function textOf(stream: StreamClient): string {
  const updates = stream.frames.map(({ data }) => objectAt(data.data, "update") ?? {});
  const said = updates.filter((update) => update.sessionUpdate === "agent_message_chunk");
  return said.map((update) => stringAt(objectAt(update, "content") ?? {}, "text") ?? "").join("");
}

describe("a message to an agent that fetches", () => {
  it("P2: is fetched once, in its order, and has its verdict with the turn", async () => {
    const script = ["ask", FETCH, MAY_GO_ON, FETCH, "say over"].join("\n");
    const { work, stream, promptId, goOn, send, list } = await atWork({ script });
    const ids = ["3f8a1c9e-0000-4000-8000-0123456789ab", "m2"];
    await send({ message: "use tabs", messageId: ids[0] });
    await send({ message: "and be quick", messageId: ids[1] });
    await goOn();
    const verdict = await heard(stream, "turn_complete", promptId);
    const own = await heard(stream, "turn_complete", ids[0]);
    expect(Number(own.id)).toBeGreaterThan(Number(verdict.id));
    const said = textOf(stream);
    const fetched = { messages: ["use tabs", "and be quick"], hasQueuedPrompt: false };
    const answers = [...said.matchAll(/drainMidTurnQueue: (.*)\n/g)].map(([, text]) => text);
    expect(answers.map((text) => JSON.parse(text ?? ""))).toMatchObject([
      { ...fetched, items: ids.map((messageId) => ({ messageId })) },
      { messages: [], items: [], hasQueuedPrompt: false },
    ]);
    expect(said).toContain('{"claimed":true,"hasQueuedPrompt":false}');
    expect(await list()).toEqual({
      messages: [],
      settledMessageIds: ids,
      promotedMessageIds: [],
    });
    const verdicts = stream.frames.filter(({ data }) => data.type === "turn_complete");
    expect(verdicts).toHaveLength(3);
    const turn = await work.call("GET", `/turns/${ids[0]}`);
    expect(turn.body).toMatchObject({ state: "completed", stopReason: "end_turn" });
  });

  it("waits as before if it is a command, and the agent hears that something waits", async () => {
    const script = ["ask", FETCH, MAY_GO_ON].join("\n");
    const { stream, promptId, goOn, send } = await atWork({ script });
    await send({ message: "/help", messageId: "m1" });
    await goOn();
    await heard(stream, "turn_complete", promptId);
    const said = textOf(stream);
    expect(said).toContain('{"messages":[],"items":[],"hasQueuedPrompt":true}');
    expect(said).toContain('{"claimed":false,"hasQueuedPrompt":true}');
    const ran = (await heard(stream, "command_result")).data.data;
    expect(ran).toMatchObject({ code: "help_shown" });
  });

  it("P2: has the verdict of a turn that fails after it", async () => {
    const script = ["ask", FETCH, "crash"].join("\n");
    const { stream, promptId, goOn, send } = await atWork({ script });
    const messageId = "3f8a1c9e-0000-4000-8000-0123456789ac";
    await send({ message: "use tabs", messageId });
    await goOn();
    await heard(stream, "turn_error", promptId);
    const own = await heard(stream, "turn_error", messageId);
    expect(own.data.data).toMatchObject({ code: "channel_closed" });
  });
});

describe("a message to an agent that does not", () => {
  it("P2: waits for the turn's end, and is a prompt of its own then, once", async () => {
    const { work, stream, promptId, goOn, send, list } = await atWork();
    const answer = await send({ message: "say between", messageId: "m1" });
    expect(answer.body).toEqual({ accepted: true, messageId: "m1" });
    expect((await send({ message: "say between", messageId: "m1" })).body.accepted).toBe(true);
    const added = await heard(stream, "pending_prompt_added");
    expect(await list()).toEqual({
      messages: [{ messageId: "m1", text: "say between" }],
      settledMessageIds: [],
      promotedMessageIds: [],
    });
    const { pendingPrompts } = (await work.call("GET", "/pending-prompts")).body;
    expect(pendingPrompts).toMatchObject([{ promptId, state: "running" }]);
    await goOn();
    await heard(stream, "turn_complete", promptId);
    await heard(stream, "turn_complete", String(added.data.data.promptId));
    expect((await send({ message: "say between", messageId: "m1" })).body.accepted).toBe(true);
    const promoted = { messages: [], settledMessageIds: [], promotedMessageIds: ["m1"] };
    expect(await list()).toEqual(promoted);
    const said = stream.frames.map(({ data }) => JSON.stringify(data.data));
    expect(said.filter((text) => text.includes('"text":"between"'))).toHaveLength(1);
  });

  it("can be taken back as long as it waits", async () => {
    const { work, stream, send } = await atWork();
    await send({ message: "say between", messageId: "m 1" });
    const added = await heard(stream, "pending_prompt_added");
    const remove = () => work.call("DELETE", "/mid-turn-messages/m%201");
    expect((await remove()).body).toEqual({ removed: true });
    const verdict = await heard(stream, "turn_complete", String(added.data.data.promptId));
    expect(verdict.data.data.stopReason).toBe("cancelled");
    expect((await remove()).body).toEqual({ removed: false });
  });

  it("P10: is one of so many that wait, also where no more prompts are taken", async () => {
    const { work, send, list } = await atWork();
    for (const _ of [2, 3, 4, 5]) await work.admitted("say hello");
    for (let sent = 0; sent < STEERED_MESSAGES_MAX; sent += 1) {
      expect((await send({ message: `say ${sent}` })).body.accepted).toBe(true);
    }
    const full = { accepted: false, reason: "queue_full" };
    expect((await send({ message: "say more" })).body).toEqual(full);
    expect((await list()).messages).toHaveLength(STEERED_MESSAGES_MAX);
    // The prompts are as many as before: neither queue takes capacity from the other.
    const { pendingPrompts } = (await work.call("GET", "/pending-prompts")).body;
    expect(pendingPrompts).toHaveLength(5);
  });

  it("is a prompt under its own id, if that can be one", async () => {
    const { work, stream, goOn, send } = await atWork();
    const messageId = "3f8a1c9e-0000-4000-8000-0123456789ab";
    await send({ message: "say between", messageId });
    const added = await heard(stream, "pending_prompt_added");
    expect(added.data.data).toMatchObject({ promptId: messageId, text: "say between" });
    await goOn();
    await heard(stream, "turn_complete", messageId);
    const turn = await work.call("GET", `/turns/${messageId}`);
    expect(turn.body).toMatchObject({ state: "completed", resultText: "between" });
  });

  it("P2: never takes the id of another prompt", async () => {
    const { stream, promptId, goOn, send } = await atWork();
    await send({ message: "say between", messageId: promptId });
    const added = await heard(stream, "pending_prompt_added");
    expect(added.data.data.promptId).not.toBe(promptId);
    await goOn();
    await heard(stream, "turn_complete", String(added.data.data.promptId));
    const verdicts = stream.frames.filter(({ data }) => data.type === "turn_complete");
    expect(new Set(verdicts.map(({ data }) => data.data.promptId)).size).toBe(2);
  });

  it("is not another message of the same id", async () => {
    const { send, list } = await atWork();
    await send({ message: "say one", messageId: "m1" });
    const other = await send({ message: "say two", messageId: "m1" });
    expect(other.body).toEqual({ accepted: false, reason: "message_id_conflict" });
    expect((await list()).messages).toEqual([{ messageId: "m1", text: "say one" }]);
  });

  it("shows what is not text, so that a client can show it again", async () => {
    const { send, list } = await atWork();
    const image = { type: "image", mimeType: "image/png", data: "AAAA" };
    await send({ message: "look", messageId: "m1", content: [image] });
    expect((await list()).messages).toEqual([{ messageId: "m1", text: "look", content: [image] }]);
  });
});

describe("POST /session/:id/mid-turn-message", () => {
  it("takes nothing where nothing runs, and says so", async () => {
    const work = await Work.made(await openWork());
    const answer = await work.call("POST", "/mid-turn-message", { body: { message: "hello" } });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ accepted: false, reason: "session_idle" });
    expect((await work.call("GET", "/mid-turn-messages")).body).toEqual({
      messages: [],
      settledMessageIds: [],
      promotedMessageIds: [],
    });
  });

  it("takes a picture without a word", async () => {
    const { stream, send } = await atWork("--steer");
    const image = { type: "image", mimeType: "image/png", data: "AAAA" };
    expect((await send({ message: "", content: [image] })).body.accepted).toBe(true);
    const { data } = (await heard(stream, "mid_turn_message_injected")).data;
    expect(data.items).toMatchObject([{ content: [image] }]);
  });

  it("refuses what is no message, who is no client, and where there is no session", async () => {
    const work = await Work.made(await openWork());
    const malformed = [
      {},
      { message: "  " },
      { message: 1 },
      { message: "x".repeat(16_385) },
      { message: "x", messageId: "" },
      { message: "x", messageId: "i".repeat(129) },
      { message: "x", content: [] },
      { message: "x", content: [{ type: "text", text: "y" }] },
    ];
    for (const body of malformed) {
      const answer = await work.call("POST", "/mid-turn-message", { body });
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    }
    const body = { message: "hello" };
    const foreign = await work.call("POST", "/mid-turn-message", { body, as: STRANGER });
    expect([foreign.status, foreign.body.code]).toEqual([404, "session_not_found"]);
    for (const [method, path] of [
      ["GET", "/mid-turn-messages"],
      ["DELETE", "/mid-turn-messages/m1"],
    ] as const) {
      const eve = await work.call(method, path, { clientId: "eve" });
      expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
    }
  });
});
