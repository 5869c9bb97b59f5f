import { describe, expect, it } from "vitest";
import { STRANGER } from "../daemon.fixture.ts";
import { keyOf, liveOf, made, openLife, statusOf, turnOf, until } from "./life.fixture.ts";

describe("a heartbeat", () => {
  it("tells when the session was last used, and is seen per client in its status", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world, {}, { clientId: "ada" });
    await world.call("POST", `${path}/resume`, { clientId: "bob" });
    const before = (await statusOf(world, sessionId)).body.clients;
    world.stage.aheadMs += 60_000;
    const beat = await world.call("POST", `${path}/heartbeat`, { clientId: "ada", body: {} });
    expect(beat.status).toBe(200);
    expect(beat.body).toEqual({ sessionId, clientId: "ada", lastSeenAt: expect.any(Number) });
    const after = (await statusOf(world, sessionId)).body.clients;
    const { lastSeenAt } = beat.body;
    expect(after).toEqual([{ clientId: "ada", lastSeenAt }, Object(before)[1]]);
    const anonymous = await world.call("POST", `${path}/heartbeat`);
    expect(anonymous.body).toEqual({ sessionId, lastSeenAt: expect.any(Number) });
  });

  it("is not for a name that is not known here, nor for a session that is not", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    const eve = await world.call("POST", `${path}/heartbeat`, { clientId: "eve" });
    expect([eve.status, eve.body]).toEqual([
      400,
      expect.objectContaining({ code: "invalid_client_id", sessionId, clientId: "eve" }),
    ]);
    const none = await world.call("POST", "/session/nothing/heartbeat");
    const why = { code: "session_not_found", sessionId: "nothing" };
    expect(none.text).toBe(JSON.stringify({ error: 'No session with id "nothing"', ...why }));
    const foreign = await world.call("POST", `${path}/heartbeat`, { as: STRANGER });
    expect(foreign.text).toBe(none.text.replaceAll("nothing", sessionId));
  });

  it("reaches a session that only the store has, without an agent", async () => {
    const world = await openLife();
    const { sessionId, clientId, path } = await made(world);
    await world.end();
    const next = await openLife({ stage: { folder: world.stage.folder } });
    const beat = await next.call("POST", `${path}/heartbeat`, { clientId });
    expect(beat.status).toBe(200);
    const { body } = await statusOf(next, sessionId);
    expect(body).toMatchObject({ status: "inactive", clientCount: 1 });
  });
});

describe("detaching", () => {
  it("takes one registration back; the last one to leave lets the session rest", async () => {
    const world = await openLife();
    const { sessionId, clientId, path } = await made(world);
    const bob = { clientId: "bob" };
    for (let times = 0; times < 2; times += 1) await world.call("POST", `${path}/resume`, bob);
    expect((await world.call("POST", `${path}/detach`, bob)).status).toBe(204);
    expect((await statusOf(world, sessionId)).body.clientCount).toBe(2);
    await world.call("POST", `${path}/detach`, bob);
    const { body } = await statusOf(world, sessionId);
    expect(body.clients).toMatchObject([{ clientId }]);
    const last = await world.call("POST", `${path}/detach`, { clientId });
    expect([last.status, last.text]).toEqual([204, ""]);
    const { host } = world.daemon;
    await until(
      async () => host.peek(keyOf(sessionId)),
      (live) => live === null,
    );
    expect((await statusOf(world, sessionId)).body).toMatchObject({
      status: "inactive",
      clientCount: 0,
      clients: [],
    });
  });

  it("does not take the session from a page that is only reloaded", async () => {
    const world = await openLife();
    const { sessionId, clientId, path } = await made(world);
    for (let times = 0; times < 5; times += 1) {
      const [left, back] = await Promise.all([
        world.call("POST", `${path}/detach`, { clientId }),
        world.call("POST", `${path}/load`, { clientId }),
      ]);
      expect([left.status, back.status]).toEqual([204, 200]);
      const status = expect.stringMatching(/^(activating|ready)$/);
      expect(back.body).toMatchObject({ status, clientId });
      expect(back.body).not.toHaveProperty("agentFailure");
    }
    await turnOf(world, sessionId, "say still here");
  });

  it("is always 204: whoever is not there has left", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    const calls = [
      world.call("POST", `${path}/detach`),
      world.call("POST", `${path}/detach`, { clientId: "eve" }),
      world.call("POST", `${path}/detach`, { clientId: "eve", as: STRANGER }),
      world.call("POST", "/session/nothing/detach", { clientId: "eve" }),
      world.call("POST", "/session/no%20id/detach", { clientId: "eve" }),
    ];
    for (const { status } of await Promise.all(calls)) expect(status).toBe(204);
    expect((await statusOf(world, sessionId)).body.clientCount).toBe(1);
  });
});

describe("naming a session", () => {
  it("is told to everybody, in the name of whoever did it", async () => {
    const world = await openLife();
    const { sessionId, clientId, path } = await made(world);
    const name = (displayName: string) =>
      world.call("PATCH", `${path}/metadata`, { body: { displayName }, clientId });
    const named = await name("Ada's");
    expect([named.status, named.body]).toEqual([200, { sessionId, displayName: "Ada's" }]);
    expect((await statusOf(world, sessionId)).body.displayName).toBe("Ada's");
    const same = await world.call("PATCH", `${path}/metadata`, { body: {} });
    expect(same.body).toEqual({ sessionId, displayName: "Ada's" });
    expect((await name("")).body).toEqual({ sessionId });
    expect((await statusOf(world, sessionId)).body).not.toHaveProperty("displayName");
    const { lastEventId } = await liveOf(world, sessionId);
    await name("");
    expect((await liveOf(world, sessionId)).lastEventId).toBe(lastEventId);
  });

  it.each([[7], [null], ["x".repeat(257)], ["a\nb"], ["\u007f"]])(
    "with %j is refused, and nothing has changed",
    async (displayName) => {
      const world = await openLife();
      const { sessionId, path } = await made(world);
      const answer = await world.call("PATCH", `${path}/metadata`, { body: { displayName } });
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ code: "invalid_metadata", field: "displayName" });
      expect((await statusOf(world, sessionId)).body).not.toHaveProperty("displayName");
    },
  );

  it("needs no token, and a name that the session knows, if any", async () => {
    const world = await openLife({ needsToken: false });
    const { path } = await made(world);
    const body = { displayName: "x".repeat(256) };
    expect((await world.call("PATCH", `${path}/metadata`, { body })).status).toBe(200);
    const eve = await world.call("PATCH", `${path}/metadata`, { body, clientId: "eve" });
    expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
    const foreign = await world.call("PATCH", `${path}/metadata`, { body, as: STRANGER });
    expect([foreign.status, foreign.body.code]).toEqual([404, "session_not_found"]);
  });
});
