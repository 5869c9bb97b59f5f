import { unknownAgent } from "../../core/agent-name.ts";
import { parseSessionId, type SessionId, type TenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ApprovalMode, AutonomyProfile } from "../../core/policy/risk.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Creation } from "../../core/session/state.ts";
import type { ClientCommand, SessionOptions } from "../../session/index.ts";
import { type NewSessionFields, newSessionBody } from "../../wire/new-session.ts";
import type { Daemon } from "../daemon.ts";
import { readBody } from "../http/request-schema.ts";
import { trustedWorkspaceOf } from "../workspaces.ts";
import { TenantSettings } from "./tenant.ts";

const CODES = {
  sessionScope: "invalid_session_scope",
  approvalMode: "invalid_approval_mode",
  sessionId: "invalid_session_id",
  sourceType: "invalid_session_source",
  sourceId: "invalid_session_source",
  name: "invalid_session_name",
} as const;

/** What a client requests of a new session. */
export interface NewSessionRequest {
  readonly workspaceCwd: string;
  readonly sessionId: SessionId | null;
  /** Set once the session exists. An agent without such a model does not fail the request. */
  readonly modelId: string | null;
  /** A session that the request joins must have these, or is set to them. */
  readonly agent: string | null;
  readonly securityMode: Creation["securityMode"] | null;
  readonly allowlist: readonly string[] | null;
  readonly approvalMode: ApprovalMode | null;
  readonly autonomy: AutonomyProfile | null;
  /** Whether the autonomy is the tenant's usual one. */
  readonly isUsualAutonomy: boolean;
  readonly creation: Omit<SessionOptions["creation"], "workspaceCwd">;
}

/**
 * Fields that the request omits come from the tenant's settings, or are the server's defaults. All
 * that it asks the store goes there in one message, because that costs more than what is in it.
 */
export async function readNewSession(
  daemon: Daemon,
  tenantId: TenantId,
  body: JsonObject,
): Promise<Result<NewSessionRequest>> {
  const read = readBody(newSessionBody, body, CODES);
  if (!read.ok) return read;
  const { agent = null, mode = null, autonomy = null, modelServiceId } = read.value;
  const { agentNames } = daemon.sessions;
  if (agent !== null && !agentNames.includes(agent)) {
    return unknownAgent(agent, agentNames);
  }
  const isUsualAutonomy = autonomy === null && read.value.approvalMode === undefined;
  const wanted = { agent: agent ?? daemon.sessions.defaultAgent, cwd: read.value.cwd ?? null };
  const [profile, usual, workspaceCwd] = await Promise.all([
    profileOf(daemon, tenantId, read.value),
    daemon.defaultVisibility(tenantId),
    workspaceFor(daemon, tenantId, wanted),
  ]);
  if (!profile.ok) return profile;
  if (!usual.ok) return usual;
  if (!workspaceCwd.ok) return workspaceCwd;
  const visibility = read.value.visibility ?? usual.value;
  return ok({
    workspaceCwd: workspaceCwd.value,
    sessionId: parseSessionId(read.value.sessionId ?? ""),
    modelId: modelServiceId ?? null,
    agent,
    securityMode: mode,
    allowlist: read.value.allowlist ?? null,
    approvalMode: read.value.approvalMode ?? null,
    autonomy,
    isUsualAutonomy,
    creation: { ...creationOf(daemon, read.value, profile.value), visibility },
  });
}

/** The workspace if it is trusted and the agent can work there; null is the primary one. */
export async function workspaceFor(
  { workspaces }: Daemon,
  tenantId: TenantId,
  { agent, cwd }: { readonly agent: string; readonly cwd: string | null },
): Promise<Result<string>> {
  const found = await trustedWorkspaceOf(workspaces, tenantId, cwd);
  if (!found.ok) return found;
  const access = await workspaces.checkAccess(found.value.cwd, agent);
  return access.ok ? ok(found.value.cwd) : access;
}

/** Null is the profile of the approval mode: both are names of one setting. */
async function profileOf(
  { store, clock }: Daemon,
  tenantId: TenantId,
  { autonomy, approvalMode: mode }: NewSessionFields,
): Promise<Result<AutonomyProfile | null>> {
  if (autonomy !== undefined || mode !== undefined) return ok(autonomy ?? null);
  const usual = await new TenantSettings(store, clock).of(tenantId);
  return usual.ok ? ok(usual.value.autonomy) : usual;
}

/** The settings that a joining client changes because it names them. */
export function requestedSettings({
  approvalMode: mode,
  autonomy: profile,
}: NewSessionRequest): readonly ClientCommand[] {
  return [
    ...(mode === null ? [] : [{ type: "approval_mode", mode, persisted: false } as const]),
    ...(profile === null ? [] : [{ type: "autonomy", profile } as const]),
  ];
}

function creationOf(
  { sessions, settings }: Daemon,
  body: NewSessionFields,
  autonomyProfile: AutonomyProfile | null,
): NewSessionRequest["creation"] {
  const { sourceType: type, sourceId: id = null, sessionId, name } = body;
  const isOneOfItsOwn = (sessionId ?? null) !== null;
  // A session with a name is one of its own.
  const usual = name === undefined ? settings.sessionScope : "thread";
  return {
    scope: isOneOfItsOwn ? "thread" : (body.sessionScope ?? usual),
    ...(name !== undefined && { name }),
    securityMode: body.mode ?? "ask",
    allowlist: body.allowlist ?? [],
    source: type === undefined ? null : { type, id },
    parentSessionId: null,
    activeAgent: body.agent ?? sessions.defaultAgent,
    modelConfig: body.model_config ?? { modelId: null },
    approvalMode: body.approvalMode ?? "default",
    displayName: null,
    autonomyProfile,
    budgetMicro: body.budget ?? null,
    ...(body.monthBudget != null && { monthBudgetMicro: body.monthBudget }),
  };
}
