import { createHash } from "node:crypto";
import { z } from "zod";
import { refusal } from "../../core/error.ts";
import { parseShellId } from "../../core/id.ts";
import { ok } from "../../core/result.ts";
import type { Idempotency } from "../../core/session/command.ts";
import { questionFault } from "../../session/side/aside.ts";
import type { Daemon } from "../daemon.ts";
import { answerTo, json, refused } from "../http/answer.ts";
import { readBody } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { actorOf, withLive, withSession } from "./session-request.ts";

const btwBody = z.object({
  question: z.string().superRefine((question, context) => {
    const fault = questionFault(question);
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
  }),
});

/** A question beside the conversation; whoever does not wait for the answer ends it (4.12). */
export function btwRoute({ runtime }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/btw",
    gate: "caller",
    needs: "session:write",
    clientId: "shape",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        const read = readBody(btwBody, request.body);
        if (!read.ok) return refused(read.refusal);
        const { caller, signal } = request;
        const asked = await runtime.side.btw(key, read.value.question, signal, caller.userId);
        return answerTo(asked, (answer) => json(200, { sessionId: key.sessionId, answer }));
      }),
  });
}

/** Where the conversation stands, in the agent's words; that there are none is normal (4.12). */
export function recapRoute({ runtime }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/recap",
    gate: "caller",
    needs: "session:write",
    clientId: "shape",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        const { sessionId } = key;
        const told = await runtime.side.recap(key, request.caller.userId);
        return answerTo(told, (recap) => json(200, { sessionId, recap }));
      }),
  });
}

const shellBody = z.object({
  command: z.string().refine((command) => command.trim() !== "", "a command is not blank"),
});

/**
 * Runs a command line of a client beside the agent (4.12). It ends when the client leaves, unless
 * it has ended before; sent again under the same key, it is answered by what came of the first.
 */
export function shellRoute({ runtime, settings }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/shell",
    gate: "strict",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    async handle(request) {
      if (!settings.enableShell) return forbidden("session_shell_disabled");
      if (request.clientId === null) return forbidden("client_id_required");
      const read = readBody(shellBody, request.body);
      if (!read.ok) return refused(read.refusal);
      const { command } = read.value;
      const idempotency = idempotencyOf(request.header("idempotency-key"), command);
      const wish = { command, actor: actorOf(request), idempotency };
      return withSession(request, async (key) => {
        const ran = await runtime.side.shell(key, wish, request.signal);
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

/** What goes on in a session beside its turns, and a way to end it (4.13, 5). */
export function taskRoutes(daemon: Daemon): readonly Route[] {
  return [listTasksRoute(daemon), cancelTaskRoute(daemon)];
}

function listTasksRoute({ runtime }: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/tasks",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        return answerTo(await runtime.side.tasks(key), (tasks) => json(200, tasks));
      }),
  });
}

/** All our tasks are shell commands, so what kind a caller takes it for is of no matter. */
function cancelTaskRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/tasks/:taskId/cancel",
    gate: "strict",
    needs: "session:steer",
    clientId: "shape",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async ({ key }) => {
        const shellId = parseShellId(request.params.taskId);
        const { side } = daemon.runtime;
        const ended = shellId === null ? ok(false) : await side.cancelTask(key, shellId);
        return answerTo(ended, (cancelled) => json(200, { cancelled }));
      }),
  });
}
