import { describe, expect, it, onTestFinished } from "vitest";
import { parseSessionId, parseTenantId, parseUserId, type TenantId } from "../../core/id.ts";
import { HEALTH_LOOK_AGE_MS_MAX } from "../../core/limits.ts";
import type { Role } from "../../core/permission.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { StoreFault } from "../../store/store.ts";
import { Stage, TENANT } from "../stage.fixture.ts";
import { ServerHealth } from "./health.ts";

const OTHER = parseTenantId("other") ?? expect.fail();
const SECRET_PATH = "/var/lib/fermata/sessions/tenants/other/sessions.db";

function viewer(role: Role, tenantId = TENANT) {
  return { tenantId, userId: parseUserId("ada") ?? expect.fail(), role, loopback: true };
}

/** A health monitor whose surroundings a test chooses. */
async function monitored() {
  const stage = await Stage.open();
  const lines: string[] = [];
  const faults: StoreFault[] = [];
  let looks = 0;
  let nowMs = 1_000_000;
  const world = {
    answer: (): Promise<Result<readonly StoreFault[]>> => Promise.resolve(ok(faults)),
    noted: [] as string[],
    tenants: new Set([TENANT]),
    failing: false,
  };
  const { storeId } = stage.world.store.contract;
  const notes = {
    tenants: async () => ok([...world.tenants]),
    findTenant: async (tenantId: TenantId) => ok(world.tenants.has(tenantId) ? storeId : null),
    noteTenant: async (tenantId: TenantId) => {
      world.tenants.add(tenantId);
      return DONE;
    },
    forgetTenantItself: async (tenantId: TenantId) => {
      world.tenants.delete(tenantId);
      return DONE;
    },
    sessionsOf: async () => ok(world.noted.flatMap((id) => parseSessionId(id) ?? [])),
    find: async ({ sessionId }: { sessionId: string }) =>
      ok(world.noted.includes(sessionId) ? storeId : null),
    forget: async () => DONE,
  };
  const store = Object.assign(Object.create(stage.world.store), {
    check: () => {
      looks += 1;
      return world.answer();
    },
  });
  for (const name of ["readRecord", "readJournal", "list", "tenants"] as const) {
    store[name] = (stage.world.store[name] as (...args: never[]) => unknown).bind(
      stage.world.store,
    );
  }
  const agent = { tenantId: TENANT, profile: "qwen", workspace: "/srv/ada", failures: 5 };
  const health = new ServerHealth({
    store,
    notes,
    agents: { failing: () => (world.failing ? [{ ...agent, reason: "no key" }] : []) },
    clock: { nowMs: () => nowMs, after: () => () => {} },
    log: (what, { reason }) => void lines.push(`${what} ${reason}`),
    redact: (text) => text,
  });
  onTestFinished(() => health.end());
  const later = () => {
    nowMs += HEALTH_LOOK_AGE_MS_MAX;
  };
  return { stage, health, world, faults, lines, later, looks: () => looks };
}

describe("the health of a server", () => {
  it("P8: tells users of their own tenant only, and the operator all", async () => {
    const { health, faults } = await monitored();
    faults.push({ kind: "damaged", tenantId: OTHER, reason: `its database ${SECRET_PATH}` });
    expect(await health.reasons(viewer("owner"))).toEqual([]);
    expect(await health.reasons(viewer("member"))).toEqual([]);
    const [own] = await health.reasons(viewer("member", OTHER));
    expect(own).toMatchObject({ code: "database_damaged", blocks: true });
    expect(JSON.stringify(own)).not.toContain(SECRET_PATH);
    expect(await health.reasons(null)).toMatchObject([
      { code: "database_damaged", tenantId: OTHER, message: `its database ${SECRET_PATH}` },
    ]);
  });

  it("P8: counts missing sessions, and names failing agents, for owners only", async () => {
    const { stage, health, world } = await monitored();
    await stage.created();
    world.noted = ["lost-1", "lost-2"];
    world.failing = true;
    await health.begin();
    expect(await health.reasons(viewer("member"))).toEqual([]);
    const seen = await health.reasons(viewer("owner"));
    expect(seen.map(({ code }) => code)).toEqual(["sessions_missing", "agent_failing"]);
    expect(seen[0]).toMatchObject({ sessions: 2, blocks: false });
    expect(JSON.stringify(seen)).not.toContain("/srv/ada");
    expect(JSON.stringify(await health.reasons(null))).toContain("/srv/ada");
  });

  it("does not miss what is there, and forgets what it missed once it is not noted", async () => {
    const { stage, health, world, later } = await monitored();
    const { sessionId } = await stage.created();
    world.noted = [sessionId, "lost-1"];
    await health.begin();
    expect(await health.reasons(null)).toMatchObject([{ sessions: 1 }]);
    world.noted = [sessionId];
    later();
    expect(await health.reasons(null)).toEqual([]);
  });

  it("misses a tenant that is noted and not stored, and notes those that are", async () => {
    const { stage, health, world, later } = await monitored();
    world.tenants = new Set([OTHER]);
    await stage.created();
    await health.begin();
    expect(world.tenants).toEqual(new Set([OTHER, TENANT]));
    expect(await health.reasons(null)).toMatchObject([
      { code: "tenant_missing", tenantId: OTHER, blocks: false },
    ]);
    expect(await health.reasons(viewer("owner", OTHER))).toHaveLength(1);
    expect(await health.reasons(viewer("member", OTHER))).toEqual([]);
    expect(await health.reasons(viewer("owner"))).toEqual([]);
    world.tenants.delete(OTHER);
    later();
    expect(await health.reasons(null)).toEqual([]);
  });

  it("P10: looks once for requests that come together, and logs each change once", async () => {
    const { health, faults, lines, later, looks } = await monitored();
    faults.push({ kind: "unwritable", tenantId: null, reason: "no space" });
    await Promise.all(Array.from({ length: 50 }, () => health.reasons(null)));
    expect(looks()).toBe(1);
    later();
    await health.reasons(null);
    expect([looks(), lines]).toEqual([2, ["degraded store_unwritable"]]);
    faults.length = 0;
    later();
    expect(await health.reasons(null)).toEqual([]);
    expect(lines).toEqual(["degraded store_unwritable", "no longer degraded store_unwritable"]);
  });

  it("takes a store that refuses to look for one that cannot be written", async () => {
    const { health, world } = await monitored();
    world.answer = async () => fail("store_unavailable", { reason: "its thread has ended" });
    expect(await health.reasons(null)).toMatchObject([{ code: "store_unwritable", blocks: true }]);
  });
});
