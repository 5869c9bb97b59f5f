import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { promptOf } from "../../session/stage.fixture.ts";
import { type DaemonWorld, LOCAL, STRANGER } from "../daemon.fixture.ts";
import { keyOf, liveOf, made, openLife, statusOf, turnOf } from "./life.fixture.ts";

const remove = (world: DaemonWorld, ...sessionIds: readonly string[]) =>
  world.call("POST", "/sessions/delete", { body: { sessionIds } });

describe("deleting sessions", () => {
  it("removes each that is there, live, at work, closed or only stored", async () => {
    const world = await openLife();
    const [idle, busy, closed] = [await made(world), await made(world), await made(world)];
    const live = await liveOf(world, busy.sessionId);
    await live.submit(promptOf(live, "hang"));
    await live.until(({ running }) => running !== null);
    await turnOf(world, closed.sessionId, "say hello");
    await world.call("DELETE", closed.path);
    const all = [idle.sessionId, busy.sessionId, closed.sessionId];
    const answer = await remove(world, ...all, "nothing", "no id", idle.sessionId);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ removed: all, notFound: ["nothing", "no id"], errors: [] });
    for (const sessionId of all) {
      expect((await statusOf(world, sessionId)).status).toBe(404);
      expect((await world.call("POST", `/session/${sessionId}/load`)).status).toBe(404);
      expect(world.daemon.host.peek(keyOf(sessionId))).toBeNull();
    }
    expect((await remove(world, ...all)).body).toMatchObject({ removed: [], notFound: all });
  });

  it("reaches those that an earlier server left, and leaves a note in the audit", async () => {
    const world = await openLife();
    const { sessionId } = await made(world);
    await world.end();
    const next = await openLife({ stage: { folder: world.stage.folder } });
    expect((await remove(next, sessionId)).body.removed).toEqual([sessionId]);
    const page = await next.daemon.world.store.readJournal(LOCAL.tenantId, {
      journal: "audit",
      sessionId: keyOf(sessionId).sessionId,
      after: 0,
      limit: 1_000,
    });
    const acts = page.ok ? page.value.rows.map(({ text }) => JSON.parse(text).act) : [];
    expect(acts.at(-1)).toBe("session_deleted");
    expect(acts).toContain("session_created");
  });

  it("frees the id: whoever chose it may make another session with it", async () => {
    const world = await openLife();
    const { sessionId } = await made(world);
    await remove(world, sessionId);
    const again = await made(world, { sessionId });
    expect(again.sessionId).toBe(sessionId);
    expect((await remove(world, sessionId)).body.removed).toEqual([sessionId]);
  });

  it("P8: finds none of another tenant's", async () => {
    const world = await openLife();
    const { sessionId } = await made(world);
    const body = { sessionIds: [sessionId] };
    const answer = await world.call("POST", "/sessions/delete", { body, as: STRANGER });
    expect(answer.body).toEqual({ removed: [], notFound: [sessionId], errors: [] });
    expect((await statusOf(world, sessionId)).status).toBe(200);
  });

  it("may be of one workspace, and finds no session of another there", async () => {
    const world = await openLife();
    const other = join(world.stage.folder, "other");
    mkdirSync(other);
    const { body: added } = await world.call("POST", "/workspaces", { body: { cwd: other } });
    const [here, there] = [await made(world), await made(world, { cwd: other })];
    const body = { sessionIds: [here.sessionId, there.sessionId] };
    const answer = await world.call("POST", `/workspaces/${added.id}/sessions/delete`, { body });
    expect(answer.body).toMatchObject({
      removed: [there.sessionId],
      notFound: [here.sessionId],
    });
  });

  it.each([[{}], [{ sessionIds: [] }], [{ sessionIds: "all" }], [{ sessionIds: [7] }]])(
    "wants ids, and not %j",
    async (body) => {
      const world = await openLife();
      const answer = await world.call("POST", "/sessions/delete", { body });
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    },
  );

  it("P10: takes a hundred at most", async () => {
    const world = await openLife();
    const some = Array.from({ length: 101 }, (_, n) => `s${n}`);
    expect((await remove(world, ...some)).status).toBe(400);
    expect((await remove(world, ...some.slice(1))).body.notFound).toHaveLength(100);
  });
});
