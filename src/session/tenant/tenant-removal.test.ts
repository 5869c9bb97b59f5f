import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { TENANT_REMOVAL_MS_MAX, TENANT_SESSION_END_MS_MAX } from "../../core/limits.ts";
import { NO_PERSONA } from "../../core/persona.ts";
import { ok } from "../../core/result.ts";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import { thisHolder } from "../../store/index.ts";
import { AWAY, altered } from "../altered-store.fixture.ts";
import type { Chunk } from "../bus/frame.ts";
import { SessionHost } from "../host.ts";
import { PlayedAgents, playedSession } from "../played-agents.fixture.ts";
import { ada, NEVER, turn, withSession } from "../runtime.fixture.ts";
import { echo, promptOf, Stage, TENANT, value } from "../stage.fixture.ts";
import { CREATION, REAL_CLOCK } from "../world.fixture.ts";
import { TenantGate } from "./tenant-gate.ts";

/** Time that passes at once where a test wants it to. */
function hasty(...waits: readonly number[]) {
  const after = (ms: number, act: () => void) => REAL_CLOCK.after(waits.includes(ms) ? 0 : ms, act);
  return { nowMs: REAL_CLOCK.nowMs, after };
}

/** The notes of processes of agents that may be alive. */
function agentsOf({ folder }: Stage): number {
  const place = join(folder, "running-agents");
  return existsSync(place) ? readdirSync(place).length : 0;
}

const OTHER = parseTenantId("other") ?? expect.fail();

function entry(n: number) {
  return { journal: "audit", key: `${n}`, sessionId: null, atMs: n, text: "{}" } as const;
}

const NOBODY = { ok: true, value: [] };

describe("deleting a tenant", () => {
  it("P5: ends its agents, also those that nobody uses any more", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "say hi");
    value(await runtime.close(key, ada));
    expect(agentsOf(stage)).toBe(1);
    value(await runtime.removeTenant(TENANT, "ada"));
    expect(agentsOf(stage)).toBe(0);
    expect(await stage.world.store.tenants()).toEqual(NOBODY);
    await runtime.shutDown(NEVER);
  });

  it("gives a session up that waits for its agent, and nothing is left of it", async () => {
    const stage = await Stage.open({ profiles: new Map([echo("--slow-start", "60000")]) });
    const runtime = new SessionHost(stage.world);
    const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    const creating = runtime.create({ key, creation, actor: ada });
    await expect.poll(() => agentsOf(stage)).toBe(1);
    const removing = runtime.removeTenant(TENANT, "ada");
    expect(await creating).toMatchObject({ refusal: { code: "tenant_deleting" } });
    value(await removing);
    expect(agentsOf(stage)).toBe(0);
    expect(await stage.world.store.tenants()).toEqual(NOBODY);
    await runtime.shutDown(NEVER);
  });

  it("P5: ends what is asked beside a session, though its agent has not come yet", async () => {
    const profiles = new Map([echo()]);
    const stage = await Stage.open({ profiles });
    const { runtime, key, live } = await withSession(stage);
    await turn(live, "say hi");
    profiles.set(...echo("--slow-start", "60000"));
    const asking = stage.world.tenants.count(TENANT, runtime.side.recap(key));
    await expect.poll(() => agentsOf(stage)).toBe(2);
    value(await runtime.removeTenant(TENANT, "ada"));
    expect(value(await asking)).toBeNull();
    expect(agentsOf(stage)).toBe(0);
    await runtime.shutDown(NEVER);
  });

  it.each([
    ["makes a session", "/new", 1],
    ["keeps what it has read", "/reload_skills", 0],
  ])("waits for a command that %s: nothing comes back", async (_what, command, agentsLeft) => {
    const files = { reading: Promise.resolve() };
    const loader = {
      skills: async () => {
        await files.reading;
        return ok(SNAPSHOT);
      },
      persona: async () => ok(NO_PERSONA),
    };
    const stage = await Stage.open({ loader });
    const { runtime, live } = await withSession(stage);
    const slow = Promise.withResolvers<void>();
    files.reading = slow.promise;
    const asked = vi.spyOn(loader, "skills");
    await live.submit(promptOf(live, command));
    await expect.poll(() => asked).toHaveBeenCalled();
    let isDone = false;
    const removing = runtime.removeTenant(TENANT, "ada").finally(() => {
      isDone = true;
    });
    await expect.poll(() => runtime.liveOf(TENANT)).toEqual([]);
    await expect.poll(() => agentsOf(stage)).toBe(agentsLeft);
    // More words with the store than a deletion has, that does not wait.
    const { store } = stage.world;
    for (let n = 0; n < 50; n += 1) await store.appendJournal(OTHER, [entry(n)]);
    expect(isDone).toBe(false);
    slow.resolve();
    value(await removing);
    await stage.world.tenants.empty(TENANT);
    expect(await store.tenants()).toEqual({ ok: true, value: [OTHER] });
    await runtime.shutDown(NEVER);
  });

  it("drops a session that does not end, and its stream says why it is cut short", async () => {
    const store = { isSilent: false };
    const stage = await Stage.open({
      wrap: (real) =>
        altered(real, { commit: (...args) => (store.isSilent ? SILENCE : real.commit(...args)) }),
    });
    const clock = hasty(TENANT_SESSION_END_MS_MAX);
    const { runtime, key } = await playedSession(stage, new PlayedAgents(), { clock });
    const stream = value(await runtime.subscribe(key, { after: null, epoch: null }));
    store.isSilent = true;
    value(await runtime.removeTenant(TENANT, "ada"));
    expect((await framesOf(stream)).at(-1)).toMatchObject({
      type: "stream_error",
      data: { errorKind: "tenant_deleting" },
    });
    expect(await stage.world.store.tenants()).toEqual(NOBODY);
    await runtime.shutDown(NEVER);
  });
});

