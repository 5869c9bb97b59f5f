import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { modelChange } from "../new-session.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

/**
 * Changes the session's model (wire, 4.10) and how it is set (ours), if its agent takes all that is
 * asked for.
 */
export function modelRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/model",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async ({ key }, actor) => {
        const body = readBody(modelChange, request.body);
        if (!body.ok) return refused(body.refusal);
        const changed = await daemon.runtime.choices.changeModel(key, body.value, actor);
        return answerTo(changed, () => json(200, {}));
      }),
  });
}
