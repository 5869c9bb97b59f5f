import { z } from "zod";
import { AGENT_SESSION_ID_CHARS_MAX } from "../../core/limits.ts";
import { cwd, newSessionBody } from "../../wire/new-session.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, json, refused } from "../http/answer.ts";
import { isOperator } from "../http/authenticator.ts";
import { readBody, readQuery } from "../http/request-schema.ts";
import { type Caller, type Route, route, type ServerRequest } from "../http/route.ts";
import { ABOUT_AGENTS } from "./about/agents.ts";
import { auditedAnswer } from "./agents.ts";
import { readNewSession, workspaceFor } from "./new-session.ts";
import { actorOf, freshClientId, reapIfLost, sessionBody } from "./session-request.ts";

type NamedRequest = ServerRequest<{ readonly name: string }>;

const listQuery = z.object({ cwd: cwd.optional() });

const adoption = z.object({
  agentSessionId: z.string().min(1).max(AGENT_SESSION_ID_CHARS_MAX),
  sessionScope: z.literal("thread").optional(),
});

/** Sessions that agents have made without the server, and their adoption. Ours. */
export function agentSessionsRoutes(daemon: Daemon): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/agents/:name/sessions",
      about: ABOUT_AGENTS.sessions,
      query: listQuery,
      needs: "session:create",
      handle: ({ caller, params, query }) =>
        auditedAnswer(daemon, caller, { act: "agent_sessions_read", agent: params.name }, () =>
          listed(daemon, caller, params.name, query),
        ),
    }),
    route({
      method: "POST",
      path: "/agents/:name/sessions/adopt",
      about: ABOUT_AGENTS.adopt,
      needs: "session:create",
      clientId: "shape",
      fields: z.object({ ...newSessionBody.shape, ...adoption.shape }),
      handle: (request) => {
        const about = { act: "agent_session_adopted", agent: request.params.name } as const;
        return auditedAnswer(daemon, request.caller, about, () => adopted(daemon, request));
      },
    }),
  ];
}

async function listed(
  daemon: Daemon,
  caller: Caller,
  agent: string,
  query: URLSearchParams,
): Promise<Answer> {
  const read = readQuery(listQuery, query);
  if (!read.ok) return refused(read.refusal);
  const cwd = read.value.cwd ?? null;
  const workspace = await workspaceFor(daemon, caller.tenantId, { agent, cwd });
  if (!workspace.ok) return refused(workspace.refusal);
  const workspaceCwd = workspace.value;
  const wanted = { agent, workspaceCwd, isOperator: isOperator(caller) };
  const sessions = await daemon.sessions.agentSessions(caller, wanted);
  return answerTo(sessions, (rows) => json(200, { workspaceCwd, sessions: rows }));
}

/** Takes the fields of `POST /session` as well; the session is one of its own. */
async function adopted(daemon: Daemon, request: NamedRequest): Promise<Answer> {
  const { caller, params, body } = request;
  const own = readBody(adoption, body);
  if (!own.ok) return refused(own.refusal);
  const fields = { ...body, agent: params.name, sessionScope: "thread" };
  const wanted = await readNewSession(daemon, caller.tenantId, fields);
  if (!wanted.ok) return refused(wanted.refusal);
  const clientId = request.clientId ?? freshClientId(daemon.ids.session());
  if (clientId === null) return refused({ code: "internal_error", details: {} });
  const actor = actorOf(request, clientId);
  const { isUsualAutonomy, workspaceCwd } = wanted.value;
  const source = wanted.value.creation.source ?? { type: "adopted", id: null };
  const creation = { ...wanted.value.creation, source, workspaceCwd };
  const sessionId = wanted.value.sessionId ?? daemon.ids.session();
  const options = { sessionId, creation, actor, isUsualAutonomy };
  const { agentSessionId } = own.value;
  const whose = { agentSessionId, isOperator: isOperator(caller) };
  const joined = await daemon.sessions.adopt(caller, options, whose);
  return answerTo(joined, ({ session, attached }) => {
    const answer = json(200, sessionBody(session, { attached, clientId }));
    return reapIfLost(answer, { session, isMade: true, clientId, actor });
  });
}
