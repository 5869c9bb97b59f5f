import { createHash } from "node:crypto";
import { z } from "zod";
import { refusal } from "../../core/error.ts";
import { parseClientId, parseSessionId, parseUserId, type TenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { AUDIT_ACTS_MAX, AUDIT_ROWS_DEFAULT_MAX, AUDIT_ROWS_MAX } from "../../core/limits.ts";
import {
  AUDIT_ACTS,
  AUDIT_FILES,
  type AuditFileFormat,
  type AuditFilter,
  type AuditPage,
  isAuditFileFormat,
  WHOLE_AUDIT,
} from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, file, json, refused } from "../http/answer.ts";
import { listOf, readQuery, timeField } from "../http/request-schema.ts";
import { type Caller, type Route, route } from "../http/route.ts";
import { ABOUT_AUDIT } from "./about/tenant.ts";

/** An unknown act is refused: an empty answer would look as if nothing had been done. */
const actName = z.enum(AUDIT_ACTS, { error: `it is one of ${AUDIT_ACTS.join(", ")}` });

/** Filters of an audit, as written in a query or as command-line options. */
export const auditFilterFields = z.object({
  session: idBy(parseSessionId).optional(),
  user: idBy(parseUserId).optional(),
  client: idBy(parseClientId).optional(),
  /** One or more acts, separated by commas. */
  act: z
    .string()
    .transform((text): unknown[] => text.split(","))
    .pipe(listOf(actName, AUDIT_ACTS_MAX))
    .optional(),
  accepted: z.enum(["true", "false"]).optional(),
  from: timeField.optional(),
  to: timeField.optional(),
});

export function auditFilterOf(fields: z.output<typeof auditFilterFields>): AuditFilter {
  const { session, user, client, act, accepted, from, to } = fields;
  return {
    sessionId: session ?? null,
    userId: user ?? null,
    clientId: client ?? null,
    acts: act ?? null,
    isAccepted: accepted === undefined ? null : accepted === "true",
    fromMs: from ?? WHOLE_AUDIT.fromMs,
    toMs: to ?? WHOLE_AUDIT.toMs,
  };
}

function idBy<Id extends string>(parse: (text: string) => Id | null) {
  return z.string().transform((text, context): Id => {
    const id = parse(text);
    if (id !== null) return id;
    context.addIssue({ code: "custom", message: "an id has letters, digits and . _ : -" });
    return z.NEVER;
  });
}

/** The number of entries of a page. */
const auditLimit = z
  .string()
  .regex(/^\d{1,4}$/, "it must be a whole number")
  .transform(Number)
  .pipe(z.int().min(1).max(AUDIT_ROWS_MAX));

const auditQuery = z.object({
  limit: auditLimit.default(AUDIT_ROWS_DEFAULT_MAX),
  cursor: z.string().optional(),
});

/**
 * The audit of one session, newest first (ours). It outlives the session: the answer is
 * `session_not_found` only if there is neither a session nor an entry (P8).
 */
export function auditRoute({ sessions }: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/audit",
    about: ABOUT_AUDIT.session,
    query: auditQuery,
    needs: "session:write",
    async handle({ caller, params, query: asked }) {
      const query = readQuery(auditQuery, asked);
      if (!query.ok) return refused(query.refusal);
      const named = await sessions.idOf(caller, params.id);
      if (!named.ok) return refused(named.refusal);
      const id = named.value;
      const { limit, cursor } = query.value;
      const before = cursor === undefined ? null : readSessionCursor(cursor, id);
      if (before === null && cursor !== undefined) return refused(refusal("invalid_cursor"));
      const page = await sessions.auditOf(caller, id, { before, limit });
      return answerTo(page, (found) => json(200, bodyOf(id, found)));
    },
  });
}

function bodyOf(sessionId: string, { entries, nextBefore }: AuditPage): JsonObject {
  const hasMore = nextBefore !== null;
  const more = hasMore ? { nextCursor: writeSessionCursor(sessionId, nextBefore) } : {};
  return { v: 1, sessionId, entries, hasMore, ...more };
}