describe("a tenant that cannot be deleted", () => {
  it("P5: keeps the sessions that came after the deletion was given up", async () => {
    const stage = await Stage.open();
    const clock = hasty(TENANT_REMOVAL_MS_MAX);
    const agents = new PlayedAgents();
    const { runtime, live } = await playedSession(stage, agents, { clock });
    const stuck = Promise.withResolvers<void>();
    void stage.world.tenants.count(TENANT, stuck.promise);
    const busy = await runtime.removeTenant(TENANT, "ada");
    expect(busy).toMatchObject({ refusal: { code: "tenant_busy" } });
    await live.until(({ closed }) => closed);
    const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    const made = value(await runtime.create({ key, creation, actor: ada })).live;
    const dismissed = vi.spyOn(agents, "dismiss");
    stuck.resolve();
    await stage.world.tenants.empty(TENANT);
    // More words with the store than it takes to close a session.
    const { store } = stage.world;
    for (let n = 0; n < 50; n += 1) await store.appendJournal(OTHER, [entry(n)]);
    expect([made.session.closed, made.session.ending]).toEqual([false, null]);
    expect(runtime.peek(key)).toBe(made);
    expect(dismissed).not.toHaveBeenCalled();
    await runtime.shutDown(NEVER);
  });

  it("P1: keeps the homes of its users, which go only with a tenant that is gone", async () => {
    let isAway = true;
    const stage = await Stage.open({
      wrap: (real) =>
        altered(real, {
          removeTenant: async (...args) => (isAway ? AWAY : real.removeTenant(...args)),
        }),
    });
    const agents = new PlayedAgents();
    const forgotten = vi.spyOn(agents, "forget");
    const { runtime } = await playedSession(stage, agents);
    expect(await runtime.removeTenant(TENANT, "ada")).toEqual(AWAY);
    expect(forgotten).not.toHaveBeenCalled();
    isAway = false;
    value(await runtime.removeTenant(TENANT, "ada"));
    expect(forgotten).toHaveBeenCalledExactlyOnceWith(TENANT);
    await runtime.shutDown(NEVER);
  });

  it("P1: is not said to be deleted, though nobody knows whether it is", async () => {
    const stage = await Stage.open({
      wrap: (real) => altered(real, { removeTenant: async () => AWAY }),
    });
    const { runtime } = await playedSession(stage, new PlayedAgents());
    const all = value(runtime.watchTenant({ tenantId: TENANT, userId: null, role: "owner" }));
    expect(await runtime.removeTenant(TENANT, "ada")).toEqual(AWAY);
    const frames = await framesOf(all);
    expect(JSON.stringify(frames)).not.toContain("tenant_deleted");
    expect(frames.at(-1)).toMatchObject({
      type: "stream_error",
      data: { errorKind: "store_unavailable", error: "The tenant may be gone; connect again." },
    });
    await runtime.shutDown(NEVER);
  });

  it("P10: because something does not end is still there, and can be used", async () => {
    const stage = await Stage.open();
    const clock = hasty(TENANT_REMOVAL_MS_MAX);
    const { runtime, key, live } = await playedSession(stage, new PlayedAgents(), { clock });
    const { tenants } = stage.world;
    void tenants.count(TENANT, SILENCE);
    const busy = await runtime.removeTenant(TENANT, "ada");
    expect(busy).toMatchObject({ refusal: { code: "tenant_busy" } });
    expect(tenants.isClosed(TENANT)).toBe(false);
    await live.until(({ closed }) => closed);
    expect(value(await runtime.resume(key, ada)).live.key).toEqual(key);
    await runtime.shutDown(NEVER);
  });

  it("because another server has a session of it is still there; it says who", async () => {
    const stage = await Stage.open();
    const { runtime } = await playedSession(stage, new PlayedAgents());
    const theirs = { holder: thisHolder("another server"), tenants: new TenantGate() };
    const other = await playedSession(stage, new PlayedAgents(), theirs);
    const all = value(runtime.watchTenant({ tenantId: TENANT, userId: null, role: "owner" }));
    const locked = await runtime.removeTenant(TENANT, "ada");
    expect(locked).toMatchObject({
      refusal: {
        code: "session_locked",
        details: { holder: expect.stringContaining("another server") },
      },
    });
    expect(await stage.world.store.tenants()).toEqual({ ok: true, value: [TENANT] });
    await turn(other.live, "/status");
    for (const one of [runtime, other.runtime]) await one.shutDown(NEVER);
    const told = (await framesOf(all)).filter(({ type }) => type === "stream_error");
    expect(told).toMatchObject([{ data: { errorKind: "daemon_shutdown" } }]);
  });
});

/** All that a stream says until it ends. */
async function framesOf(stream: AsyncIterable<Chunk>): Promise<readonly JsonObject[]> {
  const frames: JsonObject[] = [];
  for await (const chunk of stream) {
    for (const batch of chunk) frames.push(...batch.frames.map(({ text }) => JSON.parse(text)));
  }
  return frames;
}

const SILENCE = new Promise<never>(() => {});
