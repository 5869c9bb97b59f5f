import type { JsonObject } from "../core/json.ts";
import { isObject } from "../core/json.ts";
import { fail, ok, type Result } from "../core/result.ts";

/** Every store can be switched off, and exactly one is the active one. */
export interface StoreConfig {
  readonly enabled: boolean;
  readonly active: boolean;
}

interface OptionRule {
  readonly schema: JsonObject;
  readonly accepts: (value: unknown) => boolean;
  readonly required: boolean;
}

export type OptionRules = Readonly<Record<string, OptionRule>>;

const OPTION_CHARS_MAX = 4_096;

const SWITCHES: OptionRules = {
  enabled: { schema: { type: "boolean" }, accepts: isBoolean, required: false },
  active: { schema: { type: "boolean" }, accepts: isBoolean, required: false },
};

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

/** A text option, such as a path. */
export function textOption(required: boolean, pattern?: RegExp): OptionRule {
  const accepts = (value: unknown) =>
    typeof value === "string" &&
    value !== "" &&
    value.length <= OPTION_CHARS_MAX &&
    !/\p{Cc}/u.test(value) &&
    (pattern?.test(value) ?? true);
  const schema = { type: "string", minLength: 1, maxLength: OPTION_CHARS_MAX };
  return { schema: pattern ? { ...schema, pattern: pattern.source } : schema, accepts, required };
}

/** The JSON Schema that a store publishes for these options. */
export function configSchema(rules: OptionRules): JsonObject {
  const all = { ...SWITCHES, ...rules };
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(Object.entries(all).map(([name, { schema }]) => [name, schema])),
    required: Object.keys(all).filter((name) => all[name]?.required),
  };
}

/** Checks a configuration by the same rules that its schema was made of. */
export function readConfig(
  config: unknown,
  rules: OptionRules,
): Result<StoreConfig & Readonly<Record<string, unknown>>> {
  if (!isObject(config)) return wrong("config", "it must be an object");
  const all = { ...SWITCHES, ...rules };
  for (const [name, value] of Object.entries(config)) {
    const rule = Object.hasOwn(all, name) ? all[name] : undefined;
    if (rule === undefined) return wrong(name.slice(0, 64), "there is no such option");
    if (!rule.accepts(value)) return wrong(name, "the value is not of the right form");
  }
  const missing = Object.keys(all).find((name) => all[name]?.required && !(name in config));
  if (missing !== undefined) return wrong(missing, "it is missing");
  return ok({ ...config, enabled: config.enabled !== false, active: config.active === true });
}

function wrong(path: string, reason: string): Result<never> {
  return fail("invalid_store_config", { path, reason });
}
