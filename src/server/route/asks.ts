import { z } from "zod";
import { type Refusal, refusal } from "../../core/error.ts";
import { type AskId, parseAskId } from "../../core/id.ts";
import { ASKS_PAGE_BYTES_MAX, VOTE_ANSWER_CHARS_MAX, VOTE_ANSWERS_MAX } from "../../core/limits.ts";
import type { Actor, CommandData } from "../../core/session/command.ts";
import type { SessionAccess } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, empty, json, refused } from "../http/answer.ts";
import { readBody, readQuery } from "../http/request-schema.ts";
import { type Route, readClientId, route, type ServerRequest } from "../http/route.ts";
import { ABOUT_ASKS } from "./about/asks.ts";
import { actorOf, withSession } from "./session-request.ts";
import { limitOf } from "./sessions.ts";

const answers = z
  .record(z.string(), z.string().max(VOTE_ANSWER_CHARS_MAX))
  .refine((all) => Object.keys(all).length <= VOTE_ANSWERS_MAX, {
    error: `at most ${VOTE_ANSWERS_MAX} answers`,
  });

const ballot = z.object({
  outcome: z.discriminatedUnion("outcome", [
    z.object({ outcome: z.literal("cancelled") }),
    z.object({ outcome: z.literal("selected"), optionId: z.string().min(1) }),
  ]),
  answers: answers.optional(),
});

type VoteData = Omit<CommandData["vote"], "requestId">;

/** Votes on the agent's permission requests, by session and by request id. */
export function voteRoutes(daemon: Daemon): readonly Route[] {
  return [sessionVoteRoute(daemon), requestVoteRoute(daemon)];
}

function sessionVoteRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/permission/:requestId",
    about: ABOUT_ASKS.vote,
    content: ballot,
    needs: "session:vote",
    honours: ["permission_mediation"],
    handle: (request) =>
      withVoter(request, (vote, actor) =>
        withSession(daemon, request, async (session) => {
          const { requestId } = request.params;
          const asked = parseAskId(requestId);
          const { sessionId } = session.key;
          if (asked === null) return refused(refusal("ask_not_found", { sessionId, requestId }));
          const why = await cast(session, asked, vote, actor);
          return why === null ? json(200, {}) : refused(why);
        }),
      ),
  });
}

/**
 * Finds the session by the request's id. A refusal names only that id, so that no session of others
 * shows.
 */
function requestVoteRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/permission/:requestId",
    about: ABOUT_ASKS.voteByAsk,
    content: ballot,
    needs: "session:vote",
    handle: (request) =>
      withVoter(request, async (vote, actor) => {
        const { requestId } = request.params;
        const asked = parseAskId(requestId);
        const session = asked && daemon.sessions.asking(request.caller, asked);
        if (asked === null || session === null) return notPending(requestId);
        const why = await cast(session, asked, vote, actor);
        if (why === null) return json(200, {});
        return UNKNOWN.has(why.code) ? notPending(requestId) : refused(why);
      }),
  });
}

/**
 * Reads the ballot and then the client id. The protocol checks the body before the client id, so
 * the id is read here and not by the request pipeline.
 */
async function withVoter(
  request: ServerRequest<unknown>,
  act: (vote: VoteData, actor: Actor) => Promise<Answer>,
): Promise<Answer> {
  const body = readBody(ballot, request.body);
  if (!body.ok) return refused(body.refusal);
  const named = readClientId(request.header("x-qwen-client-id"), "registered");
  if (named.kind === "refused") return named.answer;
  const { outcome, answers } = body.value;
  return act(
    { outcome, ...(answers === undefined ? {} : { answers }) },
    actorOf(request, named.clientId),
  );
}

async function cast(
  session: SessionAccess,
  requestId: AskId,
  vote: VoteData,
  actor: Actor,
): Promise<Refusal | null> {
  const counted = await session.command(actor, { type: "vote", requestId, ...vote });
  return counted.ok ? null : counted.refusal;
}

/** Refusals that mean only that no ask waits for this vote. */
const UNKNOWN: ReadonlySet<string> = new Set([
  "ask_not_found",
  "ask_already_resolved",
  "session_not_found",
  "session_closing",
]);

