import { describe, expect, it, onTestFinished } from "vitest";
import { AGENT_PROCESS_ASSUMED_BYTES, AGENT_PROCESSES_MAX } from "../../core/limits.ts";
import { fail, type Result } from "../../core/result.ts";
import { codeOf, Ears, tenant } from "../bridge/bridge.fixture.ts";
import type { AgentHost } from "../bridge/host.ts";
import { profileOf } from "../profile/profile.ts";
import { AgentPool } from "./pool.ts";

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
  const connect = (place: number, signal = new AbortController().signal) => {
    const workspace = `/place-${place}`;
    const folders = { workspace, cwd: workspace };
    const wants = {
      tenantId: tenant("acme"),
      userId: null,
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
    const reason = `${AGENT_PROCESSES_MAX} are running already`;
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
