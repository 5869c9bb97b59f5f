import { z } from "zod";
import { ADMISSION } from "../../core/session/admission.ts";
import {
  AGENT_STATUSES,
  applySessionTransition,
  SESSION_STATES,
  VALID_TRANSITIONS,
} from "../../core/status.ts";
import type { HealthReason } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, json } from "../http/answer.ts";
import type { RateTier } from "../http/rate-limiter.ts";
import { readQuery } from "../http/request-schema.ts";
import { type Caller, type Method, type Route, type RouteTable, route } from "../http/route.ts";
import type { HttpServer } from "../http/server.ts";
import type { ServerSettings } from "../settings.ts";
import { ABOUT_SERVER } from "./about/server.ts";

/** What a server is doing, in figures. */
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
  /** Progress of recovering what the last process left running, for all tenants. Ours. */
  readonly recovery?: {
    readonly total: number;
    readonly recovered: number;
    readonly setAside: number;
  };
  readonly rateLimitHits?: Readonly<Record<RateTier, number>>;
  /** What weakens the server's rules, in a sentence. Ours. */
  readonly note?: string;
  /** What is wrong, as far as the caller may know; the worst is first. Ours. */
  readonly reasons?: readonly HealthReason[];
}

/** A server that is up but not healthy, with the reason that the protocol names. */
interface Degradation {
  readonly degraded: "aggregation_failed" | "bootstrap" | "workspace_runtime_blocked";
}

/** Reports what one caller may know; null reports all. */
export type ActivityReport = (caller: Caller | null) => Promise<ServerActivity | Degradation>;

/**
 * Says that the server answers, and on request what it is doing: everything for the operator and
 * where no token is needed; for a user their tenant; for other callers nothing (P8).
 */
export function healthRoute(report: ActivityReport): Route {
  return route({
    method: "GET",
    path: "/health",
    about: ABOUT_SERVER.health,
    query: deepQuery,
    gate: "open",
    needs: null,
    mindsCaller: isDeep,
    async handle({ query, caller }) {
      if (caller === null || !isDeep(query)) return json(200, { status: "ok" });
      return deepHealth(() => report(caller.userId === null ? null : caller));
    },
  });
}

/** Any other value is as none. */
const deepQuery = z.object({ deep: z.enum(["", "1", "true"]).optional().catch(undefined) });

function isDeep(query: URLSearchParams): boolean {
  const read = readQuery(deepQuery, query);
  return read.ok && read.value.deep !== undefined;
}

/** A failed report is a finding, not an error of this request. */
async function deepHealth(report: () => ReturnType<ActivityReport>): Promise<Answer> {
  const found = await report().catch((): Degradation => ({ degraded: "aggregation_failed" }));
  if ("degraded" in found) return json(503, { status: "degraded", reason: found.degraded });
  const { reasons = [], ...activity } = found;
  const [worst] = reasons;
  if (worst === undefined) return json(200, { status: "ok", ...activity });
  const status = reasons.some(({ blocks }) => blocks) ? 503 : 200;
  const listed = reasons.map(({ blocks: _, ...reason }) => reason);
  return json(status, { status: "degraded", reason: worst.code, reasons: listed, ...activity });
}

/** A workspace as clients know it. */
export interface WorkspaceEntry {
  readonly id: string;
  /** The canonical path. */
  readonly cwd: string;
  readonly displayName?: string;
  readonly primary: boolean;
  readonly trusted: boolean;
  readonly removable?: boolean;
}

export interface CapabilitiesSource {
  readonly settings: ServerSettings;
  readonly version: string;
  /** A function, because the table contains this route too. */
  table(): KnownRoutes;
  /** Workspaces of the caller's tenant, including the primary one. */
  workspaces(caller: Caller): Promise<readonly WorkspaceEntry[]>;
}

/** What this server supports, for clients that check before they ask. */
export function capabilitiesRoute(source: CapabilitiesSource): Route {
  return route({
    method: "GET",
    path: "/capabilities",
    about: ABOUT_SERVER.capabilities,
    needs: null,
    async handle({ caller }) {
      return json(200, capabilitiesOf(source, await source.workspaces(caller)));
    },
  });
}

function capabilitiesOf(source: CapabilitiesSource, workspaces: readonly WorkspaceEntry[]) {
  const { settings, version } = source;
  const primary = workspaces.find((one) => one.primary) ?? workspaces[0];
  return {
    v: 1,
    protocolVersions: { current: "v1", supported: ["v1"] },
    qwenCodeVersion: version,
    fermataVersion: version,
    mode: "native",
    features: featuresOf(source.table(), settings),
    modelServices: [],
    workspaceCwd: primary?.cwd ?? settings.workspaces[0],
    transports: ["rest"],
    policy: { permission: settings.permissionPolicy },
    limits: limitsOf(settings, workspaces.length),
    workspaces,
    supportedLanguages: [],
  };
}

