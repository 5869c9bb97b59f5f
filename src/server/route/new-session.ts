import { z } from "zod";
import { unknownAgent } from "../../core/agent-name.ts";
import { isUuid, parseSessionId, type SessionId, type TenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  AGENT_NAME_CHARS_MAX,
  ALLOWLIST_PATTERNS_MAX,
  PATH_CHARS_MAX,
  SOURCE_ID_CHARS_MAX,
  SOURCE_TYPE_CHARS_MAX,
  TEMPERATURE_MAX,
} from "../../core/limits.ts";
import {
  APPROVAL_MODES,
  type ApprovalMode,
  AUTONOMY_PROFILES,
  type AutonomyProfile,
} from "../../core/policy/risk.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Creation, ModelChange, ModelConfig } from "../../core/session/state.ts";
import { VISIBILITIES } from "../../core/session/visibility.ts";
import { type ClientCommand, type SessionOptions, UNFINISHED_FORK } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { listOf, readBody } from "../http/request-schema.ts";
import { TenantSettings } from "./tenant.ts";

const name = z.string().min(1).max(AGENT_NAME_CHARS_MAX);

export const sourceType = z
  .string()
  .max(SOURCE_TYPE_CHARS_MAX)
  .regex(/^[a-z][a-z0-9_-]*$/)
  // Sessions of this source are deleted when a server starts.
  .refine((type) => type !== UNFINISHED_FORK, "it is reserved for the server");

export const sourceId = z
  .string()
  .min(1)
  .max(SOURCE_ID_CHARS_MAX)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  .regex(/^[^\u0000-\u001f\u007f]*$/, "it contains control characters");

export const approvalMode = z.enum(APPROVAL_MODES);

export const cwd = z.string().max(PATH_CHARS_MAX);

/** Settings of a model beside its id. */
const modelSettings = {
  temperature: z.number().min(0).max(TEMPERATURE_MAX).optional(),
  reasoning: name.optional(),
  verbosity: name.optional(),
};

const modelConfig = z
  .strictObject({ modelId: name.nullable().default(null), ...modelSettings })
  .transform(({ modelId, ...settings }): ModelConfig => ({ modelId, ...given(settings) }));

/** A change of a session's model; at least one field. */
export const modelChange = z
  .object({ modelId: name.optional(), ...modelSettings })
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    error: "it changes nothing",
  })
  .transform(({ modelId, ...settings }): ModelChange => {
    return { ...(modelId !== undefined && { modelId }), ...given(settings) };
  });

type ModelSettings = z.output<z.ZodObject<typeof modelSettings>>;

function given({ temperature, reasoning, verbosity }: ModelSettings): Omit<ModelChange, "modelId"> {
  return {
    ...(temperature !== undefined && { temperature }),
    ...(reasoning !== undefined && { reasoning }),
    ...(verbosity !== undefined && { verbosity }),
  };
}

/** Fields of the protocol and our own; all are optional. */
export const newSessionBody = z
  .object({
    cwd: cwd.optional(),
    sessionScope: z.enum(["single", "thread"]).optional(),
    // The protocol ignores a value that is not a name.
    modelServiceId: name.optional().catch(undefined),
    approvalMode: approvalMode.optional(),
    sessionId: z.string().refine(isUuid, "it is not a UUID").toLowerCase().nullish(),
    sourceType: sourceType.optional(),
    sourceId: sourceId.optional(),
    agent: name.optional(),
    mode: z.enum(["ask", "allowlist", "yolo"]).optional(),
    allowlist: listOf(z.string(), ALLOWLIST_PATTERNS_MAX).optional(),
    autonomy: z.enum(AUTONOMY_PROFILES).optional(),
    model_config: modelConfig.optional(),
    budget: z.number().nullish(),
    visibility: z.enum(VISIBILITIES).optional(),
    monthBudget: z.number().nullish(),
  })
  .refine((body) => body.sourceId === undefined || body.sourceType !== undefined, {
    path: ["sourceId"],
    error: "it needs a sourceType",
  });

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

type NewSessionBody = z.output<typeof newSessionBody>;

/** Null is the profile of the approval mode: both are names of one setting. */
async function profileOf(
  { store, clock }: Daemon,
  tenantId: TenantId,
  { autonomy, approvalMode: mode }: NewSessionBody,
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
  body: NewSessionBody,
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
