import { SHUTDOWN_DRAIN_MS, SHUTDOWN_END_MS, SHUTDOWN_TRIES_MAX } from "../../core/limits.ts";
import type { LiveSession } from "../live.ts";
import type { SessionRegistry } from "../registry.ts";
import type { SessionWorld } from "../world.ts";

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
  const endAll = () => Promise.all(registry.all.map((live) => endOf(world, registry, live)));
  await endAll();
  await world.agents.shutdown();
  await registry.quiet();
  await endAll();
}

/** What cannot be ended in good order, its store being away, is left to the next server. */
async function endOf(
  world: SessionWorld,
  registry: SessionRegistry,
  live: LiveSession,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const callOff = world.clock.after(SHUTDOWN_END_MS, () => resolve("late"));
  for (let tries = 0; tries < SHUTDOWN_TRIES_MAX; tries += 1) {
    const ended = await Promise.race([registry.evict(live, "daemon_shutdown"), late]);
    if (ended === null) return callOff();
    if (ended === "late") break;
  }
  callOff();
  const { sessionId } = live.key;
  world.log("session abandoned: its store does not answer", { sessionId });
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
