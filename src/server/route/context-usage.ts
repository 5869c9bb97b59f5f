import { contextUsage } from "../../session/stats/stats.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { type Route, route } from "../route.ts";

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
