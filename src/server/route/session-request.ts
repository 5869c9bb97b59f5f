import type { z } from "zod";
import { errorBody, type Refusal, refusal } from "../../core/error.ts";
import { type ClientId, parseClientId, parseSessionId } from "../../core/id.ts";
import { isPermitted } from "../../core/permission.ts";
import { APPROVAL_MODES } from "../../core/policy/risk.ts";
import type { Actor } from "../../core/session/command.ts";
import { isRegistered, pendingCount } from "../../core/session/state.ts";
import type { LiveSession } from "../../session/index.ts";
import type { SessionKey } from "../../store/store.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, json, refused } from "../http/answer.ts";
import { type FieldCodes, readBody } from "../http/request-schema.ts";
import { type Route, route, type ServerRequest } from "../http/route.ts";

/** The requesting client, as the core describes it. */
export function actorOf(request: ServerRequest<unknown>, clientId = request.clientId): Actor {
  const { caller, isLoopbackPeer } = request;
  return { kind: "client", clientId, userId: caller.userId, loopback: isLoopbackPeer };
}

/** An id for a client that has none yet. */
export function freshClientId(uuid: string): ClientId | null {
  return parseClientId(`client_${uuid}`);
}

/**
 * Runs `act` with the key of the path's session. An impossible id is answered like that of an
 * absent session (P8).
 */
export async function withSession(
  { params, caller }: ServerRequest<{ readonly id: string }>,
  act: (key: SessionKey) => Promise<Answer>,
): Promise<Answer> {
  const sessionId = parseSessionId(params.id);
  if (sessionId === null) return refused(refusal("session_not_found", { sessionId: params.id }));
  return act({ tenantId: caller.tenantId, sessionId });
}

type SessionRequest = ServerRequest<{ readonly id: string }>;

type LiveAct = (live: LiveSession, actor: Actor) => Promise<Answer>;

/** Runs `act` with the live session of the path. */
export async function withLive(
  daemon: Daemon,
  request: SessionRequest,
  act: LiveAct,
): Promise<Answer> {
  return withSession(request, async (key) => {
    const found = await daemon.runtime.find(key);
    return found.ok ? act(found.value, actorOf(request)) : refused(found.refusal);
  });
}

/**
 * Like `withLive`, for reads, which submit no command that the core could refuse: a client that
 * sends its id must be registered, and the request counts as its heartbeat.
 */
export async function withReader(
  daemon: Daemon,
  request: SessionRequest,
  act: LiveAct,
): Promise<Answer> {
  return withLive(daemon, request, async (live, actor) => {
    const { clientId, caller } = request;
    const { sessionId } = live.key;
    if (clientId !== null && !isRegistered(live.session, clientId, caller.userId)) {
      return refused(refusal("invalid_client_id", { sessionId, clientId }));
    }
    // A client without a vote does not count as present: an ask would wait for it in vain.
    const isVoter = isPermitted(caller.role, "session:vote");
    const shown = isVoter ? actor : actorOf(request, null);
    const seen = await daemon.runtime.heartbeat(live.key, shown);
    return seen.ok ? act(live, actor) : refused(seen.refusal);
  });
}

interface Setting<Schema extends z.ZodType> {
  readonly path: `/session/:id/${string}`;
  readonly schema: Schema;
  readonly codes?: FieldCodes;
  /** Answers a body that cannot be read, where the refusal alone says too little. */
  refusedBody?(why: Refusal): Answer;
  set(live: LiveSession, wanted: z.output<Schema>, actor: Actor): Promise<Answer>;
}

/** A route that changes one setting of a session. */
export function settingRoute<Schema extends z.ZodType>(
  daemon: Daemon,
  { path, schema, codes = {}, refusedBody = refused, set }: Setting<Schema>,
): Route {
  return route({
    method: "POST",
    path,
    needs: "session:write",
    clientId: "registered",
    handle: (request) =>
      withLive(daemon, request, async (live, actor) => {
        const body = readBody(schema, request.body, codes);
        return body.ok ? set(live, body.value, actor) : refusedBody(body.refusal);
      }),
  });
}

interface JoinedClient {
  readonly live: LiveSession;
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
  { runtime }: Daemon,
  answer: Answer,
  { live, isMade, clientId, actor }: JoinedClient,
): Answer {
  const afterwards = (fate: "delivered" | "lost") => {
    if (fate === "delivered") return;
    void (isMade ? runtime.ownerVanished(live, actor) : runtime.detach(live.key, clientId, actor));
  };
  return { ...answer, afterwards };
}

/** How a client joined a session. */
export interface Joining {
  /** Whether the session existed before. */
  readonly attached: boolean;
  /** The client's id from now on. */
  readonly clientId: ClientId;
}

/** The answer to a client that creates, joins or restores a session. */
export function sessionBody(
  { runtime }: Daemon,
  live: LiveSession,
  { attached, clientId }: Joining,
) {
  const { session, epoch } = live;
  const { fixed, chosen, connection, sessionId } = session;
  const { workspaceCwd, source, parentSessionId } = fixed;
  const { currentCwd } = chosen;
  return {
    sessionId,
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
    ...runtime.reads.askingDoubt(live),
  };
}

/** Adds the known approval modes to the refusal of an unknown one. */
export function refusedMode(why: Refusal): Answer {
  if (why.code !== "invalid_approval_mode") return refused(why);
  return json(400, { ...errorBody(why), allowed: APPROVAL_MODES });
}
