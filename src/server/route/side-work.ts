import { createHash } from "node:crypto";
import { z } from "zod";
import { refusal } from "../../core/error.ts";
import { parseShellId } from "../../core/id.ts";
import { ok } from "../../core/result.ts";
import type { Idempotency } from "../../core/session/command.ts";
import { questionFault } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { answerTo, json, refused } from "../http/answer.ts";
import { readBody } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { ABOUT_BESIDE } from "./about/beside.ts";
import { actorOf, withSession } from "./session-request.ts";

const btwBody = z.object({
  question: z.string().superRefine((question, context) => {
    const fault = questionFault(question);
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
  }),
});

/** Asks the agent a question beside the conversation. A client that disconnects cancels it. */
export function btwRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/btw",
    about: ABOUT_BESIDE.btw,
    content: btwBody,
    needs: "session:write",
    clientId: "shape",
    async handle(request) {
      const read = readBody(btwBody, request.body);
      if (!read.ok) return refused(read.refusal);
      return withSession(daemon, request, async (session) => {
        const { sessionId } = session.key;
        const asked = await session.btw(read.value.question, request.signal);
        return answerTo(asked, (answer) => json(200, { sessionId, answer }));
      });
    },
  });
}

/** A summary of the conversation by the agent, or null. */
export function recapRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/recap",
    about: ABOUT_BESIDE.recap,
    needs: "session:write",
    clientId: "shape",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        const { sessionId } = session.key;
        return answerTo(await session.recap(), (recap) => json(200, { sessionId, recap }));
      }),
  });
}

const shellBody = z.object({
  command: z.string().refine((command) => command.trim() !== "", "it must not be blank"),
});

/**
 * Runs a client's command line beside the agent. It ends when the client disconnects, unless it has
 * ended before. A repeat under the same key gets the first outcome.
 */
export function shellRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/shell",
    about: ABOUT_BESIDE.shell,
    content: shellBody,
    gate: "strict",
    needs: "session:write",
    clientId: "registered",
    async handle(request) {
      if (!daemon.settings.enableShell) return forbidden("session_shell_disabled");
      if (request.clientId === null) return forbidden("client_id_required");
      const read = readBody(shellBody, request.body);
      if (!read.ok) return refused(read.refusal);
      const { command } = read.value;
      const idempotency = idempotencyOf(request.header("idempotency-key"), command);
      const options = { command, actor: actorOf(request), idempotency };
      return withSession(daemon, request, async (session) => {
        const ran = await session.shell(options, request.signal);
        return answerTo(ran, ({ exitCode, output, aborted }) => {
          return json(200, { exitCode, output, aborted });
        });
      });
    },
  });
}

function forbidden(code: "session_shell_disabled" | "client_id_required") {
  return refused(refusal(code, { errorKind: code }));
}

function idempotencyOf(key: string | null, command: string): Idempotency {
  if (key === null) return null;
  return { key, hash: createHash("sha256").update(command).digest("hex") };
}

/** Lists and cancels what runs in a session beside its turns, and lists its children. */
export function taskRoutes(daemon: Daemon): readonly Route[] {
  return [listTasksRoute(daemon), cancelTaskRoute(daemon), listChildrenRoute(daemon)];
}

function listChildrenRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/children",
    about: ABOUT_BESIDE.children,
    needs: "session:read",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        return answerTo(await session.children(), (children) => json(200, children));
      }),
  });
}

function listTasksRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/tasks",
    about: ABOUT_BESIDE.tasks,
    needs: "session:read",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        return answerTo(await session.tasks(), (tasks) => json(200, tasks));
      }),
  });
}

/** Every task is a shell command, so the kind in the request does not matter. */
function cancelTaskRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/tasks/:taskId/cancel",
    about: ABOUT_BESIDE.cancelTask,
    gate: "strict",
    needs: "session:steer",
    clientId: "shape",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        const shellId = parseShellId(request.params.taskId);
        const ended = shellId === null ? ok(false) : await session.cancelTask(shellId);
        return answerTo(ended, (cancelled) => json(200, { cancelled }));
      }),
  });
}
