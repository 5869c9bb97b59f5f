import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { type Route, route } from "../route.ts";

/** Reads the persona files again, as `/reload_persona` does; refused in a turn. Ours. */
export function personaReloadRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/persona/reload",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async ({ key }, actor) => {
        const reloaded = await daemon.runtime.choices.reloadPersona(key, actor);
        return answerTo(reloaded, (change) => json(200, change));
      }),
  });
}