/** The protocol has null for no limit, and names limits of workspaces only if there are several. */
function limitsOf(settings: ServerSettings, workspaceCount: number) {
  const orNull = (max: number) => (max === 0 ? null : max);
  const perWorkspace = {
    maxSessionsPerWorkspace: orNull(settings.maxSessions),
    maxTotalSessions: null,
  };
  return {
    maxPendingPromptsPerSession: orNull(settings.maxPendingPrompts),
    sessionRestoreTimeoutMs: settings.sessionRestoreTimeoutMs,
    ...(workspaceCount > 1 ? perWorkspace : {}),
  };
}

/** Tags of a route's behaviour, not of its existence. Its row names them. */
const HONOURED_FEATURES = [
  "session_scope_override",
  "session_id_override",
  "session_source_metadata",
  "non_blocking_prompt",
  "slow_client_warning",
  "typed_event_schema",
  "client_identity",
  "permission_mediation",
  "workspace_qualified_rest_core",
  "multi_workspace_sessions",
] as const;

export type HonouredFeature = (typeof HONOURED_FEATURES)[number];

type KnownRoutes = Pick<RouteTable, "routes" | "has">;
type RouteName = `${Method} /${string}`;

/** A tag is listed if a route exists, if a row honours it, or if an option is on. */
type FeatureCondition =
  | { readonly route: RouteName; readonly option?: (settings: ServerSettings) => boolean }
  | { readonly honoured: true }
  | { readonly option: (settings: ServerSettings) => boolean };

/** Every feature tag with its condition; see "Feature tags" in docs/protocol.md. */
const FEATURES: Readonly<Record<string, FeatureCondition>> = {
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
  ...Object.fromEntries(HONOURED_FEATURES.map((tag) => [tag, { honoured: true }])),
  prompt_absolute_deadline: { option: ({ promptDeadlineMs }) => promptDeadlineMs !== null },
  writer_idle_timeout: { option: ({ writerIdleTimeoutMs }) => writerIdleTimeoutMs !== null },
  require_auth: { option: ({ requireAuth }) => requireAuth },
  allow_origin: { option: ({ allowOrigins }) => allowOrigins.length > 0 },
  rate_limit: { option: ({ rateLimit }) => rateLimit !== null },
};

/** Lists the tags that hold for this server. */
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

/**
 * The tables that decide what a session may do, as data (ours): the transitions between its states,
 * the effect of each agent status on each state, and the commands admitted in each state.
 */
export function statusTableRoute(): Route {
  return route({
    method: "GET",
    path: "/status-table",
    about: ABOUT_SERVER.statusTable,
    needs: null,
    handle: async () => json(200, TABLES),
  });
}

const TABLES = {
  v: 1,
  states: SESSION_STATES,
  transitions: byState((state) => [...VALID_TRANSITIONS[state]]),
  agentStatuses: AGENT_STATUSES,
  agentTransitions: byState((state) => {
    const cells = AGENT_STATUSES.map((status) => [status, applySessionTransition(state, status)]);
    return Object.fromEntries(cells);
  }),
  admission: ADMISSION,
};

function byState<Value>(cellOf: (state: (typeof SESSION_STATES)[number]) => Value) {
  return Object.fromEntries(SESSION_STATES.map((state) => [state, cellOf(state)]));
}

/** Streams of others may be of sessions that only owners see. */
function streamsSeenBy(server: HttpServer, { tenantId, userId, role }: Caller): number {
  return server.streamCountOf(tenantId, role === "owner" ? null : userId);
}

/**
 * Figures of one tenant's sessions, or of all; none of their content. Figures that cannot be split
 * by tenant are only in the report of all.
 */
export function activityOf(
  { sessions, settings, clock }: Daemon,
  server: HttpServer,
  caller: Caller | null = null,
): ServerActivity {
  const { activePrompts, activeMs, ...figures } = sessions.activity(caller);
  const hits = server.rateLimitHits;
  const { total, recovered, setAside } = sessions.recovery;
  const streams = caller === null ? server.openStreamCount : streamsSeenBy(server, caller);
  return {
    workspaceCount: settings.workspaces.length,
    sessions: figures.sessions,
    pendingPermissions: figures.openAsks,
    activePrompts,
    activeWork: activePrompts > 0,
    activeWorkReporting: "full",
    activeWorkStaleMs: null,
    connectedClients: streams,
    channelAlive: figures.hasAgent,
    lastActivityAt: activeMs === 0 ? null : new Date(activeMs).toISOString(),
    idleSinceMs: activeMs === 0 || activePrompts > 0 ? null : clock.nowMs() - activeMs,
    ...(caller === null && { recovery: { total, recovered, setAside: setAside.length } }),
    ...(caller === null && hits !== null && { rateLimitHits: hits }),
  };
}
