import type { TenantId } from "../core/id.ts";
import { SEARCH_CALLS_MAX } from "../core/limits.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import type { Excerpt } from "../core/search/excerpt.ts";
import type { FoundRole } from "../core/search/message.ts";
import { readSought, type Sought } from "../core/search/query.ts";
import type { Backend } from "./backend.ts";
import { checkFilter, checkTenant, type InputCheck, pageRows } from "./check.ts";
import type { ListFilter, ListPage, StoredRecord } from "./store.ts";

/** What is to be found: words, in the messages and titles of these sessions. */
export interface SearchRequest {
  /** Words, of which a message has to have all. Nothing in it is an operator. */
  readonly query: string;
  readonly filter: ListFilter;
}

/** A message or a title in which everything was found. */
export interface Hit {
  readonly session: StoredRecord;
  readonly role: FoundRole;
  /** Its number in the conversation; 0 is the title. */
  readonly messageId: number;
  readonly turnId: string | null;
  readonly atMs: number;
  readonly excerpt: Excerpt;
}

/** Hits, the newest first. */
export interface FoundPage {
  readonly hits: readonly Hit[];
  readonly nextCursor: string | null;
  /** Messages of an earlier version are not indexed yet, so there may be more. */
  readonly isIndexing: boolean;
}

/** What a backend is asked for. */
export interface SearchTerms {
  readonly sought: Sought;
  readonly filter: ListFilter;
}

/** A position among all hits; what its two numbers count is the backend's own. */
export type SearchPosition = readonly [number, number];

export interface SearchRange {
  readonly limit: number;
  readonly after: SearchPosition | null;
}

/** What one step of a search has found. */
export interface FoundRows {
  readonly hits: readonly (Hit & { readonly position: SearchPosition })[];
  /** Where the next step begins; null at the end. */
  readonly continuesAfter: SearchPosition | null;
  readonly isIndexing: boolean;
}

/** The checks of a search, before anything is read. */
export function searchChecks(
  tenantId: TenantId,
  { query, filter }: SearchRequest,
  { cursor }: ListPage,
): readonly InputCheck[] {
  return [
    () => checkTenant(tenantId),
    () => checkFilter(filter),
    () => (typeof query === "string" ? readSought(query) : fail("invalid_search", NO_TEXT)),
    () => (cursor === null || readPosition(cursor) !== null ? DONE : fail("invalid_cursor")),
  ];
}

const NO_TEXT = { reason: "it is no text" };

/**
 * A page of hits. There is a next one only if there is one more hit of the same reader: neither the
 * page nor its cursor may tell of what that reader does not see (P8).
 */
export async function searchPage(
  backend: Pick<Backend, "search">,
  tenantId: TenantId,
  { query, filter }: SearchRequest,
  { limit, cursor }: ListPage,
): Promise<Result<FoundPage>> {
  const sought = readSought(query);
  if (!sought.ok) return sought;
  // It may be changed by its owner while steps are made.
  const terms = { sought: sought.value, filter: structuredClone(filter) };
  const wanted = pageRows(limit);
  const hits: FoundRows["hits"][number][] = [];
  let after = cursor === null ? null : readPosition(cursor);
  for (let calls = 1; ; calls += 1) {
    const range = { limit: wanted + 1 - hits.length, after };
    const step = await backend.search?.(tenantId, terms, range);
    if (step === undefined) return fail("search_unavailable");
    if (!step.ok) return step;
    const { continuesAfter, isIndexing } = step.value;
    hits.push(...step.value.hits);
    after = continuesAfter;
    const shown = hits.slice(0, wanted).map(({ position: _, ...hit }) => hit);
    if (hits.length > wanted) {
      const last = hits[wanted - 1]?.position ?? null;
      return ok({ hits: shown, nextCursor: last && writePosition(last), isIndexing });
    }
    if (after === null) return ok({ hits: shown, nextCursor: null, isIndexing });
    if (calls === SEARCH_CALLS_MAX) {
      return ok({ hits: shown, nextCursor: writePosition(after), isIndexing });
    }
  }
}

function writePosition(position: SearchPosition): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

/** Null if it is not one of ours: what we would not have written ourselves is not read either. */
function readPosition(cursor: string): SearchPosition | null {
  try {
    const [first, second]: unknown[] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    const position = [Number(first), Number(second)] as const;
    if (!position.every((one) => Number.isSafeInteger(one) && one >= 0)) return null;
    return writePosition(position) === cursor ? position : null;
  } catch {
    return null;
  }
}
