import type { z } from "zod";
import { errorBody, type Refusal, refusal } from "../../core/error.ts";
import { type ClientId, parseClientId, parseSessionId } from "../../core/id.ts";
import { isPermitted } from "../../core/permission.ts";
import { APPROVAL_MODES } from "../../core/policy/risk.ts";
import type { Actor } from "../../core/session/command.ts";
import { isRegistered, pendingCount } from "../../core/session/state.ts";
import type { LiveSession } from "../../session/live.ts";
import { askingDoubt } from "../../session/view/asking.ts";
import { isoTime } from "../../session/view/summary.ts";
import type { SessionWorld } from "../../session/world.ts";
import type { SessionKey } from "../../store/store.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, json, refused } from "../http/answer.ts";
import { type FieldCodes, readBody } from "../http/request-schema.ts";
import { type Route, route, type ServerRequest } from "../http/route.ts";

/** The client that asks, as the core wants to know it. */
export function actorOf(request: ServerRequest<unknown>, clientId = request.clientId): Actor {
  const { caller, isLoopbackPeer } = request;
  return { kind: "client", clientId, userId: caller.userId, loopback: isLoopbackPeer };
}

/** A name for a client that has none yet. */
export function freshClientId(uuid: string): ClientId | null {
  return parseClientId(`client_${uuid}`);
}

/**
 * Does something with the session that a path names. An id that no session can have is answered
 * like that of one that is not there (P8).
 */
export async function withSession(
  { params, caller }: ServerRequest<{ readonly id: string }>,
  act: (key: SessionKey) => Promise<Answer>,
): Promise<Answer> {
  const sessionId = parseSessionId(params.id);
  if (sessionId === null) return refused(refusal("session_not_found", { sessionId: params.id }));
  return act({ tenantId: caller.tenantId, sessionId });
}

type InSession = ServerRequest<{ readonly id: string }>;

type LiveAct = (live: LiveSession, actor: Actor) => Promise<Answer>;

/** Does something with the session of a path, once it is certain that it is there. */
export async function withLive(daemon: Daemon, request: InSession, act: LiveAct): Promise<Answer> {
  return withSession(request, async (key) => {
    const found = await daemon.runtime.find(key);
    return found.ok ? act(found.value, actorOf(request)) : refused(found.refusal);
  });
}

/**
 * The same for reading, where no command is given that would be refused: a client that gives its
 * name must be one that the session knows, and has shown a sign of life by asking (wire, 3.2).
 */
export async function withReader(
  daemon: Daemon,
  request: InSession,
  act: LiveAct,
): Promise<Answer> {
  return withLive(daemon, request, async (live, actor) => {
    const { clientId, caller } = request;
    const { sessionId } = live.key;
    if (clientId !== null && !isRegistered(live.session, clientId, caller.userId)) {
      return refused(refusal("invalid_client_id", { sessionId, clientId }));
    }
    // An ask would wait in vain for whoever has lost their vote, so they do not count as there.
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
  /** What is said of a body that cannot be read, where more than the refusal is to be said. */
  refusedBody?(why: Refusal): Answer;
  set(live: LiveSession, wanted: z.output<Schema>, actor: Actor): Promise<Answer>;
}

/** Everything of a session that people choose is changed by a route of this one shape. */
export function settingRoute<Schema extends z.ZodType>(
  daemon: Daemon,
  { path, schema, codes = {}, refusedBody = refused, set }: Setting<Schema>,
): Route {
  return route({
    method: "POST",
    path,
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live, actor) => {
        const body = readBody(schema, request.body, codes);
        return body.ok ? set(live, body.value, actor) : refusedBody(body.refusal);
      }),
  });
}

interface JoinedClient {
  readonly live: LiveSession;
  /** Whether the session was made for this request. */
  readonly isMade: boolean;
  readonly clientId: ClientId;
  readonly actor: Actor;
}

/**
 * Whoever never gets the answer does not know of the session, or under which name it has joined:
 * so it has not joined, and what was made for it alone is taken away again (wire, 9.4).
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

/** How somebody came to a session. */
export interface Entry {
  /** Whether it was there before. */
  readonly attached: boolean;
  /** The name by which the caller is known from now on. */
  readonly clientId: ClientId;
}

/** What whoever makes, joins or restores a session is told of it (wire, 4.1 and 4.3). */
export function sessionBody(
  world: Pick<SessionWorld, "settings">,
  live: LiveSession,
  { attached, clientId }: Entry,
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
    createdAt: isoTime(fixed.createdAtMs),
    ...(attached && { hasActivePrompt: pendingCount(session) > 0 }),
    ...(currentCwd !== workspaceCwd && { currentCwd }),
    ...(source !== null && { sourceType: source.type, sourcePersisted: true }),
    ...(source?.id != null && { sourceId: source.id }),
    ...(parentSessionId !== null && { parentSessionId, parentSessionPersisted: true }),
    eventEpoch: epoch,
    status: connection.sessionState,
    ...askingDoubt(world, live),
  };
}

/** Whoever names an approval mode that does not exist is told those that do (wire, 4.1). */
export function refusedMode(why: Refusal): Answer {
  if (why.code !== "invalid_approval_mode") return refused(why);
  return json(400, { ...errorBody(why), allowed: APPROVAL_MODES });
}
