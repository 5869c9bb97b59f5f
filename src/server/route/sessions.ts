import { z } from "zod";
import { errorBody } from "../../core/error.ts";
import { parseSessionId } from "../../core/id.ts";
import {
  BATCH_SESSIONS_MAX,
  LIST_PAGES_SEARCHED_MAX,
  LIST_ROWS_DEFAULT_MAX,
  LIST_ROWS_MAX,
  OPTION_TEXT_CHARS_MAX,
  PAGE_ROWS_MAX,
  SESSIONS_COUNTED_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { isUnfinishedFork } from "../../session/side/fork-draft.ts";
import { summaryOfLive, summaryOfStored } from "../../session/view/summary.ts";
import type { ListFilter, Listing, SessionStore, StoredRecord } from "../../store/store.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, json, refused } from "../http/answer.ts";
import { readBody, readQuery } from "../http/request-schema.ts";
import { type Caller, type Route, route, type ServerRequest } from "../http/route.ts";
import { type Workspace, workspaceOf } from "../workspaces.ts";
import { sourceId, sourceType } from "./new-session.ts";
import { actorOf } from "./session-request.ts";

/** The sessions of a workspace: those that are there, and what is going on in them. */
export function listRoutes(daemon: Daemon): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/workspace/:id/sessions",
      gate: "caller",
      needs: "session:read",
      clientId: "ignored",
      body: "json",
      honours: ["session_source_metadata"],
      handle: (request) => inWorkspace(daemon, request, request.params.id, listed),
    }),
    route({
      method: "GET",
      path: "/workspaces/:workspace/sessions",
      gate: "caller",
      needs: "session:read",
      clientId: "ignored",
      body: "json",
      honours: ["workspace_qualified_rest_core"],
      handle: (request) => inWorkspace(daemon, request, request.params.workspace, listed),
    }),
    route({
      method: "GET",
      path: "/workspace/:id/session-info",
      gate: "caller",
      needs: "session:read",
      clientId: "ignored",
      body: "json",
      handle: (request) => inWorkspace(daemon, request, request.params.id, counted),
    }),
  ];
}

interface WorkspaceVisit {
  readonly daemon: Daemon;
  readonly caller: Caller;
  readonly query: URLSearchParams;
  readonly workspace: Workspace;
}

async function inWorkspace(
  daemon: Daemon,
  { caller, query }: ServerRequest<unknown>,
  selector: string,
  answer: (visit: WorkspaceVisit) => Promise<Answer>,
): Promise<Answer> {
  const workspace = await workspaceOf(daemon.workspaces, caller.tenantId, selector);
  if (!workspace.ok) return refused(workspace.refusal);
  return answer({ daemon, caller, query, workspace: workspace.value });
}

/** The page that is asked for, the last used first (wire, 4.2). */
async function listed({ daemon, caller, query, workspace }: WorkspaceVisit): Promise<Answer> {
  const wish = readPageWish(query);
  if (!wish.ok) return refused(wish.refusal);
  const { store } = daemon.world;
  const page = await sessionPage((filter, cursor, limit) => {
    const inside = { ...filter, workspaceCwd: workspace.cwd };
    return store.list(caller.tenantId, inside, { cursor, limit });
  }, wish.value);
  return answerTo(page, ({ sessions, nextCursor, damaged }) => {
    return json(200, {
      sessions: sessions
        .filter((record) => !isUnfinishedFork(record))
        .map((record) => summaryOf(daemon, caller, record)),
      ...(nextCursor !== null && { nextCursor }),
      ...(damaged.length > 0 && { damaged }),
    });
  });
}

function summaryOf({ runtime }: Daemon, { tenantId }: Caller, record: StoredRecord) {
  const live = runtime.peek({ tenantId, sessionId: record.sessionId });
  const summary = live ? summaryOfLive(live) : summaryOfStored(record);
  return { ...summary, isArchived: false };
}

/** How many there are; beyond a limit that is said to be not all of them. */
async function counted({ daemon, caller, workspace }: WorkspaceVisit): Promise<Answer> {
  const stored = await countStored(daemon, caller, workspace.cwd);
  return answerTo(stored, ({ count, isCut }) => {
    const totals = { active: count, archived: 0, total: count };
    const live = liveIn(daemon, caller, workspace).length;
    const cost = { expensive: true, cost: "disk_scan" };
    return json(200, { ...totals, live, ...cost, ...(isCut && { truncated: true }) });
  });
}

