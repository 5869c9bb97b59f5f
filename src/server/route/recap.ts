import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { type Route, route } from "../route.ts";
import { withSession } from "../session-request.ts";

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
