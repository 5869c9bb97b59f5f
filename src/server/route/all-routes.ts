import type { Daemon } from "../daemon.ts";
import { type Caller, type Route, RouteTable } from "../http/route.ts";
import { agentsRoutes } from "./agents.ts";
import { approvalsRoute, grantsRoutes, voteRoutes } from "./asks.ts";
import { auditRoute, tenantAuditRoute } from "./audit.ts";
import { createRoute } from "./create.ts";
import { creditReportRoutes, creditsRoutes } from "./credits.ts";
import { membersRoutes, tokensRoutes } from "./members.ts";
import { midTurnRoutes } from "./mid-turn.ts";
import { cancelRoute, pendingPromptsRoutes, promptRoute, turnRoutes } from "./prompts.ts";
import { branchRoute, loadRoute, resumeRoute } from "./restore.ts";
import {
  type ActivityReport,
  capabilitiesRoute,
  healthRoute,
  statusTableRoute,
  type WorkspaceEntry,
} from "./server-info.ts";
import {
  closeRoute,
  contextRoute,
  contextUsageRoute,
  detachRoute,
  fieldsRoute,
  heartbeatRoute,
  metadataRoute,
  sessionStatusRoute,
  statsRoute,
  supportedCommandsRoute,
} from "./session.ts";
import {
  activeAgentRoute,
  agentModeRoute,
  approvalModeRoute,
  autonomyRoute,
  modelRoute,
  personaReloadRoute,
  sandboxRoute,
  skillsReloadRoute,
} from "./session-settings.ts";
import { batchDeleteRoutes, listRoutes } from "./sessions.ts";
import { btwRoute, recapRoute, shellRoute, taskRoutes } from "./side-work.ts";
import { tenantEventsRoute, tenantRemovalRoute, tenantRoutes } from "./tenant.ts";
import { eventsRoute, exportRoute, transcriptRoute } from "./transcripts.ts";
import { workspaceEntry, workspacesRoutes } from "./workspaces.ts";

/** Builds the table of all routes. */
export function allRoutes(daemon: Daemon, version: string, report: ActivityReport): RouteTable {
  const table: RouteTable = new RouteTable([
    healthRoute(report),
    capabilitiesRoute({
      settings: daemon.settings,
      version,
      table: () => table,
      workspaces: (caller) => workspaceEntries(daemon, caller),
    }),
    statusTableRoute(),
    ...workspacesRoutes(daemon),
    ...agentsRoutes(daemon),
    ...creditsRoutes(daemon),
    ...creditReportRoutes(daemon),
    ...tenantRoutes(daemon),
    ...membersRoutes(daemon),
    tenantAuditRoute(daemon),
    ...tokensRoutes(daemon),
    ...listRoutes(daemon),
    ...batchDeleteRoutes(daemon),
    tenantEventsRoute(daemon),
    tenantRemovalRoute(daemon),
    ...lifeRoutes(daemon),
    ...workRoutes(daemon),
    ...readingRoutes(daemon),
  ]);
  return table;
}

/** Routes that create, join, end and name sessions. */
function lifeRoutes(daemon: Daemon): readonly Route[] {
  return [
    createRoute(daemon),
    loadRoute(daemon),
    resumeRoute(daemon),
    closeRoute(daemon),
    detachRoute(daemon),
    heartbeatRoute(daemon),
    metadataRoute(daemon),
    branchRoute(daemon),
  ];
}

/** Routes that change a session. */
function workRoutes(daemon: Daemon): readonly Route[] {
  return [
    promptRoute(daemon),
    cancelRoute(daemon),
    modelRoute(daemon),
    activeAgentRoute(daemon),
    skillsReloadRoute(daemon),
    personaReloadRoute(daemon),
    approvalModeRoute(daemon),
    autonomyRoute(daemon),
    agentModeRoute(daemon),
    ...grantsRoutes(daemon),
    sandboxRoute(daemon),
    ...voteRoutes(daemon),
    ...pendingPromptsRoutes(daemon),
    ...midTurnRoutes(daemon),
    recapRoute(daemon),
    btwRoute(daemon),
    shellRoute(daemon),
    ...taskRoutes(daemon),
  ];
}

/** Routes that read a session. */
function readingRoutes(daemon: Daemon): readonly Route[] {
  return [
    eventsRoute(daemon),
    sessionStatusRoute(daemon),
    fieldsRoute(daemon),
    approvalsRoute(daemon),
    contextRoute(daemon),
    contextUsageRoute(daemon),
    statsRoute(daemon),
    supportedCommandsRoute(daemon),
    ...turnRoutes(daemon),
    transcriptRoute(daemon),
    exportRoute(daemon),
    auditRoute(daemon),
  ];
}

/** If the tenant's list cannot be read, the server's own workspace is still offered. */
async function workspaceEntries(
  { workspaces, settings }: Daemon,
  { tenantId }: Caller,
): Promise<readonly WorkspaceEntry[]> {
  const known = await workspaces.of(tenantId);
  if (known.ok) return known.value.map(workspaceEntry);
  const [cwd = "/"] = settings.workspaces;
  return [{ id: cwd, cwd, primary: true, trusted: true }];
}
