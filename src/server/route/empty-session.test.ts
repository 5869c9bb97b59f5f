import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { AWAY, altered } from "../../session/altered-store.fixture.ts";
import { promptOf, value } from "../../session/stage.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import { type DaemonWorld, LOCAL } from "../daemon.fixture.ts";
import { keyOf, liveOf, made, openLife, statusOf } from "./life.fixture.ts";

async function listed(world: DaemonWorld): Promise<readonly unknown[]> {
  const path = `/workspace/${encodeURIComponent(world.stage.folder)}/sessions`;
  const { body } = await world.call("GET", path);
  return Object(body.sessions).map(({ sessionId }: { sessionId: string }) => sessionId);
}

/** What the tenant's audit has of it, in order. */
async function actsOf(world: DaemonWorld, sessionId: string): Promise<readonly string[]> {
  const { store } = world.daemon.world;
  const query = { journal: "audit", sessionId: keyOf(sessionId).sessionId } as const;
  const page = value(await store.readJournal(LOCAL.tenantId, { ...query, after: 0, limit: 500 }));
  return page.rows.map(({ text }) => JSON.parse(text).act);
}

describe("closing a session before any prompt was admitted", () => {
  it("deletes it, and its id is free again under another epoch", async () => {
    const world = await openLife();
    const body = { sessionId: randomUUID() };
    const first = await world.call("POST", "/session", { body });
    const { sessionId } = body;
    expect((await world.call("DELETE", `/session/${sessionId}`)).status).toBe(204);
    expect(await listed(world)).toEqual([]);
    expect((await statusOf(world, sessionId)).status).toBe(404);
    expect((await world.call("POST", `/session/${sessionId}/load`)).status).toBe(404);
    expect((await actsOf(world, sessionId)).slice(-2)).toEqual([
      "session_closed",
      "session_deleted",
    ]);
    const again = await world.call("POST", "/session", { body });
    expect([again.status, again.body.sessionId]).toEqual([200, sessionId]);
    expect(again.body.eventEpoch).not.toBe(first.body.eventEpoch);
  });

  it("tells the tenant's stream that it is gone", async () => {
    const world = await openLife();
    const { sessionId, path } = await made(world);
    const { tenantId } = LOCAL;
    const stream = value(world.daemon.host.watchTenant({ tenantId, userId: null, role: "owner" }));
    await world.call("DELETE", path);
    let gone: unknown;
    for await (const chunk of stream) {
      const told = chunk.flatMap(({ frames }) => frames.map(({ text }) => JSON.parse(text)));
      gone = told.find(({ type }) => type === "session_deleted")?.data;
      if (gone !== undefined) break;
    }
    expect(gone).toEqual({ sessionId });
  });

  it("keeps one that has had a prompt, and says of its id that it is stored", async () => {
    const world = await openLife();
    const body = { sessionId: randomUUID() };
    await world.call("POST", "/session", { body });
    const live = await liveOf(world, body.sessionId);
    await live.submit(promptOf(live, "hang"));
    await world.call("DELETE", `/session/${body.sessionId}`);
    expect(await listed(world)).toEqual([body.sessionId]);
    const again = await world.call("POST", "/session", { body });
    expect([again.status, again.body.conflict]).toEqual([409, "persisted"]);
  });

  it("keeps one that was merely let go", async () => {
    const world = await openLife();
    const { sessionId, clientId, path } = await made(world);
    await world.call("POST", `${path}/detach`, { clientId });
    expect(await listed(world)).toEqual([sessionId]);
    expect((await statusOf(world, sessionId)).status).toBe(200);
  });

  it("P5: is finished by the next server, if the last one was killed in between", async () => {
    const away = (store: SessionStore) => altered(store, { delete: async () => AWAY });
    const world = await openLife({ stage: { wrap: away } });
    const empty = await made(world);
    const used = await made(world);
    const live = await liveOf(world, used.sessionId);
    await live.submit(promptOf(live, "hang"));
    for (const { path } of [empty, used]) {
      expect((await world.call("DELETE", path)).status).toBe(204);
    }
    expect(await listed(world)).toHaveLength(2);
    await world.end();
    const next = await openLife({ stage: { folder: world.stage.folder } });
    value(await next.daemon.host.recover());
    expect(await listed(next)).toEqual([used.sessionId]);
    expect(await actsOf(next, empty.sessionId)).toContain("session_deleted");
  });
});
