import { CLIENT_IDLE_MS_MAX } from "../../core/limits.ts";
import { SERVER } from "../../core/session/command.ts";
import type { LiveSession } from "../live.ts";
import type { SessionRegistry } from "../registry.ts";
import type { SessionWorld } from "../world.ts";

/** Lets go of what nobody has used for a while; the wire's idle reaper. */
export async function reapIdle(
  world: SessionWorld,
  registry: SessionRegistry,
  isWatched: (live: LiveSession) => boolean,
): Promise<void> {
  const nowMs = world.clock.nowMs();
  const idleMs = world.settings.idleMs ?? Number.POSITIVE_INFINITY;
  const idle = registry.all.filter((live) => {
    const isUsed = live.isBusy || isWatched(live);
    return !isUsed && nowMs - live.attendance.activeMs >= idleMs;
  });
  for (const live of idle) await registry.evict(live, "idle_timeout");
  for (const live of registry.all) await forgetClients(live, nowMs);
}

/** Registrations are kept over restarts, and so would be for ever. */
async function forgetClients(live: LiveSession, atMs: number): Promise<void> {
  for (const clientId of live.session.clients.keys()) {
    const seenMs = live.attendance.seenMs(clientId) ?? live.attendance.openedMs;
    if (atMs - seenMs < CLIENT_IDLE_MS_MAX) continue;
    await live.submit({ type: "client_expiry", atMs, actor: SERVER, clientId });
    live.attendance.forget(clientId);
  }
}