function notPending(requestId: string): Answer {
  const error = "No pending permission request";
  return json(404, { error, code: "ask_not_found", requestId });
}

const asksQuery = z.object({ size: z.string().optional(), cursor: z.string().optional() });

/** What waits for a person, in all sessions that the caller sees: the oldest first. Ours. */
export function openAsksRoute({ sessions }: Daemon): Route {
  return route({
    method: "GET",
    path: "/asks",
    about: ABOUT_ASKS.list,
    query: asksQuery,
    needs: "session:read",
    async handle({ caller, query }) {
      const read = readQuery(asksQuery, query);
      if (!read.ok) return refused(read.refusal);
      const { size, cursor = "" } = read.value;
      const after = positionIn(cursor);
      if (after === null && cursor !== "") return refused(refusal("invalid_cursor"));
      const left = sessions.openAsks(caller).filter((ask) => after === null || isAfter(ask, after));
      const asks = left.slice(0, countThatFits(left, limitOf(size)));
      const last = asks.at(-1);
      const isCut = asks.length < left.length && last !== undefined;
      return json(200, { asks, ...(isCut && { nextCursor: cursorAt(last) }) });
    },
  });
}

type AskPosition = Pick<
  ReturnType<Daemon["sessions"]["openAsks"]>[number],
  "createdAt" | "requestId"
>;

/** A place in the list that does not move when asks before it are answered. */
function cursorAt({ createdAt, requestId }: AskPosition): string {
  return `${Date.parse(createdAt)}.${requestId}`;
}

function positionIn(cursor: string): AskPosition | null {
  const [, at, id = ""] = /^(\d{1,15})\.(.+)$/.exec(cursor) ?? [];
  const requestId = parseAskId(id);
  if (at === undefined || requestId === null) return null;
  return { createdAt: new Date(Number(at)).toISOString(), requestId };
}

function isAfter(ask: AskPosition, after: AskPosition): boolean {
  return `${ask.createdAt} ${ask.requestId}` > `${after.createdAt} ${after.requestId}`;
}

/** How many of these one answer has: at least one, and no more than its bytes allow (P10). */
function countThatFits(asks: readonly object[], most: number): number {
  let bytes = 0;
  for (const [index, ask] of asks.slice(0, most).entries()) {
    bytes += Buffer.byteLength(JSON.stringify(ask));
    if (bytes > ASKS_PAGE_BYTES_MAX && index > 0) return index;
  }
  return most;
}

/** The session's approval settings, its grants and its open asks. Ours. */
export function approvalsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/approvals",
    about: ABOUT_ASKS.approvals,
    needs: "session:read",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        const { sessionId } = session.key;
        const known = await session.approvals();
        return answerTo(known, (approvals) => json(200, { v: 1, sessionId, ...approvals }));
      }),
  });
}

/**
 * Revokes grants of a session (ours): the next such call of the agent is asked again. An agent that
 * chose its own `allow_always` option may remember it and never ask again; the server cannot undo
 * that. Every caller who may vote may revoke. A path with a trailing slash means all grants: an
 * empty key is no key.
 */
export function grantsRoutes(daemon: Daemon): readonly Route[] {
  return [
    route({
      method: "DELETE",
      path: "/session/:id/grants",
      about: ABOUT_ASKS.revokeAll,
      needs: "session:vote",
      clientId: "registered",
      handle: (request) => revoked(daemon, request, null),
    }),
    route({
      method: "DELETE",
      path: "/session/:id/grants/:key",
      about: ABOUT_ASKS.revoke,
      needs: "session:vote",
      clientId: "registered",
      handle: (request) => revoked(daemon, request, request.params.key),
    }),
  ];
}

function revoked(
  daemon: Daemon,
  request: ServerRequest<{ readonly id: string }>,
  grant: string | null,
): Promise<Answer> {
  return withSession(daemon, request, async (session, actor) => {
    const revoke = { type: "revoke_grant", key: grant } as const;
    const done = await session.command(actor, revoke);
    return answerTo(done, () => empty());
  });
}
