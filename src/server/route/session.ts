import { z } from "zod";
import { type ErrorCode, refusal } from "../../core/error.ts";
import {
  DISPLAY_NAME_CHARS_MAX,
  FIELDS_MESSAGES_DEFAULT_MAX,
  FIELDS_MESSAGES_MAX,
} from "../../core/limits.ts";
import { DONE } from "../../core/result.ts";
import { offeredCommands } from "../../core/slash/commands.ts";
import type { SessionAccess } from "../../session/index.ts";
import { sessionName } from "../../wire/new-session.ts";
import type { Daemon } from "../daemon.ts";
import { answerTo, empty, json, refused } from "../http/answer.ts";
import { readBody, readQuery } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { ABOUT_BEGIN } from "./about/begin.ts";
import { ABOUT_FIND } from "./about/find.ts";
import { ABOUT_READ } from "./about/read.ts";
import { ABOUT_SETTINGS } from "./about/settings.ts";
import { actorOf, withKnown, withReader, withSession } from "./session-request.ts";

/** Closes a session for all its clients. It stays stored, and can be loaded. */
export function closeRoute(daemon: Daemon): Route {
  return route({
    method: "DELETE",
    path: "/session/:id",
    about: ABOUT_BEGIN.close,
    needs: "session:write",
    clientId: "registered",
    handle: (request) =>
      withSession(daemon, request, async (session, actor) => {
        return answerTo(await session.close(actor), () => empty());
      }),
  });
}

/** In a session that is gone, no client is attached. */
const LEFT: ReadonlySet<ErrorCode> = new Set(["session_not_found", "session_closing"]);

/** Detaches a client. Detaching from a session that the client is not in is no error. */
export function detachRoute({ sessions }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/detach",
    about: ABOUT_BEGIN.detach,
    needs: "session:read",
    clientId: "shape",
    async handle(request) {
      const { clientId, caller, params } = request;
      if (clientId === null) return empty();
      const found = await sessions.find(caller, params.id);
      const detached = found.ok ? await found.value.detach(clientId, actorOf(request)) : found;
      return detached.ok || LEFT.has(detached.refusal.code) ? empty() : refused(detached.refusal);
    },
  });
}

/** Records a heartbeat, which keeps the session from being evicted. */
export function heartbeatRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/heartbeat",
    about: ABOUT_BEGIN.heartbeat,
    needs: "session:read",
    clientId: "registered",
    rate: "exempt",
    handle: (request) =>
      withReader(daemon, request, async ({ key, activeMs: lastSeenAt }) => {
        const { clientId } = request;
        const { sessionId } = key;
        return json(200, { sessionId, ...(clientId !== null && { clientId }), lastSeenAt });
      }),
  });
}

/** The session checks the display name's length and characters. */
const metadataBody = z.object({ displayName: z.string().optional(), name: sessionName.optional() });

/** Names a session. The empty display name removes it; a name can only be replaced. */
export function metadataRoute(daemon: Daemon): Route {
  return route({
    method: "PATCH",
    path: "/session/:id/metadata",
    about: ABOUT_SETTINGS.rename,
    needs: "session:write",
    clientId: "registered",
    fields: metadataBody,
    handle: (request) =>
      withReader(daemon, request, async (session, actor) => {
        const body = readBody(metadataBody, request.body, NAME_CODES);
        if (!body.ok) return refused(body.refusal.code === NOT_TEXT.code ? NOT_TEXT : body.refusal);
        const { displayName, name } = body.value;
        const to = { ...(displayName !== undefined && { displayName }), ...(name && { name }) };
        const isNothing = Object.keys(to).length === 0;
        const renamed = isNothing ? DONE : await session.rename(actor, to);
        return renamed.ok ? json(200, namesOf(session)) : refused(renamed.refusal);
      }),
  });
}

const NOT_TEXT = refusal("invalid_metadata", {
  field: "displayName",
  limit: DISPLAY_NAME_CHARS_MAX,
});

const NAME_CODES = { displayName: "invalid_metadata", name: "invalid_session_name" } as const;

function namesOf({ session }: SessionAccess) {
  const { sessionId, chosen } = session;
  const { displayName, name } = chosen;
  return { sessionId, ...(displayName !== null && { displayName }), ...(name && { name }) };
}

/** A session as in a list, with its clients, under both its names. Reading it opens nothing. */
export function sessionStatusRoutes(daemon: Daemon): readonly Route[] {
  const names = [
    { path: "/session/:id", about: ABOUT_FIND.status, yieldsToPage: true },
    { path: "/session/:id/status", about: ABOUT_FIND.statusByOtherName },
  ] as const;
  return names.map((name) =>
    route({
      ...name,
      method: "GET",
      needs: "session:read",
      handle: (request) =>
        withKnown(daemon, request, async (known) => {
          return answerTo(await known.status(), (status) => json(200, status));
        }),
    }),
  );
}

const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, "it must be a whole number")
  .transform(Number);

const fieldsQuery = z.object({
  detail: z.literal("full").optional(),
  messages: wholeNumber.pipe(z.number().min(1).max(FIELDS_MESSAGES_MAX)).optional(),
  after: wholeNumber.optional(),
});

/** The session's fields, with a page of its conversation. Ours. */
export function fieldsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/fields",
    about: ABOUT_READ.fields,
    query: fieldsQuery,
    needs: "session:read",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        const query = readQuery(fieldsQuery, request.query);
        if (!query.ok) return refused(query.refusal);
        const { detail, messages = FIELDS_MESSAGES_DEFAULT_MAX, after = 0 } = query.value;
        const order = { isFull: detail === "full", after, limit: messages };
        const fields = await session.fields(order);
        return answerTo(fields, (body) => json(200, body));
      }),
  });
}

/** The agent's options and their values. */
export function contextRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/context",
    about: ABOUT_READ.context,
    needs: "session:read",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        const { sessionId, fixed } = session.session;
        const { workspaceCwd } = fixed;
        const state = await session.agentState();
        return json(200, { v: 1, sessionId, workspaceCwd, state });
      }),
  });
}

/** Any other value is as none. */
const detailQuery = z.object({ detail: z.enum(["true", "false"]).optional().catch(undefined) });

/** How full the agent's context is, if the agent reports it. */
export function contextUsageRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/context-usage",
    about: ABOUT_READ.contextUsage,
    query: detailQuery,
    needs: "session:read",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        const query = readQuery(detailQuery, request.query);
        if (!query.ok) return refused(query.refusal);
        const usage = await session.contextUsage(query.value.detail === "true");
        return answerTo(usage, (answer) => json(200, answer));
      }),
  });
}

/** Usage and activity of the session. */
export function statsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/stats",
    about: ABOUT_READ.stats,
    needs: "session:read",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        return answerTo(await session.stats(), (stats) => json(200, stats));
      }),
  });
}

/** The session's slash commands, the server's and the agent's, and its skills. */
export function supportedCommandsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/supported-commands",
    about: ABOUT_READ.commands,
    needs: "session:read",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        const { sessionId } = session.key;
        return answerTo(await session.commands(), ({ skills, commands }) => {
          const availableCommands = offeredCommands(skills, commands);
          const availableSkills = skills.entries.map(({ skill_name }) => skill_name);
          return json(200, { v: 1, sessionId, availableCommands, availableSkills });
        });
      }),
  });
}
