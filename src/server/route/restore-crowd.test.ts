import { describe, expect, it } from "vitest";
import { CLIENTS_MAX, LOADS_MADE_MAX } from "../../core/limits.ts";
import { altered } from "../../session/altered-store.fixture.ts";
import { REAL_CLOCK } from "../../session/world.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import type { Called } from "../daemon.fixture.ts";
import { eventsOf, keyOf, liveOf, made, openLife, turnOf } from "./life.fixture.ts";

const ROUNDS = 9;

describe("a load beside a delete", () => {
  it("P8: shows all of the session or none of it, and leaves nothing of it behind", async () => {
    const world = await openLife();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { sessionId, path } = await made(world);
      await turnOf(world, sessionId, "say one");
      const load = () => world.call("POST", `${path}/load`, { body: {} });
      const before = Array.from({ length: round % 3 }, load);
      const deleted = world.call("POST", "/sessions/delete", { body: { sessionIds: [sessionId] } });
      const loads = await Promise.all([...before, load(), load()]);
      expect((await deleted).body).toMatchObject({ removed: [sessionId] });
      for (const { status, body } of loads) {
        if (status === 200) expect(JSON.stringify(body.compactedReplay)).toContain("turn_complete");
        else expect(["session_not_found", "session_closing"]).toContain(body.code);
      }
      expect((await load()).status).toBe(404);
      expect(await world.daemon.host.find(keyOf(sessionId))).toMatchObject({ ok: false });
    }
  });
});

const LOADS = 1_000;

describe("a thousand loads of one session at once", () => {
  it("P10: are each answered, few at a time, and the session keeps its limits", async () => {
    let reading = 0;
    let most = 0;
    const counted = (store: SessionStore) =>
      altered(store, {
        readTurns: async (...range) => {
          reading += 1;
          most = Math.max(most, reading);
          return store.readTurns(...range).finally(() => {
            reading -= 1;
          });
        },
      });
    const settings = { maxConnections: 0 };
    const world = await openLife({ settings, stage: { wrap: counted } });
    const { sessionId, path } = await made(world);
    await turnOf(world, sessionId, "say one");
    const load = () => world.call("POST", `${path}/load`, { body: {} });
    const loads = await Promise.all(Array.from({ length: LOADS }, load));
    const shown = loads.filter(({ status }) => status === 200);
    // Each client has a name of its own, and for a while none of so many is idle.
    expect(shown.length).toBeGreaterThanOrEqual(CLIENTS_MAX - 1);
    expect(new Set(shown.map((one) => JSON.stringify(foldedIn(one)))).size).toBe(1);
    const others = loads.filter(({ status }) => status !== 200);
    expect(others.filter(({ body }) => body.code !== "client_limit_exceeded")).toEqual([]);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(LOADS_MADE_MAX);
    const live = await liveOf(world, sessionId);
    expect(live.session.clients.size).toBeLessThanOrEqual(CLIENTS_MAX);
  });
});

const HOUR_MS = 3_600_000;

function foldedIn({ body: { compactedReplay } }: Called): readonly unknown[] {
  return Array.isArray(compactedReplay) ? compactedReplay : expect.fail("no history");
}

describe("a load when the clock has jumped", () => {
  it.each([
    ["back", -24 * HOUR_MS],
    ["ahead", 24 * HOUR_MS],
  ])("%s: shows the same history, in the same order", async (_, jumpMs) => {
    let offsetMs = 0;
    const clock = { ...REAL_CLOCK, nowMs: () => REAL_CLOCK.nowMs() + offsetMs };
    const world = await openLife({ world: { clock } });
    const { sessionId, clientId, path } = await made(world);
    await turnOf(world, sessionId, "say one");
    const load = () => world.call("POST", `${path}/load`, { body: {}, clientId });
    const before = await load();
    offsetMs = jumpMs;
    const after = await load();
    expect(after.body.compactedReplay).toEqual(before.body.compactedReplay);
    await turnOf(world, sessionId, "say two");
    await world.call("DELETE", path, { clientId });
    offsetMs = -jumpMs;
    const back = await load();
    expect(back.status).toBe(200);
    const [first, all] = [foldedIn(before), foldedIn(back)];
    expect(all.slice(0, first.length)).toEqual(first);
    expect(JSON.stringify(all.slice(first.length))).toContain("two");
    expect(await eventsOf(world, keyOf(sessionId))).not.toContain("session_died");
  });
});
