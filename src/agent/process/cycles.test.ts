import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { endOrphans } from "./orphans.ts";
import { World } from "./world.fixture.ts";

/** How many lives; more with `FERMATA_KILLS=1000`. In one of five the server dies. */
const CYCLES = Number(process.env.FERMATA_KILLS ?? 200);
const AT_ONCE = 4;
const START_MS = 60; // About what the four agents of a server need to be started.
const TEST_MS = 60_000 + CYCLES * 300;

describe("P5: agents that are started and killed again and again", () => {
  it(`leave no process and no mark after ${CYCLES} lives`, { timeout: TEST_MS }, async () => {
    const world = new World();
    const lives = Array.from({ length: CYCLES }, (_, n) => n).values();
    const lane = async () => {
      for (const n of lives) await (n % 5 === 0 ? liveAndDieWithServer(world) : live(world, n));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    const { notes } = await endOrphans(world.marksFolder);
    expect(notes).toEqual([]);
    expect(world.alive()).toEqual([]);
    expect(world.markFiles()).toEqual([]);
  });
});

/** The moment is chosen by chance, from its first line of work to when all are started. */
async function liveAndDieWithServer(world: World) {
  const server = world.server("when it is killed");
  await server.says("begins");
  await delay(Math.random() * START_MS);
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
