import { z } from "zod";
import { refusal } from "../../core/error.ts";
import type { SessionId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { AUDIT_ROWS_DEFAULT_MAX, AUDIT_ROWS_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import { type AuditPage, auditPage, WHOLE_AUDIT } from "../../session/audit/audit-view.ts";
import type { SessionKey } from "../../store/store.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { readQuery } from "../request-schema.ts";
import { type Route, route } from "../route.ts";
import { withSession } from "../session-request.ts";

/** How many entries of an audit a page may have. */
export const auditLimit = z
  .string()
  .regex(/^\d{1,4}$/, "it is a whole number")
  .transform(Number)
  .pipe(z.int().min(1).max(AUDIT_ROWS_MAX));

const auditQuery = z.object({
  limit: auditLimit.default(AUDIT_ROWS_DEFAULT_MAX),
  cursor: z.string().optional(),
});

/**
 * What was done to a session, by whom, and what was refused, newest first (ours). It outlives the
 * session: only where there is neither a session nor an entry there is nothing (P8).
 */
export function auditRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/audit",
    gate: "caller",
    needs: "session:write",
    clientId: "ignored",
    body: "json",
    async handle(request) {
      return withSession(request, async (key) => {
        const { sessionId } = key;
        const query = readQuery(auditQuery, request.query);
        if (!query.ok) return refused(query.refusal);
        const { limit, cursor } = query.value;
        const before = cursor === undefined ? null : readCursor(cursor, sessionId);
        if (before === null && cursor !== undefined) return refused(refusal("invalid_cursor"));
        const page = await pageOf(daemon, key, { before, limit });
        return answerTo(page, (found) => json(200, bodyOf(sessionId, found)));
      });
    },
  });
}

async function pageOf(
  { world: { store } }: Daemon,
  key: SessionKey,
  range: Parameters<typeof auditPage>[3],
): Promise<Result<AuditPage>> {
  const { tenantId, sessionId } = key;
  const page = await auditPage(store, tenantId, { ...WHOLE_AUDIT, sessionId }, range);
  if (!page.ok || page.value.entries.length > 0 || page.value.nextBefore !== null) return page;
  const record = await store.readRecord(key);
  return record.ok ? page : record;
}

function bodyOf(sessionId: SessionId, { entries, nextBefore }: AuditPage): JsonObject {
  const hasMore = nextBefore !== null;
  const more = hasMore ? { nextCursor: writeCursor(sessionId, nextBefore) } : {};
  return { v: 1, sessionId, entries, hasMore, ...more };
}

function writeCursor(sessionId: SessionId, seq: number): string {
  return Buffer.from(JSON.stringify([sessionId, "audit", seq])).toString("base64url");
}

/** Null if it is none of this session's: what we would not have written is not read either. */
function readCursor(cursor: string, sessionId: SessionId): number | null {
  const seq = /,(\d{1,15})\]$/.exec(Buffer.from(cursor, "base64url").toString())?.[1];
  const place = seq === undefined ? null : Number(seq);
  return place !== null && writeCursor(sessionId, place) === cursor ? place : null;
}
