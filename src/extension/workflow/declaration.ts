import { z } from "zod";
import { isObject, type JsonObject } from "../../core/json.ts";
import {
  RULE_CONDITIONS_MAX,
  RULE_TIMES_MAX,
  STAGE_ATTEMPTS_MAX,
  STAGE_BACKOFF_MS_MAX,
  STAGE_BODY_CHARS_MAX,
  STAGE_GROUP_MAX,
  STAGE_PATTERNS_MAX,
  STAGE_RULES_MAX,
  STAGE_TOOL_CALLS_MAX,
  WORKFLOW_STAGES_MAX,
} from "../../core/limits.ts";
import { EXTENSION_ID } from "../manifest.ts";

/** What is taken of a stage where its author says nothing. */
const STAGE_DEFAULTS = { turnCap: 100, maxAttempts: 3, backoffMs: 0 };

function text(charsMax: number) {
  const tooLong = `it has more than ${charsMax} characters`;
  return z.string().min(1, "it is empty").max(charsMax, tooLong);
}

function whole(least: number, most: number) {
  const range = `it must be a whole number from ${least} to ${most}`;
  return z.int(range).min(least, range).max(most, range);
}

function few<Item extends z.ZodType>(items: Item, most: number) {
  return z.array(items).max(most, `it has more than ${most} of them`);
}

const NAME = z
  .string()
  .regex(EXTENSION_ID, "it must have small letters, digits and dashes, at most 64")
  .meta({ description: "Small letters, digits and dashes" });

export const SENTENCE = text(1_024);
const SCALAR = z.union([z.string().max(1_024), z.number(), z.boolean(), z.null()]);

const VALUE = z.union([SCALAR, few(SCALAR, STAGE_RULES_MAX).min(1, "it is empty")], {
  error: "it must be a text, a number, true, false, null or a list of them",
});
const WHEN = z
  .record(text(256), VALUE)
  .refine((when) => Object.keys(when).length <= RULE_CONDITIONS_MAX, {
    message: `it has more than ${RULE_CONDITIONS_MAX} conditions`,
  })
  .meta({ description: "Paths of facts with the value, or the values, that they must have" });

const MET = { when: WHEN.default({}) };

const GATE_RULE = z.strictObject({ ...MET, verdict: z.enum(["proceed", "retry", "skip"]) });
const ASSERT_RULE = z.strictObject({ ...MET, verdict: z.enum(["ok", "retry", "skip", "fail"]) });

const NEXT_RULE = z
  .strictObject({
    ...MET,
    atMost: whole(1, RULE_TIMES_MAX)
      .nullable()
      .default(null)
      .meta({ description: "The rule holds for the first visits of this stage only" }),
    to: z
      .union([NAME, few(NAME, WORKFLOW_STAGES_MAX).min(1, "it is empty")], {
        error: "it must be the id of a stage, a list of ids, or end",
      })
      .nullable()
      .default(null)
      .meta({ description: "A stage, several one after the other, or end" }),
    parallel: few(NAME, STAGE_GROUP_MAX).nullable().default(null),
    join: NAME.nullable().default(null),
    pause: SENTENCE.nullable().default(null),
  })
  .meta({ description: "Exactly one of to, parallel and pause" });

const COMPLETION = z.strictObject({
  description: z.string().max(1_024).default(""),
  schema: z
    .custom<JsonObject>(isObject, "it must be an object")
    .meta({ type: "object", description: "A JSON Schema of the type object" }),
});

const RETRY = z.strictObject({
  maxAttempts: whole(1, STAGE_ATTEMPTS_MAX).default(STAGE_DEFAULTS.maxAttempts),
  backoffMs: whole(0, STAGE_BACKOFF_MS_MAX).default(STAGE_DEFAULTS.backoffMs),
});

const PATTERNS = few(text(1_024), STAGE_PATTERNS_MAX);

const STAGE = {
  id: NAME,
  name: text(256).nullable().default(null),
  body: text(STAGE_BODY_CHARS_MAX),
  run: SENTENCE.nullable()
    .default(null)
    .meta({ description: "A command that is run before; how it went is ctx.run" }),
  gate: few(GATE_RULE, STAGE_RULES_MAX).default([]),
  allowedTools: PATTERNS.nullable().default(null),
  otherTools: z.enum(["ask", "deny"]).default("ask"),
  completion: COMPLETION.nullable().default(null),
  turnCap: whole(1, STAGE_TOOL_CALLS_MAX).default(STAGE_DEFAULTS.turnCap),
  retry: RETRY.prefault({}),
  assert: few(ASSERT_RULE, STAGE_RULES_MAX).default([]),
  next: few(NEXT_RULE, STAGE_RULES_MAX).default([]),
};

const { gate: _gate, assert: _assert, next: _next, ...MODULE_FIELDS } = STAGE;

/** The stages of a module: its functions stand in place of rules. */
export const MODULE_STAGE = few(z.strictObject(MODULE_FIELDS), WORKFLOW_STAGES_MAX).min(
  1,
  "there are no stages",
);

const FIELDS = {
  name: NAME,
  description: SENTENCE,
  input: SENTENCE.nullable().default(null),
  entry: NAME.nullable().default(null),
  stages: few(z.strictObject(STAGE), WORKFLOW_STAGES_MAX).min(1, "there are no stages"),
};

/** A workflow as it is declared in a file. */
export const DECLARATION = z.strictObject(FIELDS);

/** All names of fields, to guess which one a mistyped one was meant to be. */
export const DECLARATION_FIELDS: readonly string[] = [
  FIELDS,
  STAGE,
  NEXT_RULE.shape,
  COMPLETION.shape,
  RETRY.shape,
  { verdict: null },
].flatMap((fields) => Object.keys(fields));

export type Declaration = z.infer<typeof DECLARATION>;
export type DeclaredStage = Declaration["stages"][number];
export type NextRule = DeclaredStage["next"][number];
export type RuleCondition = NextRule["when"];

/** The JSON Schema of the file, for editors; it is published as workflows/workflow.schema.json. */
export function declarationSchema(): JsonObject {
  const { $schema, ...schema } = z.toJSONSchema(DECLARATION, {
    io: "input",
    unrepresentable: "any",
  });
  return { $schema, title: "A workflow of Fermata", ...schema };
}
