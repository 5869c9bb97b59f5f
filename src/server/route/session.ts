import { z } from "zod";
import { type ErrorCode, refusal } from "../../core/error.ts";
import { parseSessionId } from "../../core/id.ts";
import {
  DISPLAY_NAME_CHARS_MAX,
  FIELDS_MESSAGES_DEFAULT_MAX,
  FIELDS_MESSAGES_MAX,
} from "../../core/limits.ts";
import { offeredCommands } from "../../core/slash/commands.ts";
import { summaryOfStored } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { answerTo, empty, json, refused } from "../http/answer.ts";
import { readQuery } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { actorOf, withLive, withReader, withSession } from "./session-request.ts";

/** Closes a session for all its clients. It stays stored, and can be loaded. */
export function closeRoute({ runtime }: Daemon): Route {
  return route({
    method: "DELETE",
    path: "/session/:id",
    needs: "session:write",
    clientId: "registered",
    handle: (request) =>
      withSession(request, async (key) => {
        return answerTo(await runtime.close(key, actorOf(request)), () => empty());
      }),
  });
}

/** In a session that is gone, no client is attached. */
const LEFT: ReadonlySet<ErrorCode> = new Set(["session_not_found", "session_closing"]);

/** Detaches a client. Detaching from a session that the client is not in is no error. */
export function detachRoute({ runtime }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/detach",
    needs: "session:read",
    clientId: "shape",
    async handle(request) {
      const { clientId, caller, params } = request;
      const sessionId = parseSessionId(params.id);
      if (clientId === null || sessionId === null) return empty();
      const key = { tenantId: caller.tenantId, sessionId };
      const detached = await runtime.detach(key, clientId, actorOf(request));
      return detached.ok || LEFT.has(detached.refusal.code) ? empty() : refused(detached.refusal);
    },
  });
}

/** Records a heartbeat, which keeps the session from being evicted. */
export function heartbeatRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/heartbeat",
    needs: "session:read",
    clientId: "registered",
    rate: "exempt",
    handle: (request) =>
      withReader(daemon, request, async ({ key, attendance }) => {
        const { clientId } = request;
        const { sessionId } = key;
        const { activeMs: lastSeenAt } = attendance;
        return json(200, { sessionId, ...(clientId !== null && { clientId }), lastSeenAt });
      }),
  });
}

/** The session checks the name's length and characters. */
const metadataBody = z.object({ displayName: z.string().optional() });

/** Names a session. The empty name removes its name. */
export function metadataRoute(daemon: Daemon): Route {
  const { runtime } = daemon;
  return route({
    method: "PATCH",
    path: "/session/:id/metadata",
    needs: "session:write",
    clientId: "registered",
    handle: (request) =>
      withReader(daemon, request, async (live, actor) => {
        const body = metadataBody.safeParse(request.body);
        if (!body.success) return refused(notText());
        const { displayName } = body.data;
        const { key } = live;
        if (displayName !== undefined) {
          const named = await runtime.command(key, actor, { type: "metadata", displayName });
          if (!named.ok) return refused(named.refusal);
        }
        const { displayName: name } = live.session.chosen;
        return json(200, { sessionId: key.sessionId, ...(name !== null && { displayName: name }) });
      }),
  });
}

function notText() {
  return refusal("invalid_metadata", { field: "displayName", limit: DISPLAY_NAME_CHARS_MAX });
}

/** A session as in a list, with its clients. Reading it opens nothing. */
export function sessionStatusRoute({ runtime }: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/status",
    needs: "session:read",
    handle: (request) =>
      withSession(request, async (key) => {
        const { sessionId } = key;
        const live = runtime.peek(key);
        if (live?.session.closed === false) return json(200, runtime.reads.status(live));
        return answerTo(await runtime.reads.record(key), (record) => {
          if (record.closed) return refused(refusal("session_not_found", { sessionId }));
          return json(200, { ...summaryOfStored(record), clients: [] });
        });
      }),
  });
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
    needs: "session:read",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const query = readQuery(fieldsQuery, request.query);
        if (!query.ok) return refused(query.refusal);
        const { detail, messages = FIELDS_MESSAGES_DEFAULT_MAX, after = 0 } = query.value;
        const order = { isFull: detail === "full", after, limit: messages };
        const fields = await daemon.runtime.reads.fields(live, order);
        return answerTo(fields, (body) => json(200, body));
      }),
  });
}

/** The agent's options and their values. */
export function contextRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/context",
    needs: "session:read",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const { sessionId, fixed } = live.session;
        const { workspaceCwd } = fixed;
        const known = await daemon.runtime.reads.agentState(live);
        return answerTo(known, (state) => json(200, { v: 1, sessionId, workspaceCwd, state }));
      }),
  });
}

/** How full the agent's context is, if the agent reports it. */
export function contextUsageRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/context-usage",
    needs: "session:read",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const showDetails = request.query.get("detail") === "true";
        const usage = await daemon.runtime.reads.contextUsage(live, showDetails);
        return answerTo(usage, (answer) => json(200, answer));
      }),
  });
}

/** Usage and activity of the session. */
export function statsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/stats",
    needs: "session:read",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        return answerTo(await daemon.runtime.reads.stats(live), (stats) => json(200, stats));
      }),
  });
}

/** The session's slash commands, the server's and the agent's, and its skills. */
export function supportedCommandsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/supported-commands",
    needs: "session:read",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const { sessionId } = live.key;
        return answerTo(await daemon.runtime.reads.commands(live), ({ skills, commands }) => {
          const availableCommands = offeredCommands(skills, commands);
          const availableSkills = skills.entries.map(({ skill_name }) => skill_name);
          return json(200, { v: 1, sessionId, availableCommands, availableSkills });
        });
      }),
  });
}
