import { sessionStats } from "../../session/stats/stats.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { type Route, route } from "../route.ts";

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
