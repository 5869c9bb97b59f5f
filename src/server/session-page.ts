import { z } from "zod";
import { parseSessionId } from "../core/id.ts";
import { LIST_PAGES_SEARCHED_MAX, LIST_ROWS_DEFAULT_MAX, LIST_ROWS_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { ListFilter, Listing, SessionStore, StoredRecord } from "../store/store.ts";
import { sourceId, sourceType } from "./new-session.ts";
import { readQuery } from "./request-schema.ts";

/** Sessions without a source are listed under this one, too (wire, 4.2). */
const DEFAULT_SOURCE = "default";

const pageQuery = z
  .object({
    size: z.string().optional(),
    cursor: z.string().optional(),
    archiveState: z.enum(["active", "archived"]).default("active"),
    view: z.literal("organized").optional(),
    group: z.string().min(1).optional(),
    parentSessionId: z.string().min(1).optional(),
    sourceType: sourceType.optional(),
    sourceId: sourceId.optional(),
  })
  .refine(({ sourceId: id, sourceType: type }) => id === undefined || type !== undefined, {
    path: ["sourceId"],
    error: "there is no type with it",
  })
  .refine(({ group, view }) => group === undefined || view !== undefined, { path: ["group"] });

const CODES = {
  archiveState: "invalid_archive_state",
  view: "invalid_session_view",
  group: "invalid_session_group_filter",
  parentSessionId: "invalid_parent_session_id",
  sourceType: "invalid_session_source",
  sourceId: "invalid_session_source",
} as const;

/** Which sessions of a workspace somebody wants to see, and from where on. */
export interface PageWish {
  readonly filter: ListFilter;
  readonly limit: number;
  readonly cursor: string | null;
  readonly wantsArchived: boolean;
  /** Sessions of this source, and those that have none. */
  readonly withoutSource: boolean;
}

export function readPageWish(query: URLSearchParams): Result<PageWish> {
  const read = readQuery(pageQuery, query, CODES);
  if (!read.ok) return read;
  const { size, cursor, view, group, archiveState } = read.value;
  if (group !== undefined) return fail("group_not_found", { group });
  const parent = parentOf(read.value.parentSessionId);
  if (!parent.ok) return parent;
  if (parent.value !== null && view !== undefined) return fail("invalid_parent_session_filter");
  const { sourceType: type, sourceId: id } = read.value;
  const withoutSource = type === DEFAULT_SOURCE && id === undefined;
  return ok({
    filter: {
      ...(parent.value !== null && { parentSessionId: parent.value }),
      ...(type !== undefined && !withoutSource && { sourceType: type }),
      ...(id !== undefined && { sourceId: id }),
    },
    limit: limitOf(size),
    cursor: cursor || null,
    wantsArchived: archiveState === "archived",
    withoutSource,
  });
}

function parentOf(text: string | undefined) {
  if (text === undefined) return ok(null);
  const parent = parseSessionId(text);
  return parent === null ? fail("invalid_parent_session_id") : ok(parent);
}

/** What is no whole number is passed over, and one that is out of range is brought into it. */
function limitOf(size = ""): number {
  const wanted = /^-?\d+$/.test(size) ? Number(size) : LIST_ROWS_DEFAULT_MAX;
  return Math.min(Math.max(wanted, 1), LIST_ROWS_MAX);
}

/**
 * One page of them. Nothing is archived here. A store cannot look for sessions without a source,
 * so these are picked out: such a page may have fewer than were asked for.
 */
export async function sessionPage(
  list: (
    filter: ListFilter,
    cursor: string | null,
    limit: number,
  ) => ReturnType<SessionStore["list"]>,
  wish: PageWish,
): Promise<Result<Listing>> {
  if (wish.wantsArchived) return ok({ sessions: [], nextCursor: null, damaged: [] });
  let cursor = wish.cursor;
  for (let pages = 1; ; pages += 1) {
    const page = await list(wish.filter, cursor, wish.limit);
    if (!page.ok) return page;
    const { nextCursor, damaged } = page.value;
    const sessions = page.value.sessions.filter((row) => !wish.withoutSource || isUnsourced(row));
    const isOver = nextCursor === null || pages === LIST_PAGES_SEARCHED_MAX;
    if (sessions.length > 0 || isOver) return ok({ sessions, nextCursor, damaged });
    cursor = nextCursor;
  }
}

function isUnsourced({ sourceType: type }: StoredRecord): boolean {
  return type === null || type === DEFAULT_SOURCE;
}
