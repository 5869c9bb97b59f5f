import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isObject, type JsonObject, objectAt, stringAt } from "../../../core/json.ts";

/**
 * The official JSON schema, as a judge of what echo sends. It is stricter than the SDK: a field
 * that the schema does not name is a fault, because it is most likely a name that was misspelt.
 */
const require = createRequire(import.meta.url);
const file = require.resolve("@agentclientprotocol/sdk/schema/v1/schema.unstable.json");
const definitions = objectAt(JSON.parse(readFileSync(file, "utf8")), "$defs") ?? {};

/** What is wrong with the parameters of a request or notification that an agent sends. */
export function paramsFaults(method: string, params: unknown): readonly string[] {
  const side = method.startsWith("$/") ? "protocol" : "client";
  return faultsAs(side, /(?:Request|Notification)$/, method, params);
}

/** What is wrong with an agent's answer to a request. */
export function resultFaults(method: string, result: unknown): readonly string[] {
  return faultsAs("agent", /Response$/, method, result);
}

function faultsAs(side: string, ending: RegExp, method: string, value: unknown) {
  const names = byMethod.get(`${side} ${method}`) ?? [];
  const name = names.find((known) => ending.test(known));
  if (name === undefined) return [`ACP has no ${method} of the ${side}`];
  return judge(definitions[name], value, method);
}

/** The definitions that say for which method of which side they are. */
const byMethod = Map.groupBy(Object.keys(definitions), (name) => {
  const about = objectAt(definitions, name) ?? {};
  return `${about["x-side"]} ${about["x-method"]}`;
});

interface Verdict {
  readonly faults: readonly string[];
  /** The fields that some part of the schema has looked at; null if it takes any. */
  readonly known: ReadonlySet<string> | null;
}

/** A value by all that the schema says of it, and nothing else in it. */
function judge(schema: unknown, value: unknown, path: string): readonly string[] {
  const { faults, known } = apply(schema, value, path);
  if (!isObject(value) || known === null) return faults;
  const strange = Object.keys(value).filter((key) => !known.has(key));
  return [...faults, ...strange.map((key) => `${path}.${key}: the schema has no such field`)];
}

function apply(schema: unknown, value: unknown, path: string): Verdict {
  if (schema === true) return { faults: [], known: null };
  if (!isObject(schema)) return { faults: [`${path}: no schema`], known: null };
  const verdicts = Object.entries(schema).flatMap(([word, said]): readonly Verdict[] => {
    const rule = KEYWORDS[word];
    if (rule === undefined && !IGNORED.test(word)) return [wrong(`nobody knows ${word}`, path)];
    const verdict = rule?.(said, value, path, schema);
    return verdict === undefined ? [] : [verdict];
  });
  const says = verdicts.some(({ known }) => known === null || known.size > 0);
  return says ? together(verdicts) : { ...together(verdicts), known: null };
}

const IGNORED = /^(?:description|title|format|default|discriminator|unevaluatedProperties|x-.*)$/;

type Rule = (
  said: unknown,
  value: unknown,
  path: string,
  schema: JsonObject,
) => Verdict | undefined;

const KEYWORDS: Readonly<Record<string, Rule>> = {
  $ref: (said, value, path) =>
    apply(definitions[String(said).split("/").at(-1) ?? ""], value, path),
  type: (said, value, path) => {
    const isFine = list(said).some((type) => isOfType(value, String(type)));
    return isFine ? undefined : wrong(`is not ${said}`, path);
  },
  const: (said, value, path) => (value === said ? undefined : wrong(`is not ${said}`, path)),
  enum: (said, value, path) => (list(said).includes(value) ? undefined : wrong("not of it", path)),
  minimum: (said, value, path) => {
    return typeof value === "number" && value < Number(said) ? wrong("too small", path) : undefined;
  },
  maximum: (said, value, path) => {
    return typeof value === "number" && value > Number(said) ? wrong("too large", path) : undefined;
  },
  minLength: (said, value, path) => {
    const isShort = typeof value === "string" && value.length < Number(said);
    return isShort ? wrong("too short", path) : undefined;
  },
  required: (said, value, path) => {
    if (!isObject(value)) return undefined;
    const missing = list(said).filter((key) => value[String(key)] === undefined);
    return missing.length > 0 ? wrong(`lacks ${missing.join(", ")}`, path) : undefined;
  },
  properties: (said, value, path) => {
    if (!isObject(value) || !isObject(said)) return undefined;
    const faults = Object.entries(said).flatMap(([key, schema]) => {
      return value[key] === undefined ? [] : judge(schema, value[key], `${path}.${key}`);
    });
    return { faults, known: new Set(Object.keys(said)) };
  },
  additionalProperties: (said, value, path) => {
    if (!isObject(value)) return undefined;
    const faults = Object.entries(value).flatMap(([key, one]) =>
      judge(said, one, `${path}.${key}`),
    );
    return { faults, known: null };
  },
  items: (said, value, path) => {
    const faults = list(value).flatMap((item, n) => judge(said, item, `${path}[${n}]`));
    return Array.isArray(value) ? { faults, known: null } : undefined;
  },
  allOf: (said, value, path) => together(list(said).map((one) => apply(one, value, path))),
  anyOf: (said, value, path) => best(said, value, path),
  oneOf: (said, value, path, schema) => best(variantsFor(said, value, schema), value, path),
  not: (said, value, path) => {
    return apply(said, value, path).faults.length === 0
      ? wrong("is what it is not", path)
      : undefined;
  },
};

function best(said: unknown, value: unknown, path: string): Verdict {
  const verdicts = list(said).map((one) => apply(one, value, path));
  const passed = verdicts.filter(({ faults }) => faults.length === 0);
  if (passed.length > 0) return together(passed);
  const sorted = verdicts.toSorted((a, b) => a.faults.length - b.faults.length);
  return sorted[0] ?? wrong("has no choice", path);
}

/** By its tag, where a union has one: trying all the others takes a millisecond each time. */
function variantsFor(said: unknown, value: unknown, schema: JsonObject): readonly unknown[] {
  const tag = stringAt(objectAt(schema, "discriminator") ?? {}, "propertyName");
  if (tag === null || !isObject(value)) return list(said);
  return list(said).filter((variant) => {
    const properties = isObject(variant) ? objectAt(variant, "properties") : null;
    return objectAt(properties ?? {}, tag)?.const === value[tag];
  });
}

function together(verdicts: readonly Verdict[]): Verdict {
  const known = verdicts.map((verdict) => verdict.known);
  return {
    faults: verdicts.flatMap(({ faults }) => faults),
    known: known.includes(null) ? null : new Set(known.flatMap((keys) => [...(keys ?? [])])),
  };
}

function wrong(fault: string, path: string): Verdict {
  return { faults: [`${path}: ${fault}`], known: new Set() };
}

function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined ? [] : [value];
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}
