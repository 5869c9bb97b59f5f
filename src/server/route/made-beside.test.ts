// What others see and can do while a session is being made: its first commit is done, its agent is
// not there yet.

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { HeldStart } from "../../agent/builtin/echo/held-start.fixture.ts";
import { echo } from "../../session/stage.fixture.ts";
import type { Called, DaemonWorld } from "../daemon.fixture.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { eventsOf, keyOf, openLife, statusOf, until } from "./life.fixture.ts";

/** Another protocol: the agent comes, and cannot be used. */
const UNUSABLE = ["--protocol", "65000"];

/** A daemon, and the making of a session that waits for its agent. */
async function making(...flags: readonly string[]) {
  const held = new HeldStart();
  const profiles = new Map([echo(...held.flags, ...flags)]);
  const world = await openLife({ stage: { profiles } });
  const sessionId = randomUUID();
  const made = world.call("POST", "/session", { body: { sessionId, sessionScope: "thread" } });
  await until(
    () => world.daemon.world.store.readRecord(keyOf(sessionId)),
    ({ ok }) => ok,
  );
  await until(
    () => statusOf(world, sessionId),
    ({ status }) => status === 200,
  );
  return { held, world, sessionId, path: `/session/${sessionId}`, made };
}

async function listed(world: DaemonWorld): Promise<readonly object[]> {
  const path = `/workspace/${encodeURIComponent(world.stage.folder)}/sessions`;
  const { sessions } = (await world.call("GET", path)).body;
  return Array.isArray(sessions) ? sessions : expect.fail("no list");
}

describe("a session that waits for its first agent", () => {
  it("is listed as `activating`, and can be loaded and prompted like any other", async () => {
    const { held, world, sessionId, path, made } = await making();
    expect(await listed(world)).toMatchObject([{ sessionId, status: "activating" }]);
    const loaded = await world.call("POST", `${path}/load`, { clientId: "bob" });
    expect(loaded).toMatchObject({ status: 200, body: { status: "activating", attached: true } });
    expect((await statusOf(world, sessionId)).body).toMatchObject({ status: "activating" });
    held.begin();
    expect(await made).toMatchObject({ status: 200, body: { sessionId, status: "ready" } });
  });

  it("keeps its id: another create of the same is refused, and named as pending", async () => {
    const { held, world, sessionId, made } = await making();
    const again = await world.call("POST", "/session", { body: { sessionId } });
    expect(again).toMatchObject({ status: 409, body: { conflict: "pending" } });
    held.begin();
    expect((await made).status).toBe(200);
  });

  it("P5: is deleted at once by a DELETE, and its maker is told that", async () => {
    const { world, sessionId, path, made } = await making();
    expect((await world.call("DELETE", path)).status).toBe(204);
    expect(await made).toMatchObject({ status: 404, body: { code: "session_closing", sessionId } });
    expect(await listed(world)).toEqual([]);
    expect(await world.daemon.world.store.readRecord(keyOf(sessionId))).toMatchObject({
      ok: false,
    });
  });

  it("P5: is deleted at once with others, too", async () => {
    const { world, sessionId, made } = await making();
    const body = { sessionIds: [sessionId] };
    const deleted = await world.call("POST", "/sessions/delete", { body });
    expect(deleted.body).toMatchObject({ removed: [sessionId] });
    expect(await made).toMatchObject({ status: 404, body: { code: "session_closing" } });
    expect(await listed(world)).toEqual([]);
  });

  it("P10: makes no room for another, though nobody has used it for longest", async () => {
    const held = new HeldStart();
    const profiles = new Map([echo(...held.flags)]);
    const world = await openLife({ stage: { profiles, settings: { sessionsLiveMax: 1 } } });
    const made = world.call("POST", "/session", { body: { sessionScope: "thread" } });
    await until(
      () => listed(world),
      ({ length }) => length === 1,
    );
    const other = await world.call("POST", "/session", { body: { sessionScope: "thread" } });
    expect(other).toMatchObject({ status: 503, body: { code: "session_limit_exceeded" } });
    held.begin();
    expect(await made).toMatchObject({ status: 200, body: { status: "ready" } });
  });
});

describe("a session whose first agent does not come", () => {
  const refused = (answer: Called) => {
    expect(answer).toMatchObject({ status: 502, body: { code: "agent_protocol_version" } });
  };

  it("is deleted, and lists that have shown it are told so", async () => {
    const { held, world, sessionId, made } = await making(...UNUSABLE);
    const stream = await StreamClient.open(world, "/events");
    const told = () => stream.frames.map(({ data: { type, data } }) => ({ type, ...Object(data) }));
    await stream.until(() => told().some(({ type }) => type === "replay_complete"));
    const session = { sessionId, status: "activating" };
    expect(told()).toContainEqual(
      expect.objectContaining({ session: expect.objectContaining(session) }),
    );
    held.begin();
    refused(await made);
    await stream.until(() => told().some(({ type }) => type === "session_deleted"));
    expect(told().at(-1)).toMatchObject({ type: "session_deleted", sessionId });
    expect(await listed(world)).toEqual([]);
    expect((await statusOf(world, sessionId)).status).toBe(404);
  });

  it("P1: stays for a client that has loaded it meanwhile", async () => {
    const { held, world, sessionId, path, made } = await making(...UNUSABLE);
    const loaded = await world.call("POST", `${path}/load`, { clientId: "bob" });
    expect(loaded.status).toBe(200);
    held.begin();
    refused(await made);
    const status = await statusOf(world, sessionId);
    expect(status).toMatchObject({ status: 200, body: { status: "error" } });
    const again = await world.call("POST", `${path}/load`, { clientId: "bob" });
    expect(again.status).toBe(200);
    const types = await eventsOf(world, keyOf(sessionId));
    expect(types.filter((type) => type === "client_attached").length).toBeGreaterThan(1);
  });
});
