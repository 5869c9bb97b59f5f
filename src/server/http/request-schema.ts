import { z } from "zod";
import type { ErrorCode } from "../../core/error.ts";
import { parseUserId, type UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { ROLES } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Steward } from "../../session/audit/entries.ts";
import type { Caller } from "./route.ts";

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

const MILLISECONDS = /^\d{1,15}$/;
const DAY_OR_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** A day, or a moment of one, in universal time where it does not say; or milliseconds. */
export const moment = z.string().transform((text, context): number => {
  const ms = msOf(text);
  if (!Number.isNaN(ms)) return ms;
  const message = "it is a time, as in 2026-05-01 or 2026-05-01T12:00Z, or milliseconds";
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

function msOf(text: string): number {
  if (MILLISECONDS.test(text)) return Number(text);
  // A plus that nobody has encoded arrives as a space.
  const time = text.replace(/ (?=\d{2}:\d{2}$)/, "+");
  if (!DAY_OR_TIME.test(time) || !isDay(time.slice(0, 10))) return Number.NaN;
  // Left alone, a time without a zone would be that of wherever this machine is.
  return Date.parse(/T[\d:.]+$/.test(time) ? `${time}Z` : time);
}

/** Left alone, 31 February would be 3 March. */
function isDay(day: string): boolean {
  const ms = Date.parse(day);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

/** A user's id and a role, as bodies have them. */
export const userField = z.string().transform((text, context): UserId => {
  const userId = parseUserId(text);
  if (userId !== null) return userId;
  context.addIssue({ code: "custom", message: "a user's id is of letters, digits and . _ : -" });
  return z.NEVER;
});

export const roleField = z.enum(ROLES);

/** The caller, as the audit is told of them. */
export function stewardOf({ userId }: Caller): Steward {
  return { kind: "client", userId };
}
