import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { endOrphans } from "./marks.ts";
import { World } from "./world.fixture.ts";

/** How many lives; more with `FERMATA_KILLS=1000`. In one of five the server dies. */
const CYCLES = Number(process.env.FERMATA_KILLS ?? 200);
const AT_ONCE = 4;
const START_MS = 60; // About what the four agents of a server need to be started.
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2; // Its multiples come close to no moment twice.
const TEST_MS = 60_000 + CYCLES * 300;

describe("P5: agents that are started and killed again and again", () => {
  it(`leave no process and no mark after ${CYCLES} lives`, { timeout: TEST_MS }, async () => {
    const world = new World();
    const lives = Array.from({ length: CYCLES }, (_, n) => n).values();
    const lane = async () => {
      for (const n of lives) await (n % 5 === 0 ? liveAndDieWithServer(world, n) : live(world, n));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    const { notes } = await endOrphans(world.marksFolder);
    expect(notes).toEqual([]);
    expect(world.alive()).toEqual([]);
    expect(world.markFiles()).toEqual([]);
  });
});

/**
 * The moments are spread evenly from its first line of work to when all are started, and are the
 * same every time: what differs is only how far the machine has come by then.
 */
async function liveAndDieWithServer(world: World, n: number) {
  const server = world.server("when it is killed");
  await server.says("begins");
  await delay(((n * GOLDEN_RATIO) % 1) * START_MS);
  await server.kill();
}

async function live(world: World, n: number) {
  const agent = await world.started(world.profileOf("sh", ["-c", SCRIPTS[n % 3] ?? ""]));
  agent.stdout.resume();
  if (n % 2 === 0) process.kill(agent.pid, "SIGKILL");
  else void agent.kill();
  await agent.exited;
  await agent.end();
}

/** One process; one with a child in its group; one with a child that leaves it. */
const SCRIPTS = ["exec sleep 600", "sleep 600 & wait", "setsid sleep 600 & wait"];
