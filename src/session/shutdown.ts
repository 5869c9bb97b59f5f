import { SHUTDOWN_DRAIN_MS } from "../core/limits.ts";
import type { LiveSession } from "./live.ts";
import type { SessionRegistry } from "./registry.ts";
import type { SessionWorld } from "./world.ts";

/**
 * Stops everything that is live, in order: nothing new is taken in; turns at work may finish, for
 * a while or until somebody is in a hurry; then each session is ended and given back to the store,
 * and the agents go last. A turn that waits for people is not waited for. The store itself belongs
 * to whoever opened it.
 */
export async function shutDown(
  world: SessionWorld,
  registry: SessionRegistry,
  hurry: AbortSignal,
): Promise<void> {
  registry.stopTakingIn();
  await drained(world, registry.all, hurry);
  const endAll = () => Promise.all(registry.all.map((live) => endOf(registry, live)));
  await endAll();
  await world.agents.shutdown();
  await registry.quiet();
  await endAll();
}

/** What cannot be ended in good order, its store being away, is left to the next server. */
async function endOf(registry: SessionRegistry, live: LiveSession): Promise<void> {
  for (let tries = 0; tries < 3; tries += 1) {
    if ((await registry.evict(live, "daemon_shutdown")) === null) return;
  }
  await registry.abandon(live);
}

async function drained(world: SessionWorld, all: readonly LiveSession[], hurry: AbortSignal) {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const callOff = world.clock.after(SHUTDOWN_DRAIN_MS, resolve);
  hurry.addEventListener("abort", () => resolve(), { once: true });
  if (hurry.aborted) resolve();
  const finished = all.map((live) =>
    live.until(({ connection }) => connection.sessionState !== "running"),
  );
  await Promise.race([late, Promise.all(finished)]);
  callOff();
}
