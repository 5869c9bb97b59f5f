import { answerTo, empty } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { type Route, route } from "../route.ts";
import { actorOf, withSession } from "../session-request.ts";

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
