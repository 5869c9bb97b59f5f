import { approvalsView } from "../../session/view/approvals.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { type Route, route } from "../route.ts";

/** What a session lets happen unasked, has granted, and asks just now (ours). */
export function approvalsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/approvals",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const { sessionId } = live.key;
        const known = await approvalsView(daemon.world, live);
        return answerTo(known, (approvals) => json(200, { v: 1, sessionId, ...approvals }));
      }),
  });
}
