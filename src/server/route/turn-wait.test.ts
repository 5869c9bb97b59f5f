import { describe, expect, it, vi } from "vitest";
import { WAIT_MS_MAX } from "../../core/limits.ts";
import { AWAY, altered } from "../../session/altered-store.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import { Team } from "../identity/team.fixture.ts";
import { heard, openWork, Work } from "./work.fixture.ts";

const text = (script: string) => ({ prompt: [{ type: "text", text: script }] });

/** How many requests wait in this world. */
const waiting = (work: Work) => work.world.server.openRequestCount;

describe("GET /session/:id/turns/:promptId?wait", () => {
  it("answers when the turn has its verdict, with the agent's words", async () => {
    const work = await Work.made(await openWork(), "ada");
    const promptId = await work.admitted("ask\nsay hello");
    const turn = work.call("GET", `/turns/${promptId}?wait=60s`);
    await expect.poll(() => waiting(work)).toBe(1);
    await work.live.until(({ connection }) => connection.sessionState === "waiting");
    const [requestId] = [...work.live.session.connection.turn.openAsks.keys()];
    const body = { outcome: { outcome: "selected", optionId: "allow_once" } };
    await work.call("POST", `/permission/${requestId}`, { body });
    expect(await turn).toMatchObject({ status: 200, body: { state: "completed", promptId } });
    const again = await work.call("GET", `/turns/${promptId}?wait=60s`);
    expect(again.body).toEqual((await turn).body);
  });

  it("is 202 with the turn as it is when the wait is over", async () => {
    const work = await Work.made(await openWork(), "ada");
    const promptId = await work.admitted("hang");
    await work.live.until((session) => session.running !== null);
    const turn = await work.call("GET", `/turns/${promptId}?wait=1ms`);
    expect(turn).toMatchObject({ status: 202, body: { state: "running", promptId } });
  });

  it("P10: costs nothing while it waits, and one look for all who wait", async () => {
    const world = await openWork({ settings: { maxConnections: 0 }, needsToken: false });
    const work = await Work.made(world, "ada");
    const promptId = await work.admitted("hang");
    await work.live.until((session) => session.running !== null);
    const turns = Array.from({ length: 200 }, () => {
      return work.call("GET", `/turns/${promptId}?wait=2m`);
    });
    await expect.poll(() => waiting(work)).toBe(200);
    const { store } = world.daemon.world;
    const reads = vi.spyOn(store, "readTurns");
    await work.call("POST", "/cancel");
    for (const { status, body } of await Promise.all(turns)) {
      expect([status, body.state]).toEqual([200, "cancelled"]);
    }
    expect(reads.mock.calls.length).toBeLessThan(5);
  });

  it.each(["30", "-1s", "1h", "", "1.5s", `${WAIT_MS_MAX + 1}ms`, "9999999s"])(
    "refuses a wait of %j",
    async (wait) => {
      const work = await Work.made(await openWork(), "ada");
      const promptId = await work.turn("say hello");
      const turn = await work.call("GET", `/turns/${promptId}?wait=${wait}`);
      expect(turn).toMatchObject({ status: 400, body: { code: "invalid_request", path: "wait" } });
      const prompt = await work.call("POST", `/prompt?wait=${wait}`, { body: text("say no") });
      expect(prompt).toMatchObject({ status: 400, body: { path: "wait" } });
    },
  );

  it("goes on while the store of its session fails, and is told what came of it", async () => {
    const store = { isAway: false };
    const wrap = (real: SessionStore) =>
      altered(real, {
        commit: async (...args) => (store.isAway ? AWAY : real.commit(...args)),
      });
    const world = await openWork({ stage: { wrap } });
    const work = await Work.made(world, "ada");
    const promptId = await work.admitted("hang");
    await work.live.until((session) => session.running !== null);
    const turn = work.call("GET", `/turns/${promptId}?wait=60s`);
    await expect.poll(() => waiting(work)).toBe(1);
    store.isAway = true;
    await work.call("POST", "/cancel");
    store.isAway = false;
    expect(await turn).toMatchObject({
      status: 200,
      body: { state: "error", error: { code: "STORE_FAILURE" } },
    });
  });

  it("ends with its client, and leaves nothing behind", async () => {
    const work = await Work.made(await openWork(), "ada");
    const promptId = await work.admitted("hang");
    const leaving = new AbortController();
    const turn = work.call("GET", `/turns/${promptId}?wait=60s`, { signal: leaving.signal });
    await expect.poll(() => waiting(work)).toBe(1);
    leaving.abort();
    await expect(turn).rejects.toThrow();
    await expect.poll(() => waiting(work)).toBe(0);
  });

  it("ends when the server stops, with what is known", async () => {
    const world = await openWork();
    const work = await Work.made(world, "ada");
    const promptId = await work.admitted("hang");
    const turn = work.call("GET", `/turns/${promptId}?wait=60s`);
    await expect.poll(() => waiting(work)).toBe(1);
    await world.server.close();
    expect(await turn).toMatchObject({ status: 202, body: { state: "running" } });
  });
});

