import type { TenantId } from "../core/id.ts";
import { pendingCount } from "../core/session/state.ts";
import { hasTurn } from "../core/status.ts";
import type { Daemon } from "./daemon.ts";
import type { ServerActivity } from "./route/health.ts";
import type { HttpServer } from "./server.ts";

/**
 * What the sessions of a tenant are busy with, or of all together if none is named: figures, and
 * nothing of what is in them. What cannot be told apart by tenant is only for who sees all.
 */
export function activityOf(
  { runtime, settings, world }: Daemon,
  server: HttpServer,
  tenantId: TenantId | null = null,
): ServerActivity {
  const all = runtime.live.filter(({ key }) => tenantId === null || key.tenantId === tenantId);
  const states = all.map(({ session }) => session.connection.sessionState);
  const asks = all.map(({ session }) => session.connection.turn.openAsks.size);
  const activePrompts = all.filter(({ session }) => pendingCount(session) > 0).length;
  const activeMs = all.reduce((last, { attendance }) => Math.max(last, attendance.activeMs), 0);
  const hits = server.rateLimitHits;
  const { total, recovered, setAside } = runtime.recovery;
  return {
    workspaceCount: settings.workspaces.length,
    sessions: all.length,
    pendingPermissions: asks.reduce((sum, one) => sum + one, 0),
    activePrompts,
    activeWork: activePrompts > 0,
    activeWorkReporting: "full",
    activeWorkStaleMs: null,
    connectedClients: tenantId === null ? server.openStreamCount : server.streamCountOf(tenantId),
    channelAlive: states.some((state) => state === "ready" || hasTurn(state)),
    lastActivityAt: activeMs === 0 ? null : new Date(activeMs).toISOString(),
    idleSinceMs: activeMs === 0 || activePrompts > 0 ? null : world.clock.nowMs() - activeMs,
    ...(tenantId === null && { recovery: { total, recovered, setAside: setAside.length } }),
    ...(tenantId === null && hits !== null && { rateLimitHits: hits }),
  };
}
