import { z } from "zod";
import { errorBody } from "../../core/error.ts";
import { parseSessionId } from "../../core/id.ts";
import { BATCH_SESSIONS_MAX, OPTION_TEXT_CHARS_MAX } from "../../core/limits.ts";
import { type Answer, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route, type ServerRequest } from "../route.ts";
import { actorOf } from "../session-request.ts";
import { workspaceOf } from "../workspaces.ts";

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
