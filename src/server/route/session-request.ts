import type { z } from "zod";
import { errorBody, type Refusal, refusal } from "../../core/error.ts";
import { type ClientId, parseClientId } from "../../core/id.ts";
import { HISTORY_TURNS_MAX } from "../../core/limits.ts";
import { isPermitted } from "../../core/permission.ts";
import { APPROVAL_MODES } from "../../core/policy/risk.ts";
import type { Actor } from "../../core/session/command.ts";
import { isRegistered, pendingCount } from "../../core/session/state.ts";
import type { JoinedSession, KnownSession, SessionAccess } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, type AnswerFate, json, refused } from "../http/answer.ts";
import { type FieldCodes, readBody } from "../http/request-schema.ts";
import { type Route, route, type ServerRequest } from "../http/route.ts";

/** The requesting client, as the core describes it. */
export function actorOf(request: ServerRequest<unknown>, clientId = request.clientId): Actor {
  const { caller, isLoopbackPeer: loopback } = request;
  const { userId, role } = caller;
  return { kind: "client", clientId, userId, role, loopback };
}

/** An id for a client that has none yet. */
export function freshClientId(uuid: string): ClientId | null {
  return parseClientId(`client_${uuid}`);
}

export type SessionRequest = ServerRequest<{ readonly id: string }>;

/** Runs `act` with the session of the path, which may be closed; nothing is opened for it. */
export async function withKnown(
  { sessions }: Daemon,
  { params, caller }: SessionRequest,
  act: (known: KnownSession) => Promise<Answer>,
): Promise<Answer> {
  const known = await sessions.known(caller, params.id);
  return known.ok ? act(known.value) : refused(known.refusal);
}

type SessionAct = (session: SessionAccess, actor: Actor) => Promise<Answer>;

/** Runs `act` with the open session of the path. */
export async function withSession(
  { sessions }: Daemon,
  request: SessionRequest,
  act: SessionAct,
): Promise<Answer> {
  const found = await sessions.find(request.caller, request.params.id);
  return found.ok ? act(found.value, actorOf(request)) : refused(found.refusal);
}

/**
 * Like `withSession`, for reads, which submit no command that the core could refuse: a client that
 * sends its id must be registered, and the request counts as its heartbeat.
 */
export async function withReader(
  daemon: Daemon,
  request: SessionRequest,
  act: SessionAct,
): Promise<Answer> {
  return withSession(daemon, request, async (found, actor) => {
    const { clientId, caller } = request;
    const { sessionId } = found.key;
    if (clientId !== null && !isRegistered(found.session, clientId, caller.userId)) {
      return refused(refusal("invalid_client_id", { sessionId, clientId }));
    }
    // A client without a vote does not count as present: an ask would wait for it in vain.
    const isVoter = isPermitted(caller.role, "session:vote");
    const shown = isVoter ? actor : actorOf(request, null);
    const seen = await found.heartbeat(shown);
    return seen.ok ? act(found, actor) : refused(seen.refusal);
  });
}

interface Setting<Schema extends z.ZodType> {
  readonly path: `/session/:id/${string}`;
  readonly about: Route["about"];
  readonly schema: Schema;
  readonly codes?: FieldCodes;
  /** Answers a body that cannot be read, where the refusal alone says too little. */
  refusedBody?(why: Refusal): Answer;
  set(session: SessionAccess, wanted: z.output<Schema>, actor: Actor): Promise<Answer>;
}

/** A route that changes one setting of a session. */
export function settingRoute<Schema extends z.ZodType>(
  daemon: Daemon,
  { path, about, schema, codes = {}, refusedBody = refused, set }: Setting<Schema>,
): Route {
  return route({
    method: "POST",
    path,
    about,
    needs: "session:write",
    clientId: "registered",
    fields: schema,
    handle: (request) =>
      withSession(daemon, request, async (session, actor) => {
        const body = readBody(schema, request.body, codes);
        return body.ok ? set(session, body.value, actor) : refusedBody(body.refusal);
      }),
  });
}

interface JoinedClient {
  readonly session: SessionAccess;
  /** Whether this request created the session. */
  readonly isMade: boolean;
  readonly clientId: ClientId;
  readonly actor: Actor;
}

/**
 * Undoes the joining if the answer is lost: the client does not know the session or its own id. A
 * session that was created for this request alone is deleted again.
 */
export function reapIfLost(
  answer: Answer,
  { session, isMade, clientId, actor }: JoinedClient,
): Answer {
  const afterwards = (fate: AnswerFate) => {
    if (fate !== "lost") return;
    void (isMade ? session.ownerVanished(actor) : session.detach(clientId, actor));
  };
  return { ...answer, afterwards };
}

/** The answer to a client that creates, joins or restores a session. */
export function sessionBody(
  access: SessionAccess,
  { attached, clientId }: Pick<JoinedSession, "attached"> & { readonly clientId: ClientId },
) {
  const { session, epoch } = access;
  const { fixed, chosen, connection, sessionId } = session;
  const { workspaceCwd, source, parentSessionId } = fixed;
  const { currentCwd, name } = chosen;
  return {
    sessionId,
    ...(name !== undefined && { name }),
    workspaceCwd,
    attached,
    clientId,
    createdAt: new Date(fixed.createdAtMs).toISOString(),
    ...(attached && { hasActivePrompt: pendingCount(session) > 0 }),
    ...(currentCwd !== workspaceCwd && { currentCwd }),
    ...(source !== null && { sourceType: source.type, sourcePersisted: true }),
    ...(source?.id != null && { sourceId: source.id }),
    ...(parentSessionId !== null && { parentSessionId, parentSessionPersisted: true }),
    eventEpoch: epoch,
    status: connection.sessionState,
    ...access.askingDoubt,
  };
}

/** Adds to the refusal of a body what would be allowed. */
export function refusedMode(why: Refusal): Answer {
  if (why.code === "invalid_transcript_limit") {
    return refused(refusal(why.code, { ...why.details, maxLimit: HISTORY_TURNS_MAX }));
  }
  if (why.code !== "invalid_approval_mode") return refused(why);
  return json(400, { ...errorBody(why), allowed: APPROVAL_MODES });
}
