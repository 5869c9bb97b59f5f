import type { Daemon } from "../daemon.ts";
import { type Caller, type Route, RouteTable } from "../http/route.ts";
import { agentSessionsRoutes } from "./agent-sessions.ts";
import { agentsRoutes } from "./agents.ts";
import { allSessionsRoute } from "./all-sessions.ts";
import { approvalsRoute, grantsRoutes, openAsksRoute, voteRoutes } from "./asks.ts";
import { auditRoute, tenantAuditRoute } from "./audit.ts";
import { createRoute } from "./create.ts";
import { creditReportRoutes, creditsRoutes } from "./credits.ts";
import { invitationsRoutes } from "./invitations.ts";
import { membersRoutes, tokensRoutes } from "./members.ts";
import { midTurnRoutes } from "./mid-turn.ts";
import { cancelRoute, pendingPromptsRoutes, promptRoute, turnRoutes } from "./prompts.ts";
import { referenceRoutes } from "./reference.ts";
import { branchRoute, loadRoute, resumeRoute } from "./restore.ts";
import { searchRoute } from "./search.ts";
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
  sessionStatusRoutes,
  statsRoute,
  supportedCommandsRoute,
} from "./session.ts";
import {
  activeAgentRoute,
  agentModeRoute,
  approvalModeRoute,
  autonomyRoute,
  configOptionRoute,
  extensionsReloadRoute,
  modelRoute,
  personaReloadRoute,
  sandboxRoute,
  skillsReloadRoute,
  visibilityRoutes,
} from "./session-settings.ts";
import { batchDeleteRoutes, listRoutes, workspaceEntry, workspacesRoutes } from "./sessions.ts";
import { btwRoute, recapRoute, shellRoute, taskRoutes } from "./side-work.ts";
import { policyRoutes, tenantEventsRoute, tenantRemovalRoute, tenantRoutes } from "./tenant.ts";
import { childEventsRoute, eventsRoute, exportRoute, transcriptRoute } from "./transcripts.ts";

/** All routes that need nothing but the daemon, by resource. */
const ROUTES: readonly ((daemon: Daemon) => Route | readonly Route[])[] = [
  workspacesRoutes,
  agentsRoutes,
  agentSessionsRoutes,
  creditsRoutes,
  creditReportRoutes,
  tenantRoutes,
  policyRoutes,
  membersRoutes,
  invitationsRoutes,
  tenantAuditRoute,
  tokensRoutes,
  listRoutes,
  allSessionsRoute,
  searchRoute,
  openAsksRoute,
  batchDeleteRoutes,
  tenantEventsRoute,
  tenantRemovalRoute,
  createRoute,
  loadRoute,
  resumeRoute,
  closeRoute,
  detachRoute,
  heartbeatRoute,
  metadataRoute,
  branchRoute,
  promptRoute,
  cancelRoute,
  modelRoute,
  activeAgentRoute,
  skillsReloadRoute,
  extensionsReloadRoute,
  personaReloadRoute,
  approvalModeRoute,
  autonomyRoute,
  agentModeRoute,
  configOptionRoute,
  grantsRoutes,
  sandboxRoute,
  visibilityRoutes,
  voteRoutes,
  pendingPromptsRoutes,
  midTurnRoutes,
  recapRoute,
  btwRoute,
  shellRoute,
  taskRoutes,
  eventsRoute,
  childEventsRoute,
  sessionStatusRoutes,
  fieldsRoute,
  approvalsRoute,
  contextRoute,
  contextUsageRoute,
  statsRoute,
  supportedCommandsRoute,
  turnRoutes,
  transcriptRoute,
  exportRoute,
  auditRoute,
];

/** Builds the table of all routes. */
export function allRoutes(daemon: Daemon, version: string, report: ActivityReport): RouteTable {
  const { settings } = daemon;
  const workspaces = (caller: Caller) => workspaceEntries(daemon, caller);
  const table: RouteTable = new RouteTable([
    healthRoute(report),
    capabilitiesRoute({ settings, version, table: () => table, workspaces }),
    statusTableRoute(),
    ...referenceRoutes({ version, table: () => table }),
    ...ROUTES.flatMap((routesOf) => routesOf(daemon)),
  ]);
  return table;
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
