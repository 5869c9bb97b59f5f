import { PAGE_ROWS_MAX, SESSIONS_COUNTED_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { isUnfinishedFork } from "../../session/side/fork-draft.ts";
import { summaryOfLive, summaryOfStored } from "../../session/view/summary.ts";
import type { StoredRecord } from "../../store/store.ts";
import { type Answer, answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { type Caller, type Route, route, type ServerRequest } from "../route.ts";
import { readPageWish, sessionPage } from "../session-page.ts";
import { type Workspace, workspaceOf } from "../workspaces.ts";

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

interface Visit {
  readonly daemon: Daemon;
  readonly caller: Caller;
  readonly query: URLSearchParams;
  readonly workspace: Workspace;
}

async function inWorkspace(
  daemon: Daemon,
  { caller, query }: ServerRequest<unknown>,
  selector: string,
  answer: (visit: Visit) => Promise<Answer>,
): Promise<Answer> {
  const workspace = await workspaceOf(daemon.workspaces, caller.tenantId, selector);
  if (!workspace.ok) return refused(workspace.refusal);
  return answer({ daemon, caller, query, workspace: workspace.value });
}

/** The page that is asked for, the last used first (wire, 4.2). */
async function listed({ daemon, caller, query, workspace }: Visit): Promise<Answer> {
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
async function counted({ daemon, caller, workspace }: Visit): Promise<Answer> {
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
