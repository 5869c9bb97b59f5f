import { z } from "zod";
import { AGENT_NAME_CHARS_MAX, OPTION_TEXT_CHARS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { SESSION_STATES, type SessionState } from "../../core/status.ts";
import type { ListFilter, StoredRecord } from "../../store/store.ts";
import { sessionName } from "../../wire/new-session.ts";
import type { Daemon } from "../daemon.ts";
import { answerTo, refused } from "../http/answer.ts";
import { listOf, readQuery, userField } from "../http/request-schema.ts";
import { type Route, route, type ServerRequest } from "../http/route.ts";
import { workspaceOf } from "../workspaces.ts";
import { ABOUT_FIND } from "./about/find.ts";
import { limitOf, listAnswer, sessionPage } from "./sessions.ts";

const state = z.enum(SESSION_STATES, { error: `there are ${SESSION_STATES.join(", ")}` });

/** A comma between two of them. */
const states = z
  .string()
  .transform((text): unknown[] => text.split(","))
  .pipe(listOf(state, SESSION_STATES.length));

/** Which sessions are meant; all conditions have to hold. */
export const SESSION_CONDITIONS = {
  workspace: z.string().min(1).optional(),
  status: states.optional(),
  closed: z.enum(["true", "false"]).optional(),
  user: userField.optional(),
  name: sessionName.optional(),
  agent: z.string().min(1).max(AGENT_NAME_CHARS_MAX).optional(),
  text: z.string().min(1).max(OPTION_TEXT_CHARS_MAX).optional(),
} as const;

/** What is wrong with one of them has a code of its own. */
export const SESSION_CODES = { name: "invalid_session_name" } as const;

/** Which page of a list is meant. */
export const PAGE_FIELDS = {
  size: z.string().optional(),
  cursor: z.string().optional(),
} as const;

const query = z.object({ ...PAGE_FIELDS, ...SESSION_CONDITIONS });

/** Lists the sessions of all workspaces that the caller sees, the last used first. Ours. */
export function allSessionsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/sessions",
    about: ABOUT_FIND.all,
    query: query,
    needs: "session:read",
    async handle(request) {
      const { sessions } = daemon;
      const { caller } = request;
      const wanted = await readWanted(daemon, request);
      if (!wanted.ok) return refused(wanted.refusal);
      const page = await sessionPage(
        (filter, cursor, limit) => sessions.list(caller, filter, { cursor, limit }),
        wanted.value,
      );
      return answerTo(page, (listing) => listAnswer(sessions, caller, listing));
    },
  });
}

async function readWanted(daemon: Daemon, request: ServerRequest<unknown>) {
  const read = readQuery(query, request.query, SESSION_CODES);
  if (!read.ok) return read;
  const { size, cursor } = read.value;
  const sessions = await sessionsMeant(daemon, request, read.value);
  if (!sessions.ok) return sessions;
  return ok({ ...sessions.value, limit: limitOf(size), cursor: cursor || null });
}

type SessionConditions = z.output<z.ZodObject<typeof SESSION_CONDITIONS>>;

/** The filter for the store, and what a store cannot filter by. */
export async function sessionsMeant(
  daemon: Daemon,
  request: ServerRequest<unknown>,
  { workspace, status, closed, user, name, agent, text }: SessionConditions,
) {
  const { caller } = request;
  const inside = await insideOf(daemon, request, workspace);
  if (!inside.ok) return inside;
  const filter: ListFilter = {
    ...inside.value,
    ...(status !== undefined && { statuses: storedAs(status) }),
    ...(closed !== undefined && { closed: closed === "true" }),
    ...(user !== undefined && { createdBy: user }),
    ...(name !== undefined && { name }),
    ...(agent !== undefined && { agent }),
    ...(text !== undefined && { text }),
  };
  const keeps = (row: StoredRecord) =>
    status === undefined || status.includes(daemon.sessions.summaryOf(caller, row).status);
  return ok({ filter, keeps });
}

/**
 * The states in records of sessions that may be shown in one of these: the record of a session that
 * is not in memory may say what was so when its server ended, and then it is `inactive`.
 */
function storedAs(shown: readonly SessionState[]): readonly SessionState[] {
  if (!shown.includes("inactive")) return shown;
  return SESSION_STATES.filter((state) => state !== "error" || shown.includes(state));
}

async function insideOf(
  { workspaces }: Daemon,
  { caller }: ServerRequest<unknown>,
  selector: string | undefined,
): Promise<Result<ListFilter>> {
  if (selector === undefined) return ok({});
  const workspace = await workspaceOf(workspaces, caller.tenantId, selector);
  return workspace.ok ? ok({ workspaceCwd: workspace.value.cwd }) : workspace;
}
