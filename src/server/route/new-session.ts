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
import { TenantSettings } from "./tenant.ts";

const CODES = {
  sessionScope: "invalid_session_scope",
  approvalMode: "invalid_approval_mode",
  sessionId: "invalid_session_id",
  sourceType: "invalid_session_source",
  sourceId: "invalid_session_source",
} as const;

/** What a client requests of a new session. */
export interface NewSessionRequest {
  /** Null is the primary workspace. */
  readonly cwd: string | null;
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

/** Fields that the request omits come from the tenant's settings, or are the server's defaults. */
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
  const profile = await profileOf(daemon, tenantId, read.value);
  if (!profile.ok) return profile;
  const usual = await daemon.defaultVisibility(tenantId);
  if (!usual.ok) return usual;
  const visibility = read.value.visibility ?? usual.value;
  return ok({
    cwd: read.value.cwd ?? null,
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
  const { sourceType: type, sourceId: id = null, sessionId } = body;
  const isOneOfItsOwn = (sessionId ?? null) !== null;
  return {
    scope: isOneOfItsOwn ? "thread" : (body.sessionScope ?? settings.sessionScope),
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