describe("POST /session/:id/prompt?wait", () => {
  it("answers with the verdict and the agent's words", async () => {
    const work = await Work.made(await openWork(), "ada");
    const call = { body: text("say hello"), clientId: "ada" };
    const { status, body } = await work.call("POST", "/prompt?wait=60s", call);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      promptId: expect.any(String),
      lastEventId: expect.any(Number),
      eventEpoch: work.live.epoch,
      turn: { state: "completed", stopReason: "end_turn", resultText: "hello" },
    });
  });

  it("P2: is the usual 202 when the wait is over; a repeat waits for the same turn", async () => {
    const work = await Work.made(await openWork(), "ada");
    const call = { body: text("ask\nsay hello"), headers: { "idempotency-key": "one" } };
    const first = await work.call("POST", "/prompt?wait=1ms", call);
    expect(first.status).toBe(202);
    expect(Object.keys(first.body)).toEqual(["promptId", "lastEventId", "eventEpoch"]);
    const again = work.call("POST", "/prompt?wait=60s", call);
    await work.live.until(({ connection }) => connection.sessionState === "waiting");
    await work.call("POST", "/cancel");
    const { status, body } = await again;
    expect(status).toBe(200);
    expect(body).toMatchObject({ promptId: first.body.promptId, turn: { state: "cancelled" } });
    expect(work.live.session.queue).toEqual([]);
  });

  it("holds no verdict back from the streams of its client", async () => {
    const work = await Work.made(await openWork(), "ada");
    const stream = await work.stream({ "x-qwen-client-id": "ada" });
    const call = { body: text("say hello"), clientId: "ada" };
    const { status, body } = await work.call("POST", "/prompt?wait=60s", call);
    expect(status).toBe(200);
    await heard(stream, "turn_complete", String(body.promptId));
    stream.leave();
  });
});

describe("P8: a wait that outlives what its caller may see", () => {
  /** Ada waits for a turn of Bob's session, which he has shared with her. */
  async function shared() {
    const team = await Team.open();
    const { path } = await team.made(team.bob);
    await team.share(team.bob, path, "ada");
    const { body } = await team.bob.call("POST", `${path}/prompt`, { body: text("hang") });
    const wait = team.ada.call("GET", `${path}/turns/${body.promptId}?wait=60s`);
    await expect.poll(() => team.people.world.server.openRequestCount).toBe(1);
    return { team, path, promptId: body.promptId, wait };
  }

  it("is answered like one without a token when the token is revoked", async () => {
    const { team, path, promptId, wait } = await shared();
    await team.own.call("DELETE", `/tokens/${team.ada.tokenId}`);
    const nobody = await team.ada.call("GET", `${path}/turns/${promptId}?wait=1s`);
    expect(await wait).toMatchObject({ status: 401, text: nobody.text });
  });

  it("is answered like one for what is not there when the session is shared no more", async () => {
    const { team, path, promptId, wait } = await shared();
    await team.share(team.bob, path);
    const missing = await team.ada.call("GET", `${path}/turns/${promptId}?wait=1s`);
    expect(missing.status).toBe(404);
    expect((await wait).text).toBe(missing.text);
  });

  it("P10: takes a share of the event streams of its user, and gives it back", async () => {
    const team = await Team.open({ settings: { token: "unused", maxConnections: 16 } });
    const { path } = await team.made(team.bob);
    const { body } = await team.bob.call("POST", `${path}/prompt`, { body: text("hang") });
    const ask = () => team.bob.call("GET", `${path}/turns/${body.promptId}?wait=60s`);
    const waits = Array.from({ length: 4 }, ask);
    const { server } = team.people.world;
    await expect.poll(() => server.openRequestCount).toBe(4);
    const further = await ask();
    expect(further).toMatchObject({
      status: 429,
      body: { code: "share_exceeded", scope: "user", resource: "event streams" },
    });
    await team.bob.call("POST", `${path}/cancel`);
    for (const wait of waits) expect((await wait).status).toBe(200);
    expect((await ask()).status).toBe(200);
  });
});
