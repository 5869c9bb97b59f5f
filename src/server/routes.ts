import type { Daemon } from "./daemon.ts";
import { activeAgentRoute } from "./route/active-agent.ts";
import { agentModeRoute } from "./route/agent-mode.ts";
import { agentsRoutes } from "./route/agents.ts";
import { approvalModeRoute } from "./route/approval-mode.ts";
import { approvalsRoute } from "./route/approvals.ts";
import { auditRoute } from "./route/audit.ts";
import { autonomyRoute } from "./route/autonomy.ts";
import { batchDeleteRoutes } from "./route/batch-delete.ts";
import { branchRoute } from "./route/branch.ts";
import { btwRoute } from "./route/btw.ts";
import { cancelRoute } from "./route/cancel.ts";
import { capabilitiesRoute, type WorkspaceEntry } from "./route/capabilities.ts";
import { closeRoute } from "./route/close.ts";
import { contextRoute } from "./route/context.ts";
import { contextUsageRoute } from "./route/context-usage.ts";
import { createRoute } from "./route/create.ts";
import { creditsRoutes } from "./route/credits.ts";
import { creditReportRoutes } from "./route/credits-report.ts";
import { detachRoute } from "./route/detach.ts";
import { eventsRoute } from "./route/events.ts";
import { exportRoute } from "./route/export.ts";
import { fieldsRoute } from "./route/fields.ts";
import { grantsRoutes } from "./route/grants.ts";
import { type ActivityReport, healthRoute } from "./route/health.ts";
import { heartbeatRoute } from "./route/heartbeat.ts";
import { listRoutes } from "./route/list.ts";
import { membersRoutes } from "./route/members.ts";
import { metadataRoute } from "./route/metadata.ts";
import { midTurnRoutes } from "./route/mid-turn.ts";
import { modelRoute } from "./route/model.ts";
import { pendingPromptsRoutes } from "./route/pending-prompts.ts";
import { promptRoute } from "./route/prompt.ts";
import { recapRoute } from "./route/recap.ts";
import { personaReloadRoute, skillsReloadRoute } from "./route/reload.ts";
import { loadRoute, resumeRoute } from "./route/restore.ts";
import { sandboxRoute } from "./route/sandbox.ts";
import { sessionStatusRoute } from "./route/session-status.ts";
import { shellRoute } from "./route/shell.ts";
import { statsRoute } from "./route/stats.ts";
import { statusTableRoute } from "./route/status-table.ts";
import { supportedCommandsRoute } from "./route/supported-commands.ts";
import { taskRoutes } from "./route/tasks.ts";
import { tenantRoutes } from "./route/tenant.ts";
import { tenantAuditRoute } from "./route/tenant-audit.ts";
import { tenantEventsRoute } from "./route/tenant-events.ts";
import { tenantRemovalRoute } from "./route/tenant-removal.ts";
import { tokensRoutes } from "./route/tokens.ts";
import { transcriptRoute } from "./route/transcript.ts";
import { turnRoutes } from "./route/turns.ts";
import { voteRoutes } from "./route/vote.ts";
import { workspaceEntry, workspacesRoutes } from "./route/workspaces.ts";
import type { Caller, Route } from "./route.ts";
import { RouteTable } from "./route-table.ts";

/** Everything that can be asked of a server. */
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

/** How a session comes, goes, and is known. */
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

/** What is done in one. */
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

/** What can be read of one. */
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

/** Where a list cannot be read, the server's own workspaces are still known. */
async function workspaceEntries(
  { workspaces, settings }: Daemon,
  { tenantId }: Caller,
): Promise<readonly WorkspaceEntry[]> {
  const known = await workspaces.of(tenantId);
  if (known.ok) return known.value.map(workspaceEntry);
  const [cwd = "/"] = settings.workspaces;
  return [{ id: cwd, cwd, primary: true, trusted: true }];
}
