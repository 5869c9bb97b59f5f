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
  await Promise.all(registry.all.map((live) => registry.evict(live, "daemon_shutdown")));
  await world.agents.shutdown();
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