function writeSessionCursor(sessionId: string, seq: number): string {
  return Buffer.from(JSON.stringify([sessionId, "audit", seq])).toString("base64url");
}

/** Null if it is not a cursor of this session: writing it again must give the same text. */
function readSessionCursor(cursor: string, sessionId: string): number | null {
  const seq = /,(\d{1,15})\]$/.exec(Buffer.from(cursor, "base64url").toString())?.[1];
  const position = seq === undefined ? null : Number(seq);
  return position !== null && writeSessionCursor(sessionId, position) === cursor ? position : null;
}

const tenantAuditQuery = auditFilterFields
  .extend({
    format: z.enum(["json", "ndjson", "csv"]).default("json"),
    limit: auditLimit.optional(),
    cursor: z.string().optional(),
  })
  .refine(({ format, limit }) => format === "json" || limit === undefined, {
    path: ["limit"],
    error: "a file has all entries, so it takes no limit",
  })
  .refine(({ format, cursor }) => format === "json" || cursor === undefined, {
    path: ["cursor"],
    error: "a file starts with the first entry, so it takes no cursor",
  });

/** The audit of the caller's tenant. Ours. */
export function tenantAuditRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/audit",
    about: ABOUT_AUDIT.tenant,
    query: tenantAuditQuery,
    needs: "audit:read",
    async handle({ caller, query }) {
      const read = readQuery(tenantAuditQuery, query);
      if (!read.ok) return refused(read.refusal);
      const { format, limit = AUDIT_ROWS_DEFAULT_MAX, cursor = null } = read.value;
      const filter = auditFilterOf(read.value);
      if (isAuditFileFormat(format)) return wholeFile(daemon, caller, filter, format);
      return onePage(daemon, caller, filter, { limit, cursor });
    },
  });
}

/** Answers one page, newest first. */
async function onePage(
  { sessions }: Daemon,
  caller: Caller,
  filter: AuditFilter,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | null },
): Promise<Answer> {
  const { tenantId } = caller;
  const before = cursor === null ? null : readTenantCursor(cursor, tenantId, filter);
  if (before === null && cursor !== null) return refused(refusal("invalid_cursor"));
  const page = await sessions.audit(caller, filter, { before, limit });
  return answerTo(page, ({ entries, nextBefore }) => {
    const hasMore = nextBefore !== null;
    const more = hasMore ? { nextCursor: writeTenantCursor(tenantId, filter, nextBefore) } : {};
    return json(200, { v: 1, entries, hasMore, ...more });
  });
}

/** Answers the whole audit as a file, oldest first. */
async function wholeFile(
  { sessions }: Daemon,
  caller: Caller,
  filter: AuditFilter,
  format: AuditFileFormat,
): Promise<Answer> {
  const disposition = `attachment; filename="fermata-audit.${format}"`;
  return answerTo(await sessions.auditFile(caller, filter, format), (pieces) => {
    return file(AUDIT_FILES[format].mediaType, pieces, { "Content-Disposition": disposition });
  });
}

/**
 * Binds the cursor to tenant and filter, so that a client cannot continue with another query by
 * mistake.
 */
function writeTenantCursor(tenantId: TenantId, filter: AuditFilter, before: number): string {
  const asked = createHash("sha256")
    .update(JSON.stringify([tenantId, filter]))
    .digest("hex");
  return `${before}-${asked.slice(0, 16)}`;
}

/** Null if it is not a cursor of this query: writing it again must give the same text. */
function readTenantCursor(cursor: string, tenantId: TenantId, filter: AuditFilter): number | null {
  const [, position = ""] = /^(\d{1,15})-/.exec(cursor) ?? [];
  const before = Number(position);
  return before > 0 && writeTenantCursor(tenantId, filter, before) === cursor ? before : null;
}
