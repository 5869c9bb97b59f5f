import { isAbsolute } from "node:path";
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
import type { ListFilter, Listing, SessionStore, StoredRecord } from "../../store/store.ts";
import { cwd, sourceId, sourceType } from "../../wire/new-session.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, json, type ReadyAnswer, refused } from "../http/answer.ts";
import { readBody, readQuery, stewardOf } from "../http/request-schema.ts";
import { type Caller, type Route, route, type ServerRequest } from "../http/route.ts";
import { type Workspace, workspaceOf } from "../workspaces.ts";
import { ABOUT_FIND } from "./about/find.ts";
import { ABOUT_SERVER } from "./about/server.ts";
import { actorOf } from "./session-request.ts";

/** Lists and counts the sessions of a workspace. */
export function listRoutes(daemon: Daemon): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/workspace/:id/sessions",
      about: ABOUT_FIND.workspace,
      query: pageQuery,
      needs: "session:read",
      honours: ["session_source_metadata"],
      handle: (request) => inWorkspace(daemon, request, request.params.id, listed),
    }),
    route({
      method: "GET",
      path: "/workspaces/:workspace/sessions",
      about: ABOUT_FIND.workspaceByOtherName,
      query: pageQuery,
      needs: "session:read",
      honours: ["workspace_qualified_rest_core"],
      handle: (request) => inWorkspace(daemon, request, request.params.workspace, listed),
    }),
    route({
      method: "GET",
      path: "/workspace/:id/session-info",
      about: ABOUT_FIND.counts,
      needs: "session:read",
      handle: (request) => inWorkspace(daemon, request, request.params.id, counted),
    }),
  ];
}

interface WorkspaceRequest {
  readonly daemon: Daemon;
  readonly caller: Caller;
  readonly query: URLSearchParams;
  readonly workspace: Workspace;
}

async function inWorkspace(
  daemon: Daemon,
  { caller, query }: ServerRequest<unknown>,
  selector: string,
  answer: (request: WorkspaceRequest) => Promise<Answer>,
): Promise<Answer> {
  const workspace = await workspaceOf(daemon.workspaces, caller.tenantId, selector);
  if (!workspace.ok) return refused(workspace.refusal);
  return answer({ daemon, caller, query, workspace: workspace.value });
}

/** One page, the last used first. */
async function listed({ daemon, caller, query, workspace }: WorkspaceRequest): Promise<Answer> {
  const options = readListOptions(query);
  if (!options.ok) return refused(options.refusal);
  // No session is ever archived.
  if (options.value.wantsArchived) return json(200, { sessions: [] });
  const { sessions: service } = daemon;
  const page = await sessionPage((filter, cursor, limit) => {
    const inside = { ...filter, workspaceCwd: workspace.cwd };
    return service.list(caller, inside, { cursor, limit });
  }, options.value);
  return answerTo(page, (listing) => listAnswer(service, caller, listing));
}

/** A page of sessions as every list answers it. */
export function listAnswer(
  service: Daemon["sessions"],
  caller: Caller,
  { sessions, nextCursor, damaged }: Listing,
): ReadyAnswer {
  return json(200, {
    sessions: sessions.map((row) => ({ ...service.summaryOf(caller, row), isArchived: false })),
    ...(nextCursor !== null && { nextCursor }),
    ...(damaged.length > 0 && { damaged }),
  });
}

/** Counts sessions up to a limit; `truncated` says that there are more. */
async function counted({ daemon, caller, workspace }: WorkspaceRequest): Promise<Answer> {
  const stored = await countStored(daemon, caller, workspace.cwd);
  return answerTo(stored, ({ count, isCut }) => {
    const totals = { active: count, archived: 0, total: count };
    const live = daemon.sessions.liveCount(caller, workspace.cwd);
    const cost = { expensive: true, cost: "disk_scan" };
    return json(200, { ...totals, live, ...cost, ...(isCut && { truncated: true }) });
  });
}

async function countStored(
  { sessions }: Daemon,
  caller: Caller,
  workspaceCwd: string,
): Promise<Result<{ count: number; isCut: boolean }>> {
  let count = 0;
  let cursor: string | null = null;
  do {
    const limit = Math.min(PAGE_ROWS_MAX, SESSIONS_COUNTED_MAX - count);
    const page = await sessions.list(caller, { workspaceCwd }, { cursor, limit });
    if (!page.ok) return page;
    count += page.value.sessions.length;
    cursor = page.value.nextCursor;
  } while (cursor !== null && count < SESSIONS_COUNTED_MAX);
  return ok({ count, isCut: cursor !== null });
}

