import { describe, expect, it, onTestFinished } from "vitest";
import { parseUserId, type TenantId, type UserId } from "../../core/id.ts";
import { AGENT_PROCESS_ASSUMED_BYTES, AGENT_PROCESSES_MAX } from "../../core/limits.ts";
import { fail, type Result } from "../../core/result.ts";
import { codeOf, Ears, tenant } from "../bridge/bridge.fixture.ts";
import type { AgentHost } from "../bridge/host.ts";
import { profileOf } from "../profile/profile.ts";
import { AgentPool } from "./pool.ts";

const OPERATOR: { tenantId: TenantId; userId: UserId | null } = {
  tenantId: tenant("acme"),
  userId: null,
};

/** A user of a tenant. */
const named = (tenantId: string, userId: string) => ({
  tenantId: tenant(tenantId),
  userId: parseUserId(userId),
});

/** A pool whose agents keep starting until they are aborted. */
function poolOfSlow(memoryBytesMax: number | null) {
  const profile = profileOf({ name: "slow", command: "slow", args: [] });
  let starts = 0;
  const pool = new AgentPool({
    profiles: new Map([["slow", profile]]),
    start: (_key, signal) => {
      starts += 1;
      return new Promise<Result<AgentHost>>((resolve) => {
        const stop = () => resolve(fail("agent_connect_aborted"));
        signal.addEventListener("abort", stop, { once: true });
      });
    },
    memoryBytesMax,
    nowMs: () => 0,
  });
  onTestFinished(() => pool.shutdown());
  /** For a place of its own, so that none of them waits for another's process. */
  const connect = (place: number, signal = new AbortController().signal, by = OPERATOR) => {
    const workspace = `/place-${place}`;
    const folders = { workspace, cwd: workspace };
    const wants = {
      ...by,
      profile: "slow",
      asks: true,
      mcpServers: [],
    };
    const order = { ...wants, ...folders, systemPrompt: null, past: null };
    return pool.connect(order, new Ears(), signal);
  };
  return { connect, starts: () => starts };
}

/** How many of so many at once are refused, once it is known of all that can be. */
async function refusals({ connect }: ReturnType<typeof poolOfSlow>, count: number) {
  const codes: string[] = [];
  for (let place = 0; place < count; place += 1) {
    void connect(place).then((connected) => codes.push(codeOf(connected)));
  }
  await new Promise((resolve) => setImmediate(resolve));
  return codes;
}

describe("P10: the pool's capacity", () => {
  it("is so many processes, those on their way included", async () => {
    const pool = poolOfSlow(null);
    expect(await refusals(pool, AGENT_PROCESSES_MAX + 2)).toEqual([
      "agent_capacity",
      "agent_capacity",
    ]);
    expect(pool.starts()).toBe(AGENT_PROCESSES_MAX);
    const refused = await pool.connect(AGENT_PROCESSES_MAX + 2);
    const reason = `${AGENT_PROCESSES_MAX} are running already (--max-agents)`;
    expect(refused).toMatchObject({ refusal: { details: { reason } } });
  });

  it("is so much memory, of which those on their way are taken to need some", async () => {
    const pool = poolOfSlow(3 * AGENT_PROCESS_ASSUMED_BYTES);
    expect(await refusals(pool, 5)).toEqual(["agent_capacity", "agent_capacity"]);
    expect(pool.starts()).toBe(3);
  });

  it("is one process at least, however little memory there is", async () => {
    const pool = poolOfSlow(1);
    expect(await refusals(pool, 2)).toEqual(["agent_capacity"]);
    expect(pool.starts()).toBe(1);
  });

  it("is free for another when somebody does not wait any more", async () => {
    const pool = poolOfSlow(1);
    const stop = new AbortController();
    const first = pool.connect(0, stop.signal);
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    expect(codeOf(await first)).toBe("agent_connect_aborted");
    let code: string | null = null;
    void pool.connect(1).then((connected) => {
      code = codeOf(connected);
    });
    await expect.poll(() => pool.starts()).toBe(2);
    expect(code).toBeNull();
  });
});

describe("P10: shares of the pool", () => {
  /** Starts so many for a user, and says what those were answered that were refused. */
  async function started(
    { connect }: ReturnType<typeof poolOfSlow>,
    by: ReturnType<typeof named>,
    count: number,
  ) {
    const refusals: unknown[] = [];
    for (let n = 0; n < count; n += 1) {
      place += 1;
      void connect(place, new AbortController().signal, by).then((connected) => {
        if (!connected.ok) refusals.push(connected.refusal.details.scope);
      });
    }
    await new Promise((resolve) => setImmediate(resolve));
    return { count: count - refusals.length, refusals };
  }
  let place = 0;

  it("leave some to a quiet tenant, however many others take all they can", async () => {
    const pool = poolOfSlow(null);
    for (const name of ["ant", "bee", "cat", "dog", "eel"]) {
      const { count, refusals } = await started(pool, named(name, "ada"), AGENT_PROCESSES_MAX);
      expect(count).toBeGreaterThan(0);
      expect(refusals).not.toContain("server");
    }
    expect(await started(pool, named("quiet", "eve"), 1)).toEqual({ count: 1, refusals: [] });
  });

  it("leave some to another user of the tenant", async () => {
    const pool = poolOfSlow(null);
    const first = await started(pool, named("ant", "ada"), AGENT_PROCESSES_MAX);
    expect(first.count).toBeGreaterThan(AGENT_PROCESSES_MAX / 3);
    expect(new Set(first.refusals)).toEqual(new Set(["user"]));
    expect((await started(pool, named("ant", "bob"), 4)).refusals).toEqual([]);
  });

  it("are shares of the memory, too", async () => {
    const pool = poolOfSlow(16 * AGENT_PROCESS_ASSUMED_BYTES);
    const { count } = await started(pool, named("ant", "ada"), 16);
    expect(count).toBeLessThan(13);
    expect((await started(pool, named("bee", "bob"), 1)).refusals).toEqual([]);
  });

  it("P8: tell no user how many agents others have", async () => {
    const pool = poolOfSlow(null);
    await started(pool, named("ant", "ada"), AGENT_PROCESSES_MAX);
    place += 1;
    const by = named("ant", "ada");
    const refused = await pool.connect(place, new AbortController().signal, by);
    expect(refused).toMatchObject({ refusal: { code: "agent_capacity" } });
    expect(JSON.stringify(refused)).not.toMatch(/[0-9]/);
  });

  it("do not bind the operator, for whom some are kept", async () => {
    const pool = poolOfSlow(null);
    for (let n = 0; n < 70; n += 1) await started(pool, named(`t${n}`, "ada"), 2);
    expect(await started(pool, OPERATOR, 3)).toEqual({ count: 2, refusals: ["server"] });
  });
});
