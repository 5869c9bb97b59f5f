import { isObject, type JsonObject } from "../core/json.ts";
import { PLAIN_DATA_DEPTH_MAX } from "../core/limits.ts";
import type { DataFault } from "./plain-data.ts";

/** A keyword of JSON Schema that is kept here. */
interface Keyword {
  /** Whether its own value is of its form. */
  fits(argument: unknown): boolean;
  /** Why the value does not satisfy it; null if it does. Other types satisfy it. */
  reason(argument: unknown, value: unknown): string | null;
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === "string",
  array: (value) => Array.isArray(value),
  object: isObject,
};

/**
 * The keywords of JSON Schema that are kept, without those that lead to other schemas. There are no
 * patterns: a regular expression of an author over a text of an agent has no bound.
 */
const KEYWORDS: Readonly<Record<string, Keyword>> = {
  type: {
    fits: (types) => listIn(types).length > 0 && listIn(types).every(isType),
    reason: (types, value) => {
      const isOne = namesIn(types).some((name) => TYPES[name]?.(value));
      return isOne ? null : `it must be of the type ${namesIn(types).join(" or ")}`;
    },
  },
  enum: {
    fits: (values) => Array.isArray(values) && values.length > 0 && values.every(isSimple),
    reason: (values, value) =>
      listIn(values).includes(value) ? null : `it must be one of ${JSON.stringify(values)}`,
  },
  const: {
    fits: isSimple,
    reason: (only, value) => (only === value ? null : `it must be ${JSON.stringify(only)}`),
  },
  required: {
    fits: (names) => Array.isArray(names) && names.every((name) => typeof name === "string"),
    reason: (names, value) => {
      const missing = isObject(value)
        ? namesIn(names).find((name) => !Object.hasOwn(value, name))
        : undefined;
      return missing === undefined ? null : `it must have "${missing}"`;
    },
  },
  minLength: atLeast(lengthOf, "characters"),
  maxLength: atMost(lengthOf, "characters"),
  minItems: atLeast(countOf, "items"),
  maxItems: atMost(countOf, "items"),
  minimum: atLeast(amountOf, ""),
  maximum: atMost(amountOf, ""),
};

/** What a schema may say beside its keywords, for people and their editors. */
const NOTES: ReadonlySet<string> = new Set([
  ...["$schema", "$id", "$comment", "title", "description", "default", "examples"],
]);

/** What is wrong with a schema itself: what is not kept must not be thought to be. */
export function schemaFault(schema: unknown, path = "", depth = 0): DataFault | null {
  if (!isObject(schema)) return { path, reason: "a schema must be an object" };
  if (depth >= PLAIN_DATA_DEPTH_MAX) return { path, reason: "it is nested too deep" };
  for (const [name, argument] of Object.entries(schema)) {
    const at = joined(path, name);
    const keyword = Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name] : undefined;
    if (keyword !== undefined && !keyword.fits(argument)) {
      return { path: at, reason: "the keyword does not take this value" };
    }
    if (keyword !== undefined || NOTES.has(name)) continue;
    const fault = innerFault(name, argument, at, depth + 1);
    if (fault !== null) return fault;
  }
  return null;
}

/** The same for a keyword that has schemas in it. */
function innerFault(name: string, argument: unknown, path: string, depth: number) {
  if (name === "items") return schemaFault(argument, path, depth);
  if (name === "additionalProperties") {
    return typeof argument === "boolean" ? null : schemaFault(argument, path, depth);
  }
  if (name !== "properties") return { path, reason: "there is no such keyword here" };
  if (!isObject(argument)) return { path, reason: "it must be an object" };
  for (const [property, schema] of Object.entries(argument)) {
    const fault = schemaFault(schema, joined(path, property), depth);
    if (fault !== null) return fault;
  }
  return null;
}

/** The first place where a value does not satisfy a schema that has no fault itself. */
export function valueFault(schema: JsonObject, value: unknown, path = ""): DataFault | null {
  for (const [name, argument] of Object.entries(schema)) {
    const keyword = Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name] : undefined;
    const reason = keyword?.reason(argument, value) ?? null;
    if (reason !== null) return { path, reason };
  }
  if (Array.isArray(value) && isObject(schema.items)) {
    return firstFault(value.entries(), schema.items, path);
  }
  return isObject(value) ? propertyFault(schema, value, path) : null;
}

function propertyFault(schema: JsonObject, value: JsonObject, path: string): DataFault | null {
  const known = isObject(schema.properties) ? schema.properties : {};
  for (const [name, inner] of Object.entries(value)) {
    const at = joined(path, name);
    const isKnown = Object.hasOwn(known, name);
    const rule = isKnown ? known[name] : schema.additionalProperties;
    if (rule === false) return { path: at, reason: "there is no such option" };
    const fault = isObject(rule) ? valueFault(rule, inner, at) : null;
    if (fault !== null) return fault;
  }
  return null;
}

function firstFault(items: Iterable<[number, unknown]>, schema: JsonObject, path: string) {
  for (const [index, item] of items) {
    const fault = valueFault(schema, item, joined(path, String(index)));
    if (fault !== null) return fault;
  }
  return null;
}

function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function namesIn(value: unknown): readonly string[] {
  return listIn(value).filter((name) => typeof name === "string");
}

function isType(name: unknown): name is string {
  return typeof name === "string" && Object.hasOwn(TYPES, name);
}

function isSimple(value: unknown): boolean {
  return value === null || typeof value !== "object";
}

function lengthOf(value: unknown): number | null {
  return typeof value === "string" ? [...value].length : null;
}

function countOf(value: unknown): number | null {
  return Array.isArray(value) ? value.length : null;
}

function amountOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function atLeast(measure: (value: unknown) => number | null, unit: string): Keyword {
  return bounded(measure, (least, found) =>
    found >= least ? null : `it must be at least ${least} ${unit}`.trimEnd(),
  );
}

function atMost(measure: (value: unknown) => number | null, unit: string): Keyword {
  return bounded(measure, (most, found) =>
    found <= most ? null : `it must be at most ${most} ${unit}`.trimEnd(),
  );
}

function bounded(
  measure: (value: unknown) => number | null,
  reason: (bound: number, found: number) => string | null,
): Keyword {
  return {
    fits: (bound) => typeof bound === "number",
    reason: (bound, value) => {
      const found = measure(value);
      return found === null ? null : reason(Number(bound), found);
    },
  };
}
