import { z } from "zod";
import { type ErrorCode, refusal } from "../../core/error.ts";
import { parseSessionId } from "../../core/id.ts";
import {
  DISPLAY_NAME_CHARS_MAX,
  FIELDS_MESSAGES_DEFAULT_MAX,
  FIELDS_MESSAGES_MAX,
} from "../../core/limits.ts";
import { offeredCommands } from "../../core/slash/commands.ts";
import { NO_KNOWLEDGE, readKnowledge } from "../../session/choice/knowledge.ts";
import { givenBy } from "../../session/given-by.ts";
import { contextUsage, sessionStats } from "../../session/stats/live-stats.ts";
import { askingDoubt } from "../../session/view/asking.ts";
import { availableCommands } from "../../session/view/commands.ts";
import { agentState } from "../../session/view/context.ts";
import { sessionFields } from "../../session/view/fields.ts";
import { seenClients, summaryOfLive, summaryOfStored } from "../../session/view/summary.ts";
import type { Daemon } from "../daemon.ts";
import { answerTo, empty, json, refused } from "../http/answer.ts";
import { readQuery } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { actorOf, withLive, withReader, withSession } from "./session-request.ts";

/** Ends a session for everybody; what is stored of it stays, and can be loaded (wire, 4.4). */
export function closeRoute({ runtime }: Daemon): Route {
  return route({
    method: "DELETE",
    path: "/session/:id",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        return answerTo(await runtime.close(key, actorOf(request)), () => empty());
      }),
  });
}

/** Whoever is not there any more has left. */
const LEFT: ReadonlySet<ErrorCode> = new Set(["session_not_found", "session_closing"]);

/** Takes a client's registration back. To leave what one is not in is no mistake (wire, 4.5). */
export function detachRoute({ runtime }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/detach",
    gate: "caller",
    needs: "session:read",
    clientId: "shape",
    body: "json",
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

/** A sign of life, which keeps a session from being let go (wire, 4.6). */
export function heartbeatRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/heartbeat",
    gate: "caller",
    needs: "session:read",
    clientId: "registered",
    body: "json",
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

/** How long it may be, and of what, is for the session to say. */
const metadataBody = z.object({ displayName: z.string().optional() });

/** Names a session; the empty name takes its name away (wire, 4.7). */
export function metadataRoute(daemon: Daemon): Route {
  const { runtime, world } = daemon;
  return route({
    method: "PATCH",
    path: "/session/:id/metadata",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withReader(daemon, request, async (live, actor) => {
        const body = metadataBody.safeParse(request.body);
        if (!body.success) return refused(notText());
        const { displayName } = body.data;
        const { key } = live;
        if (displayName !== undefined) {
          const by = givenBy(world.clock, actor);
          const named = await runtime.submit(key, { type: "metadata", ...by, displayName });
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

/** A session as a list shows it, with who is there (wire, 4.13). Nothing is opened for a look. */
export function sessionStatusRoute({ runtime, world }: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/status",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        const { sessionId } = key;
        const live = runtime.peek(key);
        if (live?.session.closed === false) {
          const clients = seenClients(live);
          return json(200, { ...summaryOfLive(live), ...askingDoubt(world, live), clients });
        }
        return answerTo(await world.store.readRecord(key), (record) => {
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

/** What a session is and knows, field by field, with a page of its conversation (B2). Ours. */
export function fieldsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/fields",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const query = readQuery(fieldsQuery, request.query);
        if (!query.ok) return refused(query.refusal);
        const { detail, messages = FIELDS_MESSAGES_DEFAULT_MAX, after = 0 } = query.value;
        const order = { isFull: detail === "full", after, limit: messages };
        const fields = await sessionFields(daemon.world.store, live, order);
        return answerTo(fields, (body) => json(200, body));
      }),
  });
}

/** What the session's agent can be set to, and is (4.13). */
export function contextRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/context",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const { sessionId, fixed } = live.session;
        const { workspaceCwd } = fixed;
        const known = await agentState(daemon.world.store, live);
        return answerTo(known, (state) => json(200, { v: 1, sessionId, workspaceCwd, state }));
      }),
  });
}

/** How full the agent's context is, as far as it says so (4.13). */
export function contextUsageRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/context-usage",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const usage = await contextUsage(live, request.query.get("detail") === "true");
        return answerTo(usage, (answer) => json(200, answer));
      }),
  });
}

/** What a session has used and done so far (4.13). */
export function statsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/stats",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        return answerTo(await sessionStats(daemon.world, live), (stats) => json(200, stats));
      }),
  });
}

/** The slash commands of a session, ours and its agent's, and its skills (4.13). */
export function supportedCommandsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/supported-commands",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const { store } = daemon.world;
        const { sessionId, tenantId } = live.key;
        const known = await readKnowledge(store, tenantId, live.session.chosen);
        // What cannot be read of it is missing here; its own commands are there all the same (P6).
        const { skills } = known.ok ? known.value : NO_KNOWLEDGE;
        const own = await availableCommands(store, live);
        return answerTo(own, (commands) => {
          const availableCommands = offeredCommands(skills, commands);
          const availableSkills = skills.entries.map(({ skill_name }) => skill_name);
          return json(200, { v: 1, sessionId, availableCommands, availableSkills });
        });
      }),
  });
}
