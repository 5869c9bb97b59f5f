import { describe, expect, it } from "vitest";
import { PlayedAgents } from "../../session/played-agents.fixture.ts";
import { STRANGER } from "../daemon.fixture.ts";
import { heard, openWork, Work, withoutError } from "./work.fixture.ts";

const HELLO = { prompt: [{ type: "text", text: "say hello" }] };

describe("POST /session/:id/prompt", () => {
  it("P1: answers 202 with where to read on from, and its stream has the rest", async () => {
    const work = await Work.made(await openWork(), "ada");
    const before = work.live.lastEventId;
    const { status, body } = await work.prompt("say hello", { clientId: "ada" });
    expect(status).toBe(202);
    expect(body).toEqual({
      promptId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      lastEventId: before,
      eventEpoch: work.live.epoch,
    });
    const stream = await work.stream({
      "last-event-id": String(body.lastEventId),
      "x-qwen-event-epoch": String(body.eventEpoch),
    });
    const verdict = await heard(stream, "turn_complete", String(body.promptId));
    expect(verdict.data.data).toMatchObject({ sessionId: work.id, stopReason: "end_turn" });
    expect(stream.frames[0]).toMatchObject({ id: before + 1, event: "prompt_admitted" });
    const [echo] = stream.frames.filter(({ event }) => event === "session_update");
    expect(echo?.data).toMatchObject({
      promptId: body.promptId,
      originatorClientId: "ada",
      data: { update: { sessionUpdate: "user_message_chunk", _meta: { source: "bridge-echo" } } },
    });
  });

  it("tells the agent what else the caller says, but not what is for the server", async () => {
    const work = await Work.made(await openWork());
    const body = {
      ...HELLO,
      sessionId: "another",
      delivery: {},
      temperature: 1,
      _meta: { trace: "t1", "qwen.daemon.channelPromptAuthorization": "mine" },
    };
    const { body: admitted } = await work.call("POST", "/prompt", { body });
    const stream = await work.stream({ "last-event-id": String(admitted.lastEventId) });
    const told = await heard(stream, "prompt_admitted");
    expect(told.data.data.params).toEqual({ temperature: 1, _meta: { trace: "t1" } });
  });

  it("refuses what is no prompt with 400, and admits nothing", async () => {
    const work = await Work.made(await openWork());
    const before = work.live.lastEventId;
    const svg = { type: "image", mimeType: "image/svg+xml", data: "AAAA" };
    const attachment = { type: "image", mimeType: "image/png", attachmentId: "a", size: 3 };
    const refusedBodies = [
      [{}, "invalid_request"],
      [{ prompt: [] }, "invalid_request"],
      [{ prompt: ["hello"] }, "invalid_request"],
      [{ prompt: [svg] }, "invalid_request"],
      [{ prompt: [attachment] }, "invalid_session_attachment_reference"],
      [{ ...HELLO, deadlineMs: 0 }, "invalid_deadline_ms"],
      [{ ...HELLO, deadlineMs: 1.5 }, "invalid_deadline_ms"],
      [{ ...HELLO, deadlineMs: "soon" }, "invalid_deadline_ms"],
    ];
    for (const [body, code] of refusedBodies) {
      const answer = await work.call("POST", "/prompt", { body });
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ error: expect.any(String), code });
    }
    expect(work.live.lastEventId).toBe(before);
  });

  it("P10: takes five prompts, and the sixth when one has its verdict", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream({ "last-event-id": "0" });
    const first = await work.admitted("hang");
    for (const _ of [2, 3, 4, 5]) await work.admitted("say hello");
    const sixth = await work.prompt("say hello");
    expect(sixth.status).toBe(503);
    expect(sixth.headers["retry-after"]).toBe("5");
    expect(withoutError(sixth.body)).toEqual({
      code: "prompt_queue_full",
      sessionId: work.id,
      limit: 5,
      pendingCount: 5,
    });
    await work.call("POST", "/cancel");
    await heard(stream, "turn_complete", first);
    await work.turn("say hello");
  });

  it("P10: lets as many wait as the operator says", async () => {
    const world = await openWork({ stage: { settings: { pendingPromptsMax: 1 } } });
    const work = await Work.made(world);
    await work.admitted("hang");
    expect((await work.prompt("say hello")).body).toMatchObject({ limit: 1, pendingCount: 1 });
  });

  it("P2: does the same thing once, however often it comes with the same key", async () => {
    const work = await Work.made(await openWork());
    const call = { headers: { "idempotency-key": "k1" } };
    const first = await work.prompt("say hello", call);
    const [second, third] = await Promise.all([1, 2].map(() => work.prompt("say hello", call)));
    expect([second?.status, third?.status]).toEqual([202, 202]);
    expect(second?.body).toEqual(first.body);
    expect(third?.body).toEqual(first.body);
    await work.live.until(({ running }) => running === null);
    expect(work.live.session.totals.promptCount).toBe(1);
    const other = await work.prompt("say something else", call);
    expect(other.status).toBe(409);
    expect(other.body.code).toBe("idempotency_conflict");
  });

  it("refuses a client that this session does not know, so that it can heal itself", async () => {
    const work = await Work.made(await openWork());
    const answer = await work.prompt("say hello", { clientId: "eve" });
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({
      error: `Client id "eve" is not registered for session ${work.id}`,
      code: "invalid_client_id",
      sessionId: work.id,
      clientId: "eve",
    });
  });

  it("P8: knows no session of another tenant, of no tenant, or of no possible name", async () => {
    const world = await openWork();
    const work = await Work.made(world);
    const bodies = [HELLO, {}];
    for (const body of bodies) {
      const foreign = await work.call("POST", "/prompt", { body, as: STRANGER });
      const unknown = await world.call("POST", "/session/nobody/prompt", { body });
      const malformed = await world.call("POST", "/session/no%20name/prompt", { body });
      expect(foreign.text).toBe(unknown.text.replaceAll("nobody", work.id));
      expect(malformed.text).toBe(unknown.text.replaceAll("nobody", "no name"));
      for (const { status } of [foreign, unknown, malformed]) expect(status).toBe(404);
    }
  });
});

