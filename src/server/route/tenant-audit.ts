import { createHash } from "node:crypto";
import { z } from "zod";
import { refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import { AUDIT_ROWS_DEFAULT_MAX } from "../../core/limits.ts";
import {
  AUDIT_FILES,
  type AuditFileFormat,
  type AuditFilter,
  auditFile,
  auditPage,
  isAuditFileFormat,
} from "../../session/audit/audit-view.ts";
import { type Answer, answerTo, file, json, refused } from "../answer.ts";
import { auditFilterFields, auditFilterOf } from "../audit-filter.ts";
import type { Daemon } from "../daemon.ts";
import { readQuery } from "../request-schema.ts";
import { type Route, route } from "../route.ts";
import { auditLimit } from "./audit.ts";

const tenantAuditQuery = auditFilterFields
  .extend({
    format: z.enum(["json", "ndjson", "csv"]).default("json"),
    limit: auditLimit.optional(),
    cursor: z.string().optional(),
  })
  .refine(({ format, limit }) => format === "json" || limit === undefined, {
    path: ["limit"],
    error: "a file has all entries, so it takes none",
  })
  .refine(({ format, cursor }) => format === "json" || cursor === undefined, {
    path: ["cursor"],
    error: "a file begins at the beginning, so it takes none",
  });

/** What was done in the caller's tenant, by whom, and what was refused (ours). */
export function tenantAuditRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/audit",
    gate: "caller",
    needs: "audit:read",
    clientId: "ignored",
    body: "json",
    async handle({ caller: { tenantId }, query }) {
      const read = readQuery(tenantAuditQuery, query);
      if (!read.ok) return refused(read.refusal);
      const { format, limit = AUDIT_ROWS_DEFAULT_MAX, cursor = null } = read.value;
      const filter = auditFilterOf(read.value);
      if (isAuditFileFormat(format)) return wholeFile(daemon, tenantId, filter, format);
      return onePage(daemon, tenantId, filter, { limit, cursor });
    },
  });
}

/** Newest first. */
async function onePage(
  { world: { store } }: Daemon,
  tenantId: TenantId,
  filter: AuditFilter,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | null },
): Promise<Answer> {
  const before = cursor === null ? null : readCursor(cursor, tenantId, filter);
  if (before === null && cursor !== null) return refused(refusal("invalid_cursor"));
  const page = await auditPage(store, tenantId, filter, { before, limit });
  return answerTo(page, ({ entries, nextBefore }) => {
    const hasMore = nextBefore !== null;
    const more = hasMore ? { nextCursor: writeCursor(tenantId, filter, nextBefore) } : {};
    return json(200, { v: 1, entries, hasMore, ...more });
  });
}

/** Oldest first, to the end. */
async function wholeFile(
  { world: { store } }: Daemon,
  tenantId: TenantId,
  filter: AuditFilter,
  format: AuditFileFormat,
): Promise<Answer> {
  const disposition = `attachment; filename="fermata-audit.${format}"`;
  return answerTo(await auditFile(store, tenantId, filter, format), (pieces) => {
    return file(AUDIT_FILES[format].mediaType, pieces, { "Content-Disposition": disposition });
  });
}

/** It belongs to what was asked for, so that nobody goes on with something else unawares. */
function writeCursor(tenantId: TenantId, filter: AuditFilter, before: number): string {
  const asked = createHash("sha256")
    .update(JSON.stringify([tenantId, filter]))
    .digest("hex");
  return `${before}-${asked.slice(0, 16)}`;
}

/** Null if it is none of these: what we would not have written is not read either. */
function readCursor(cursor: string, tenantId: TenantId, filter: AuditFilter): number | null {
  const [, place = ""] = /^(\d{1,15})-/.exec(cursor) ?? [];
  const before = Number(place);
  return before > 0 && writeCursor(tenantId, filter, before) === cursor ? before : null;
}
