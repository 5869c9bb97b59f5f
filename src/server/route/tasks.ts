import { parseShellId } from "../../core/id.ts";
import { ok } from "../../core/result.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { type Route, route } from "../route.ts";
import { withSession } from "../session-request.ts";

/** What goes on in a session beside its turns, and a way to end it (4.13, 5). */
export function taskRoutes(daemon: Daemon): readonly Route[] {
  return [listRoute(daemon), cancelRoute(daemon)];
}

function listRoute({ runtime }: Daemon): Route {
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
function cancelRoute(daemon: Daemon): Route {
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
