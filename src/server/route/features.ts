import type { Method, Route } from "../route.ts";
import type { ServerSettings } from "../settings.ts";

/** Tags that a route promises by what it does, and not by being there: its row says so. */
export type HonouredFeature =
  | "session_scope_override"
  | "session_id_override"
  | "session_source_metadata"
  | "non_blocking_prompt"
  | "slow_client_warning"
  | "typed_event_schema"
  | "client_identity"
  | "permission_mediation"
  | "workspace_qualified_rest_core"
  | "multi_workspace_sessions";

type RouteName = `${Method} /${string}`;

/** When a tag is true: a route is there, a row honours it, or an option is on. */
type Condition =
  | { readonly route: RouteName; readonly option?: (settings: ServerSettings) => boolean }
  | { readonly honoured: true }
  | { readonly option: (settings: ServerSettings) => boolean };

const HONOURED: Condition = { honoured: true };

const BY_BEHAVIOUR: Readonly<Record<HonouredFeature, Condition>> = {
  session_scope_override: HONOURED,
  session_id_override: HONOURED,
  session_source_metadata: HONOURED,
  non_blocking_prompt: HONOURED,
  slow_client_warning: HONOURED,
  typed_event_schema: HONOURED,
  client_identity: HONOURED,
  permission_mediation: HONOURED,
  workspace_qualified_rest_core: HONOURED,
  multi_workspace_sessions: HONOURED,
};

/** Every tag that clients may look for, beside what makes it true (wire, 2.3). */
const FEATURES: Readonly<Record<string, Condition>> = {
  health: { route: "GET /health" },
  capabilities: { route: "GET /capabilities" },
  session_create: { route: "POST /session" },
  session_load: { route: "POST /session/:id/load" },
  session_resume: { route: "POST /session/:id/resume" },
  unstable_session_resume: { route: "POST /session/:id/resume" },
  session_list: { route: "GET /workspace/:id/sessions" },
  session_info: { route: "GET /workspace/:id/session-info" },
  session_prompt: { route: "POST /session/:id/prompt" },
  session_cancel: { route: "POST /session/:id/cancel" },
  session_events: { route: "GET /session/:id/events" },
  session_set_model: { route: "POST /session/:id/model" },
  session_approval_mode_control: { route: "POST /session/:id/approval-mode" },
  client_heartbeat: { route: "POST /session/:id/heartbeat" },
  session_permission_vote: { route: "POST /session/:id/permission/:requestId" },
  permission_vote: { route: "POST /permission/:requestId" },
  session_context: { route: "GET /session/:id/context" },
  session_context_usage: { route: "GET /session/:id/context-usage" },
  session_supported_commands: { route: "GET /session/:id/supported-commands" },
  session_stats: { route: "GET /session/:id/stats" },
  session_tasks: { route: "GET /session/:id/tasks" },
  session_lsp: { route: "GET /session/:id/lsp" },
  session_status: { route: "GET /session/:id/status" },
  session_close: { route: "DELETE /session/:id" },
  session_metadata: { route: "PATCH /session/:id/metadata" },
  session_recap: { route: "POST /session/:id/recap" },
  session_btw: { route: "POST /session/:id/btw" },
  session_shell_command: {
    route: "POST /session/:id/shell",
    option: ({ enableShell }) => enableShell,
  },
  session_turn_status: { route: "GET /session/:id/turns/:promptId" },
  session_mid_turn_message_query: { route: "GET /session/:id/mid-turn-messages" },
  session_mid_turn_message_mutation: { route: "DELETE /session/:id/mid-turn-messages/:messageId" },
  session_archive: { route: "POST /sessions/archive" },
  session_export: { route: "GET /session/:id/export" },
  session_transcript: { route: "GET /session/:id/transcript" },
  session_branch: { route: "POST /session/:id/branch" },
  session_rewind: { route: "POST /session/:id/rewind" },
  session_organization: { route: "PATCH /session/:id/organization" },
  session_attachments: { route: "POST /session/:id/attachments" },
  session_artifacts: { route: "GET /session/:id/artifacts" },
  session_generation: { route: "POST /session/:id/generate" },
  session_language: { route: "POST /session/:id/language" },
  session_side_task: { route: "POST /session/:id/side-task" },
  session_hooks: { route: "GET /session/:id/hooks" },
  workspace_session_live_state: { route: "GET /workspaces/:workspace/sessions/live-state" },
  ...BY_BEHAVIOUR,
  prompt_absolute_deadline: { option: ({ promptDeadlineMs }) => promptDeadlineMs !== null },
  writer_idle_timeout: { option: ({ writerIdleTimeoutMs }) => writerIdleTimeoutMs !== null },
  require_auth: { option: ({ requireAuth }) => requireAuth },
  allow_origin: { option: ({ allowOrigins }) => allowOrigins.length > 0 },
  rate_limit: { option: ({ rateLimit }) => rateLimit !== null },
};

/** The routes of a server, and whether there is one for such requests. */
export interface KnownRoutes {
  readonly routes: readonly Route[];
  has(method: Method, path: string): boolean;
}

/** The tags that are true of this server; nothing is promised that is not there. */
export function featuresOf(table: KnownRoutes, settings: ServerSettings): readonly string[] {
  const honoured: ReadonlySet<string> = new Set(
    table.routes.flatMap(({ honours }) => honours ?? []),
  );
  return Object.entries(FEATURES).flatMap(([tag, condition]) => {
    if ("honoured" in condition) return honoured.has(tag) ? [tag] : [];
    const isOn = condition.option?.(settings) ?? true;
    const isThere = !("route" in condition) || hasRoute(table, condition.route);
    return isOn && isThere ? [tag] : [];
  });
}

const METHODS: readonly Method[] = ["GET", "POST", "PATCH", "DELETE"];

function hasRoute(table: KnownRoutes, name: RouteName): boolean {
  return METHODS.some((method) => {
    return name.startsWith(`${method} `) && table.has(method, name.slice(method.length + 1));
  });
}