async function countStored(
  { world }: Daemon,
  { tenantId }: Caller,
  workspaceCwd: string,
): Promise<Result<{ count: number; isCut: boolean }>> {
  let count = 0;
  let cursor: string | null = null;
  do {
    const limit = Math.min(PAGE_ROWS_MAX, SESSIONS_COUNTED_MAX - count);
    const page = await world.store.list(tenantId, { workspaceCwd }, { cursor, limit });
    if (!page.ok) return page;
    count += page.value.sessions.filter((record) => !isUnfinishedFork(record)).length;
    cursor = page.value.nextCursor;
  } while (cursor !== null && count < SESSIONS_COUNTED_MAX);
  return ok({ count, isCut: cursor !== null });
}

function liveIn({ runtime }: Daemon, { tenantId }: Caller, { cwd }: Workspace) {
  return runtime.liveOf(tenantId).filter(({ session }) => {
    return session.fixed.workspaceCwd === cwd && !session.closed;
  });
}

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
interface PageWish {
  readonly filter: ListFilter;
  readonly limit: number;
  readonly cursor: string | null;
  readonly wantsArchived: boolean;
  /** Sessions of this source, and those that have none. */
  readonly withoutSource: boolean;
}

function readPageWish(query: URLSearchParams): Result<PageWish> {
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
async function sessionPage(
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

const batchBody = z.object({
  sessionIds: z.array(z.string().max(OPTION_TEXT_CHARS_MAX)).min(1).max(BATCH_SESSIONS_MAX),
});

/** Closes sessions and removes what is stored of them (wire, 4.14). */
export function batchDeleteRoutes(daemon: Daemon): readonly Route[] {
  return [
    route({
      method: "POST",
      path: "/sessions/delete",
      gate: "caller",
      needs: "session:delete",
      clientId: "shape",
      body: "json",
      handle: (request) => deleteSessions(daemon, request),
    }),
    route({
      method: "POST",
      path: "/workspaces/:workspace/sessions/delete",
      gate: "caller",
      needs: "session:delete",
      clientId: "shape",
      body: "json",
      async handle(request) {
        const { tenantId } = request.caller;
        const workspace = await workspaceOf(daemon.workspaces, tenantId, request.params.workspace);
        return workspace.ok
          ? deleteSessions(daemon, request, workspace.value.cwd)
          : refused(workspace.refusal);
      },
    }),
  ];
}

type Fate = "removed" | "notFound" | { readonly sessionId: string; readonly error: string };

/** Each by itself: what becomes of one is nothing to the others. */
async function deleteSessions(
  daemon: Daemon,
  request: ServerRequest<unknown>,
  workspaceCwd: string | null = null,
): Promise<Answer> {
  const body = readBody(batchBody, request.body);
  if (!body.ok) return refused(body.refusal);
  const removed: string[] = [];
  const notFound: string[] = [];
  const errors: Exclude<Fate, string>[] = [];
  for (const sessionId of new Set(body.value.sessionIds)) {
    const fate = await deleteOne(daemon, request, sessionId, workspaceCwd);
    if (fate === "removed") removed.push(sessionId);
    else if (fate === "notFound") notFound.push(sessionId);
    else errors.push(fate);
  }
  return json(200, { removed, notFound, errors });
}

async function deleteOne(
  { runtime, world }: Daemon,
  request: ServerRequest<unknown>,
  named: string,
  workspaceCwd: string | null,
): Promise<Fate> {
  const sessionId = parseSessionId(named);
  if (sessionId === null) return "notFound";
  const key = { tenantId: request.caller.tenantId, sessionId };
  if (workspaceCwd !== null) {
    const record = await world.store.readRecord(key);
    if (record.ok && record.value.workspaceCwd !== workspaceCwd) return "notFound";
  }
  // Nobody is named as having closed it: it is not there any more for anybody to ask.
  const deleted = await runtime.delete(key, actorOf(request, null));
  if (deleted.ok) return "removed";
  if (deleted.refusal.code === "session_not_found") return "notFound";
  return { sessionId, error: `${errorBody(deleted.refusal).error}` };
}
