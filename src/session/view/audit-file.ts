import type { TenantId } from "../../core/id.ts";
import { objectAt, stringAt } from "../../core/json.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { JournalRow, Page } from "../../store/store.ts";
import { csvLine } from "../csv.ts";
import { auditEnd, type JournalStore } from "./audit.ts";
import { type AuditEntry, type AuditFilter, meantEntry } from "./audit-entry.ts";

interface FileFormat {
  readonly mediaType: string;
  readonly head: string;
  lineOf(entry: AuditEntry): string;
}

const COLUMNS = [
  ...["seq", "at", "act", "accepted", "code", "actor", "userId", "clientId", "sessionId"],
  ...["eventId", "promptId", "turnId", "cause", "agentStatus", "details"],
];

/** As what a tenant's audit can be taken away. */
export const AUDIT_FILES = {
  ndjson: {
    mediaType: "application/x-ndjson; charset=utf-8",
    head: "",
    lineOf: (entry) => `${JSON.stringify(entry)}\n`,
  },
  csv: { mediaType: "text/csv; charset=utf-8", head: csvLine(COLUMNS), lineOf: csvOf },
} as const satisfies Readonly<Record<string, FileFormat>>;

export type AuditFileFormat = keyof typeof AUDIT_FILES;

export function isAuditFileFormat(name: string): name is AuditFileFormat {
  return Object.hasOwn(AUDIT_FILES, name);
}

type ReadPage = (after: number) => Promise<Result<Page<JournalRow>>>;

/**
 * All entries that are meant and are there now, oldest first, a page at a time, so that their
 * number costs no memory.
 */
export async function auditFile(
  store: JournalStore,
  tenantId: TenantId,
  filter: AuditFilter,
  format: AuditFileFormat,
): Promise<Result<AsyncIterable<string>>> {
  const end = await auditEnd(store, tenantId);
  if (!end.ok) return end;
  const of = filter.sessionId === null ? {} : { sessionId: filter.sessionId };
  const read: ReadPage = (after) =>
    store.readJournal(tenantId, { journal: "audit", ...of, after, limit: PAGE_ROWS_MAX });
  const first = await read(0);
  if (!first.ok) return first;
  return ok(piecesOf(AUDIT_FILES[format], pagesOf(read, first.value, end.value), filter));
}

/** A piece for each page, also an empty one: whoever takes them can leave after each. */
async function* piecesOf(
  { head, lineOf }: FileFormat,
  pages: AsyncIterable<readonly JournalRow[]>,
  filter: AuditFilter,
): AsyncGenerator<string> {
  yield head;
  for await (const rows of pages) {
    const entries = rows.map((row) => meantEntry(row, filter)).filter((entry) => entry !== null);
    yield entries.map(lineOf).join("");
  }
}

/** What is written meanwhile is left out: else one who reads slowly would never be done. */
async function* pagesOf(
  read: ReadPage,
  first: Page<JournalRow>,
  end: number,
): AsyncGenerator<readonly JournalRow[]> {
  for (let page = first; ; ) {
    yield page.rows.filter(({ seq }) => seq < end);
    const last = page.rows.at(-1)?.seq ?? end;
    if (!page.more || last + 1 >= end) return;
    const next = await read(last);
    // What is cut off is seen to be: whoever writes the file is told by this.
    if (!next.ok) throw new Error(next.refusal.code);
    page = next.value;
  }
}

function csvOf(entry: AuditEntry): string {
  const { seq, at, act, accepted, actor, sessionId = null, eventId } = entry;
  const text = (name: string) => stringAt(entry, name);
  return csvLine([
    ...[seq, at, act, accepted, text("code")],
    ...[stringAt(actor, "kind"), stringAt(actor, "userId"), stringAt(actor, "clientId"), sessionId],
    typeof eventId === "number" ? eventId : null,
    ...[text("promptId"), text("turnId"), text("cause"), text("agentStatus")],
    JSON.stringify(objectAt(entry, "details") ?? {}),
  ]);
}