describe("the deadline of a prompt", () => {
  /** How long a prompt has that asks for so long. */
  async function given(promptMs: number | null, deadlineMs: number | null) {
    const agents = new PlayedAgents();
    const world = await openWork({ stage: { settings: { promptMs } }, world: { agents } });
    const work = await Work.made(world);
    const stream = await work.stream();
    await work.call("POST", "/prompt", { body: { ...HELLO, deadlineMs } });
    const { data } = (await heard(stream, "prompt_admitted")).data;
    return data.deadlineAtMs && Number(data.deadlineAtMs) - Number(data.admittedAtMs);
  }

  it("is the server's, and shorter where the caller says so", async () => {
    expect(await given(60_000, null)).toBe(60_000);
    expect(await given(60_000, 1_000)).toBe(1_000);
    expect(await given(60_000, 90_000)).toBe(60_000);
  });

  it("is none where the server has none", async () => {
    expect(await given(null, 1_000)).toBeUndefined();
  });

  it("P2: ends a prompt that takes longer", async () => {
    const work = await Work.made(await openWork({ stage: { settings: { promptMs: 60_000 } } }));
    const stream = await work.stream();
    const body = { prompt: [{ type: "text", text: "hang" }], deadlineMs: 50 };
    const { body: admitted } = await work.call("POST", "/prompt", { body });
    const verdict = await heard(stream, "turn_error", String(admitted.promptId));
    expect(verdict.data.data.code).toBe("prompt_deadline_exceeded");
  });
});

describe("a retry of a prompt that failed", () => {
  it("is not shown to others again, but any other prompt is", async () => {
    const work = await Work.made(await openWork());
    const body = { ...HELLO, retry: true };
    const { body: first } = await work.call("POST", "/prompt", { body });
    await work.live.until(({ running }) => running === null);
    await work.turn("fail -32001 no luck");
    const { body: second } = await work.call("POST", "/prompt", { body });
    const stream = await work.stream({ "last-event-id": "0" });
    await heard(stream, "turn_complete", String(second.promptId));
    const echoOf = (promptId: unknown) =>
      stream.frames.some(({ event, data }) => {
        const said = event === "session_update" ? JSON.stringify(data.data) : "";
        return Object(data).promptId === promptId && said.includes("bridge-echo");
      });
    expect(echoOf(first.promptId)).toBe(true);
    expect(echoOf(second.promptId)).toBe(false);
  });
});
