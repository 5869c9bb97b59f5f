import { z } from "zod";
import { isUuid } from "../core/id.ts";
import {
  AGENT_NAME_CHARS_MAX,
  ALLOWLIST_PATTERNS_MAX,
  PATH_CHARS_MAX,
  SOURCE_ID_CHARS_MAX,
  SOURCE_TYPE_CHARS_MAX,
  TEMPERATURE_MAX,
} from "../core/limits.ts";
import { APPROVAL_MODES, AUTONOMY_PROFILES } from "../core/policy/risk.ts";
import { parseSessionName, SESSION_NAME_RULE, type SessionName } from "../core/session/name.ts";
import type { ModelChange, ModelConfig } from "../core/session/state.ts";
import { UNFINISHED_FORK, VISIBILITIES } from "../core/session/visibility.ts";

/** The name of an agent, a model or one of its settings. */
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

/** A name of a session; see `SESSION_NAME_RULE`. */
export const sessionName = z.string(SESSION_NAME_RULE).transform((text, context): SessionName => {
  const parsed = parseSessionName(text);
  if (parsed !== null) return parsed;
  context.addIssue({ code: "custom", message: SESSION_NAME_RULE });
  return z.NEVER;
});

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
    name: sessionName.optional(),
    agent: name.optional(),
    mode: z.enum(["ask", "allowlist", "yolo"]).optional(),
    allowlist: z
      .array(z.unknown())
      .max(ALLOWLIST_PATTERNS_MAX)
      .pipe(z.array(z.string()))
      .optional(),
    autonomy: z.enum(AUTONOMY_PROFILES).optional(),
    model_config: modelConfig.optional(),
    budget: z.number().nullish(),
    visibility: z.enum(VISIBILITIES).optional(),
    monthBudget: z.number().nullish(),
  })
  .refine((body) => body.sourceId === undefined || body.sourceType !== undefined, {
    path: ["sourceId"],
    error: "it needs a sourceType",
  })
  .refine((body) => body.name === undefined || body.sessionScope !== "single", {
    path: ["sessionScope"],
    error: "a session with a name is one of its own; leave it out",
  });

/** What a client may say of a new session, as the server reads it. */
export type NewSessionFields = z.output<typeof newSessionBody>;
