import { z } from "zod";
import type { ErrorCode } from "../core/error.ts";
import type { JsonObject } from "../core/json.ts";
import { fail, ok, type Result } from "../core/result.ts";

/** Codes for fields whose faults have one of their own; all others are `invalid_request`. */
export type FieldCodes = Readonly<Record<string, ErrorCode>>;

/** The body as a value that has been checked once and for all, or the first thing wrong with it. */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  body: JsonObject,
  codes: FieldCodes = {},
): Result<z.output<Schema>> {
  return readWith(schema, body, "The body", codes);
}

/**
 * A list of at most so many. They are counted before any of them is looked at: a list of millions
 * of wrong things would otherwise have as many faults, and all of them are put into words.
 */
export function listOf<Schema extends z.ZodType>(element: Schema, most: number) {
  return z.array(z.unknown()).max(most).pipe(z.array(element));
}

/** The same for a query; of a parameter that comes twice the first counts. */
export function readQuery<Schema extends z.ZodType>(
  schema: Schema,
  query: URLSearchParams,
  codes: FieldCodes = {},
): Result<z.output<Schema>> {
  const names = [...new Set(query.keys())];
  const parameters = Object.fromEntries(names.map((name) => [name, query.get(name)]));
  return readWith(schema, parameters, "The query", codes);
}

function readWith<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: string,
  codes: FieldCodes,
): Result<z.output<Schema>> {
  const read = schema.safeParse(value);
  if (read.success) return ok(read.data);
  const { path, text } = firstProblem(read.error);
  const field = path.split(".")[0] ?? "";
  const code = Object.hasOwn(codes, field) ? codes[field] : undefined;
  const at = path === "" ? "" : ` at ${path}`;
  const reason = `${where} is not valid${at}: ${text}`;
  return code === undefined
    ? fail("invalid_request", { reason, path })
    : fail(code, { field: path, reason });
}

/** Where it is and what is wrong, in words that follow a colon; values are never repeated. */
export function firstProblem({ issues }: z.ZodError): {
  readonly path: string;
  readonly text: string;
} {
  const [issue] = issues;
  const text = (issue?.message ?? "it is not valid").replace(/^Invalid \w+: /, "");
  return { path: issue?.path.map(String).join(".") ?? "", text };
}
