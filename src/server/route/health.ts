import type { TenantId } from "../../core/id.ts";
import { type Answer, json } from "../answer.ts";
import type { RateTier } from "../gate/rate-limiter.ts";
import { type Route, route } from "../route.ts";

/** What a server is busy with (wire, 2.1). */
export interface ServerActivity {
  readonly workspaceCount: number;
  readonly sessions: number;
  readonly pendingPermissions: number;
  readonly activePrompts: number;
  readonly activeWork: boolean;
  readonly activeWorkReporting: "full" | "partial" | "none";
  readonly activeWorkStaleMs: number | null;
  /** Open event streams. */
  readonly connectedClients: number;
  /** Whether any agent runs. */
  readonly channelAlive: boolean;
  readonly lastActivityAt: string | null;
  readonly idleSinceMs: number | null;
  /** How far the server has come with what the last one left at work; ours. Of all tenants. */
  readonly recovery?: {
    readonly total: number;
    readonly recovered: number;
    readonly setAside: number;
  };
  readonly rateLimitHits?: Readonly<Record<RateTier, number>>;
}

/** A server that is up and not well, with the wire's word for why. */
interface Degradation {
  readonly degraded: "aggregation_failed" | "bootstrap" | "workspace_runtime_blocked";
}

/** Of one tenant; null is of all. */
export type ActivityReport = (tenantId: TenantId | null) => Promise<ServerActivity | Degradation>;

/**
 * Whether the server answers, and on request what it is doing: all of it for whoever runs it, or
 * needs no token; for a user what their tenant does; for others nothing (P8).
 */
export function healthRoute(report: ActivityReport): Route {
  return route({
    method: "GET",
    path: "/health",
    gate: "open",
    needs: null,
    clientId: "ignored",
    body: "json",
    mindsCaller: isDeep,
    async handle({ query, caller }) {
      if (caller === null || !isDeep(query)) return json(200, { status: "ok" });
      return deepHealth(() => report(caller.userId === null ? null : caller.tenantId));
    },
  });
}

function isDeep(query: URLSearchParams): boolean {
  const deep = query.get("deep");
  return deep === "" || deep === "1" || deep === "true";
}

/** That the figures cannot be had is itself a finding, and no error of this request. */
async function deepHealth(report: () => ReturnType<ActivityReport>): Promise<Answer> {
  const found = await report().catch((): Degradation => ({ degraded: "aggregation_failed" }));
  if ("degraded" in found) return json(503, { status: "degraded", reason: found.degraded });
  return json(200, { status: "ok", ...found });
}
