import { z } from "zod";
import { isObject, type JsonObject } from "../../core/json.ts";
import { FIELD_NAME_SHOWN_CHARS_MAX, FIELDS_UNKNOWN_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { nearestName } from "../../core/spelling.ts";
import { cutText } from "../../core/text.ts";

/** The fields that a body may have. Null is a field that has no fields of its own. */
export type BodyFields = ReadonlyMap<string, BodyFields | null>;

/** The fields of an object's schema, also of the objects in it. */
export function fieldsOf(schema: z.core.$ZodType): BodyFields | null {
  if (schema instanceof z.ZodObject) {
    return new Map(Object.entries(schema.shape).map(([name, field]) => [name, fieldsOf(field)]));
  }
  if (schema instanceof z.ZodPipe) return fieldsOf(schema.in);
  const isWrapped =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodCatch;
  return isWrapped ? fieldsOf(schema.unwrap()) : null;
}

/**
 * Fields of the public protocol that Fermata does not use where it gets them: what @qwen-code/sdk
 * sends on routes that are here too, as the Web Shell does through it. None of them is a mistyped
 * field of ours. A test holds the list to what the installed SDK sends.
 */
const FOREIGN_FIELDS: ReadonlySet<string> = new Set([
  // POST /session: `CreateSessionRequest`
  ...["worktree", "branch"],
  // POST /session/:id/load and /resume: `RestoreSessionRequest`, also of standalone sessions
  ...["historyPageSize", "liveReplayMode", "compactedReplayMode", "hideInheritedHistory"],
  ...["sourceType", "sourceId"],
  // POST /session/:id/approval-mode, PATCH /session/:id/metadata
  ...["planMode", "persist", "pr"],
  // POST /workspaces
  ...["kind", "displayName"],
  // Prompts
  "eventDetailMode",
]);

/**
 * Looks for fields that are not known. One that looks like a mistyped known one is refused: else a
 * mistyped budget would be no budget. The names of the others come back, for the answer to say.
 */
export function checkFields(fields: BodyFields, body: JsonObject): Result<readonly string[]> {
  const ignored: string[] = [];
  for (const { path, name, known } of unknownIn(fields, body, "")) {
    if (ignored.length === FIELDS_UNKNOWN_MAX) return TOO_MANY;
    const meant = FOREIGN_FIELDS.has(name) ? null : nearestName(name, known.keys());
    if (meant !== null) return mistyped(path, meant);
    ignored.push(cutText(path, FIELD_NAME_SHOWN_CHARS_MAX));
  }
  return ok(ignored);
}

interface UnknownField {
  readonly path: string;
  readonly name: string;
  /** The fields that there are in its place. */
  readonly known: BodyFields;
}

function* unknownIn(known: BodyFields, body: JsonObject, at: string): Generator<UnknownField> {
  for (const [name, value] of Object.entries(body)) {
    const path = `${at}${name}`;
    const inner = known.get(name);
    if (inner === undefined) yield { path, name, known };
    else if (inner !== null && isObject(value)) yield* unknownIn(inner, value, `${path}.`);
  }
}

function mistyped(path: string, meant: string): Result<never> {
  const problem = `there is no such field; did you mean "${meant}"?`;
  const reason = `The body is not valid at ${path}: ${problem}`;
  return fail("invalid_request", { reason, path, didYouMean: meant });
}

const TOO_MANY = fail("invalid_request", {
  reason: `The body has more than ${FIELDS_UNKNOWN_MAX} fields that are not known here`,
});
