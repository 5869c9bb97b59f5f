import type { TenantId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import type { ListPosition, ListRange, ListRows } from "../backend.ts";
import type * as S from "../store.ts";
import { operation } from "./calls.ts";
import type { SqlRow, TenantDatabase } from "./database.ts";
import * as rows from "./row.ts";

/** Lists of sessions, and the conditions by which they are filtered. */

function list(
  db: TenantDatabase,
  _: TenantId,
  filter: S.ListFilter,
  { limit, after }: ListRange,
): Result<ListRows> {
  const { sql, values } = listQuery(filter, after);
  return ok(listed(db.page(limit, sql, ...values)));
}

/** What a list asks the database, but for how many rows. Its indexes are made for this. */
export function listQuery(filter: S.ListFilter, after: ListPosition | null) {
  const { where, values } = conditions(filter);
  if (after !== null) {
    // The first half alone is what the index can begin at.
    where.push("updated_at_ms <= ?", "(updated_at_ms < ? OR session_id > ?)");
    values.push(after.updatedAtMs, after.updatedAtMs, after.sessionId);
  }
  const condition = where.length > 0 ? `WHERE ${where.join(" AND ")}` : "";
  const sql = `SELECT * FROM sessions ${condition} ORDER BY updated_at_ms DESC, session_id`;
  return { sql, values };
}

export function conditions(filter: S.ListFilter) {
  const where: string[] = [];
  const values: (string | number | null)[] = [];
  const add = (condition: string, ...given: readonly (string | number | null)[]) => {
    where.push(condition);
    values.push(...given);
  };
  const { workspaceCwd, statuses, parentSessionId, sourceType, sourceId, text } = filter;
  const { closed, shared, hasPendingPrompts, updatedFromMs, updatedBeforeMs } = filter;
  const { createdBy, visibleTo, name, agent } = filter;
  if (workspaceCwd !== undefined) add("workspace_cwd = ?", workspaceCwd);
  if (statuses !== undefined) add(`status IN (${statuses.map(() => "?").join(",")})`, ...statuses);
  if (parentSessionId !== undefined) add("parent_session_id = ?", parentSessionId);
  if (sourceType !== undefined) add("source_type = ?", sourceType);
  if (sourceId !== undefined) add("source_id = ?", sourceId);
  if (name !== undefined) add("name = ?", name);
  if (agent !== undefined) add("agent = ?", agent);
  if (closed !== undefined) add("closed = ?", Number(closed));
  if (shared !== undefined) add("shared = ?", Number(shared));
  // Word for word as its index has it, or the index is not used.
  if (hasPendingPrompts === true) add("pending_prompts > 0");
  if (hasPendingPrompts === false) add("pending_prompts = 0");
  if (updatedFromMs !== undefined) add("updated_at_ms >= ?", updatedFromMs);
  if (updatedBeforeMs !== undefined) add("updated_at_ms < ?", updatedBeforeMs);
  if (createdBy !== undefined) add("created_by IS ?", createdBy);
  // Ids of users have no quotes, so the id in quotes is found only as one of the list.
  if (visibleTo !== undefined) {
    add("(audience IS NULL OR instr(audience, ?) > 0)", JSON.stringify(visibleTo));
  }
  if (text !== undefined)
    add("display_name IS NOT NULL AND instr(fold(display_name), fold(?)) > 0", text);
  return { where, values };
}

/** One damaged session is named and passed over; it does not hide the others. */
function listed({ rows: found, more }: S.Page<SqlRow>): ListRows {
  const sessions: S.StoredRecord[] = [];
  const damaged: { sessionId: string; reason: string }[] = [];
  for (const row of found) {
    const session = rows.believed(row);
    const record = session.ok ? rows.recordOf(session.value) : session;
    if (record.ok) sessions.push(record.value);
    else damaged.push({ sessionId: String(row.session_id), reason: reasonOf(record) });
  }
  const last = more ? found.at(-1) : undefined;
  const place = { updatedAtMs: Number(last?.updated_at_ms), sessionId: String(last?.session_id) };
  return { sessions, damaged, continuesAfter: last === undefined ? null : place };
}

function reasonOf(result: Result<never>): string {
  return result.ok ? "" : String(result.refusal.details.reason ?? result.refusal.code);
}

export const LIST_READS = {
  list: operation(list, () => ok({ sessions: [], damaged: [], continuesAfter: null })),
};
