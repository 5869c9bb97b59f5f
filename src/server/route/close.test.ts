import { describe, expect, it } from "vitest";
import { ANYBODY, promptOf } from "../../session/stage.fixture.ts";
import { STRANGER } from "../daemon.fixture.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { eventsOf, keyOf, liveOf, made, openLife, statusOf, turnOf } from "./life.fixture.ts";
import { openWork, Work } from "./work.fixture.ts";

describe("closing a session", () => {
  it("ends it for everybody: 204 when it is closed, and then it is unknown", async () => {
    const world = await openLife();
    const { sessionId, clientId, path } = await made(world);
    await turnOf(world, sessionId, "say hello");
    const closed = await world.call("DELETE", path, { clientId });
    expect([closed.status, closed.text]).toEqual([204, ""]);
    expect(await eventsOf(world, keyOf(sessionId))).toContain("session_closed");
    const again = await world.call("DELETE", path, { clientId });
    expect([again.status, again.body.code]).toEqual([404, "session_not_found"]);
    expect((await statusOf(world, sessionId)).status).toBe(404);
  });

  it("P5: ends its live instance, which costs nothing any more; readers see the end", async () => {
    const world = await openWork();
    const work = await Work.made(world);
    await work.live.submit(promptOf(work.live, "say hello"));
    await work.live.until(({ totals }) => totals.turnsCompleted === 1);
    const stream = await StreamClient.open(world, `/session/${work.id}/events`);
    const { host } = world.daemon;
    const closed = await host.close(work.live.key, ANYBODY);
    expect(closed).toMatchObject({ ok: true });
    expect(await stream.over()).toBe("ended");
    expect(stream.frames.at(-1)?.data.type).toBe("session_closed");
    await expect.poll(() => host.live).toEqual([]);
    const record = await world.daemon.world.store.readRecord(work.live.key);
    expect(record).toMatchObject({ ok: true, value: { closed: true, holder: null } });
  });

  it("P2: gives every prompt its verdict before, and says who closed it", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world, {}, { clientId: "ada" });
    const live = await liveOf(world, sessionId);
    await live.submit(promptOf(live, "hang"));
    await live.submit(promptOf(live, "say never"));
    const closed = await world.call("DELETE", path, { clientId: "ada" });
    expect(closed.status).toBe(204);
    const types = await eventsOf(world, keyOf(sessionId));
    expect(types.filter((type) => type === "turn_error")).toHaveLength(2);
    expect(types.lastIndexOf("turn_error")).toBeLessThan(types.indexOf("session_closed"));
    const page = await world.daemon.world.store.readEvents(keyOf(sessionId), {
      after: 0,
      limit: 1_000,
    });
    const told = page.ok ? page.value.events.map(({ text }) => JSON.parse(text)) : [];
    const event = told.find(({ type }) => type === "session_closed");
    expect(event).toMatchObject({
      originatorClientId: "ada",
      data: { reason: "client_close", closedBy: "ada" },
    });
  });

  it("is not for a name that the session does not know; without one it is", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    const eve = await world.call("DELETE", path, { clientId: "eve" });
    expect(eve.status).toBe(400);
    expect(eve.body).toEqual({
      error: `Client id "eve" is not registered for session ${sessionId}`,
      code: "invalid_client_id",
      sessionId,
      clientId: "eve",
    });
    expect((await world.call("DELETE", path)).status).toBe(204);
  });

  it("of two at once succeeds for one", async () => {
    const world = await openLife();
    const { path } = await made(world);
    const both = await Promise.all([world.call("DELETE", path), world.call("DELETE", path)]);
    expect(both.map(({ status }) => status).sort()).toEqual([204, 404]);
  });

  it("P8: does not reach another tenant's session, which looks like none", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    const foreign = await world.call("DELETE", path, { as: STRANGER });
    const unknown = "6b1f3c9e-0000-4000-8000-000000000000";
    const missing = await world.call("DELETE", `/session/${unknown}`);
    const malformed = await world.call("DELETE", "/session/..%2f");
    expect(foreign.status).toBe(404);
    expect(foreign.text.replaceAll(sessionId, unknown)).toBe(missing.text);
    expect(malformed.text.replaceAll("../", unknown)).toBe(missing.text);
    expect((await statusOf(world, sessionId)).status).toBe(200);
  });

  it("P1: is remembered by the next server", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    await turnOf(world, sessionId, "say hello");
    await world.call("DELETE", path);
    await world.end();
    const next = await openLife({ stage: { folder: world.stage.folder } });
    expect((await statusOf(next, sessionId)).status).toBe(404);
    expect((await next.call("POST", `${path}/heartbeat`)).status).toBe(404);
  });
});