/** Sessions without a source are listed under this one, too. */
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
    error: "it needs a sourceType",
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

/** Which page of sessions to read. */
interface ListRequest {
  readonly filter: ListFilter;
  readonly limit: number;
  readonly cursor: string | null;
  /** What a store cannot filter by. */
  readonly keeps: (row: StoredRecord) => boolean;
}

/** Which sessions of a workspace to list, and from where. */
interface ListOptions extends ListRequest {
  readonly wantsArchived: boolean;
}

function readListOptions(query: URLSearchParams): Result<ListOptions> {
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
    keeps: (row) => !withoutSource || isUnsourced(row),
  });
}

function parentOf(text: string | undefined) {
  if (text === undefined) return ok(null);
  const parent = parseSessionId(text);
  return parent === null ? fail("invalid_parent_session_id") : ok(parent);
}

/** Ignores what is not an integer, and clamps one that is out of range. */
export function limitOf(size = ""): number {
  const wanted = /^-?\d+$/.test(size) ? Number(size) : LIST_ROWS_DEFAULT_MAX;
  return Math.min(Math.max(wanted, 1), LIST_ROWS_MAX);
}

/**
 * Reads one page. What a store cannot filter by is filtered here: such a page may have fewer rows
 * than requested.
 */
export async function sessionPage(
  list: (
    filter: ListFilter,
    cursor: string | null,
    limit: number,
  ) => ReturnType<SessionStore["list"]>,
  options: ListRequest,
): Promise<Result<Listing>> {
  let cursor = options.cursor;
  for (let pages = 1; ; pages += 1) {
    const page = await list(options.filter, cursor, options.limit);
    if (!page.ok) return page;
    const { nextCursor, damaged } = page.value;
    const sessions = page.value.sessions.filter(options.keeps);
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

/** Closes sessions and deletes what is stored of them. */
export function batchDeleteRoutes(daemon: Daemon): readonly Route[] {
  return [
    route({
      method: "POST",
      path: "/sessions/delete",
      about: ABOUT_FIND.delete,
      content: batchBody,
      needs: "session:delete",
      clientId: "shape",
      handle: (request) => deleteSessions(daemon, request),
    }),
    route({
      method: "POST",
      path: "/workspaces/:workspace/sessions/delete",
      about: ABOUT_FIND.deleteInWorkspace,
      content: batchBody,
      needs: "session:delete",
      clientId: "shape",
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

/** Deletes each session by itself: a failure of one leaves the others alone. */
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
  { sessions }: Daemon,
  request: ServerRequest<unknown>,
  sessionId: string,
  workspaceCwd: string | null,
): Promise<Fate> {
  const known = await sessions.known(request.caller, sessionId);
  if (known.ok && workspaceCwd !== null) {
    const record = await known.value.record();
    if (record.ok && record.value.workspaceCwd !== workspaceCwd) return "notFound";
  }
  // No client is named as the closer: the session is gone, so no client can ask.
  const deleted = known.ok ? await known.value.delete(actorOf(request, null)) : known;
  if (deleted.ok) return "removed";
  if (deleted.refusal.code === "session_not_found") return "notFound";
  return { sessionId, error: `${errorBody(deleted.refusal).error}` };
}

const workspaceBody = z.object({
  cwd: cwd.refine(isAbsolute, { error: "a workspace is an absolute path" }),
  trusted: z.boolean().optional(),
});

/** Lists and adds the directories in which the caller's tenant may have sessions. */
export function workspacesRoutes({ workspaces, clock }: Daemon): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/workspaces",
      about: ABOUT_SERVER.workspaces,
      needs: "session:read",
      async handle({ caller }) {
        return answerTo(await workspaces.of(caller.tenantId), (known) => {
          return json(200, { workspaces: known.map(workspaceEntry) });
        });
      },
    }),
    route({
      method: "POST",
      path: "/workspaces",
      about: ABOUT_SERVER.addWorkspace,
      needs: "workspaces:write",
      fields: workspaceBody,
      async handle({ caller, body }) {
        const wanted = readBody(workspaceBody, body);
        if (!wanted.ok) return refused(wanted.refusal);
        const { cwd, trusted: isTrusted = null } = wanted.value;
        const change = { cwd, isTrusted, by: stewardOf(caller), atMs: clock.nowMs() };
        return answerTo(await workspaces.add(caller.tenantId, change), (added) => {
          return json(200, { ...workspaceEntry(added), persisted: true });
        });
      },
    }),
  ];
}

/** A workspace as clients see it. */
export function workspaceEntry({ id, cwd, isPrimary, isTrusted }: Workspace) {
  return { id, cwd, primary: isPrimary, trusted: isTrusted };
}
