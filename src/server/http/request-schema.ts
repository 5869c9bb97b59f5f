import { z } from "zod";
import type { ErrorCode } from "../../core/error.ts";
import { parseUserId, type UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { WAIT_MS_MAX } from "../../core/limits.ts";
import { ROLES } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Steward } from "../../session/index.ts";
import type { Caller } from "./route.ts";

/** Error codes of fields that have their own; all others are `invalid_request`. */
export type FieldCodes = Readonly<Record<string, ErrorCode>>;

/** Parses the body; a refusal names its first problem. */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  body: JsonObject,
  codes: FieldCodes = {},
): Result<z.output<Schema>> {
  return readWith(schema, body, "The body", codes);
}

/**
 * A list with a maximum length. The length is checked before the elements: millions of wrong
 * elements would each produce an issue with a message.
 */
export function listOf<Schema extends z.ZodType>(element: Schema, most: number) {
  return z.array(z.unknown()).max(most).pipe(z.array(element));
}

/** Parses a query. Of a repeated parameter the first value counts. */
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

/** The path and the problem, in words that follow a colon. Values are never repeated. */
export function firstProblem({ issues }: z.ZodError): {
  readonly path: string;
  readonly text: string;
} {
  const [issue] = issues;
  const text = (issue?.message ?? "it is not valid").replace(/^Invalid \w+: /, "");
  return { path: issue?.path.map(String).join(".") ?? "", text };
}

/** The precision of times without seconds, which `zod` otherwise takes only without a zone. */
const MINUTES = -1;
const ZONES = { offset: true, local: true };
const isoTime = z.union([
  z.iso.date(),
  z.iso.datetime(ZONES),
  z.iso.datetime({ ...ZONES, precision: MINUTES }),
]);

/** A time as an ISO date, as an ISO date with time (UTC by default), or in milliseconds. */
export const timeField = z.string().transform((text, context): number => {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  // A plus that the client has not encoded arrives as a space.
  const time = text.replace(/ (?=\d{2}:\d{2}$)/, "+");
  // Without a zone, `Date` would take it for the server's local time.
  const ms = Date.parse(/T[\d:.]+$/.test(time) ? `${time}Z` : time);
  if (isoTime.safeParse(time).success && !Number.isNaN(ms)) return ms;
  const message = "it is a time, as in 2026-05-01 or 2026-05-01T12:00Z, or milliseconds";
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

const UNIT_MS: ReadonlyMap<string | undefined, number> = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
]);

const longest = `it is a time as 500ms, 30s or 2m, and at most ${WAIT_MS_MAX / 1_000}s`;

const duration = z.string().transform((text, context): number => {
  const [, count, unit] = /^(\d{1,6})(ms|s|m)$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS.get(unit) ?? Number.NaN);
  if (ms <= WAIT_MS_MAX) return ms;
  context.addIssue({ code: "custom", message: longest });
  return z.NEVER;
});

export const waitQuery = z.object({ wait: duration.optional() });

/** How long the request wants to wait for its answer; null is not at all. */
export function readWait(query: URLSearchParams): Result<number | null> {
  const read = readQuery(waitQuery, query);
  return read.ok ? ok(read.value.wait ?? null) : read;
}

/** A user's id, as bodies have it. */
export const userField = z.string().transform((text, context): UserId => {
  const userId = parseUserId(text);
  if (userId !== null) return userId;
  context.addIssue({ code: "custom", message: "a user id has letters, digits and . _ : -" });
  return z.NEVER;
});

export const roleField = z.enum(ROLES);

/** The caller, as the audit names it. */
export function stewardOf({ userId }: Caller): Steward {
  return { kind: "client", userId };
}
