import { json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withReader } from "../live-session.ts";
import { type Route, route } from "../route.ts";

/** A sign of life, which keeps a session from being let go (wire, 4.6). */
export function heartbeatRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/heartbeat",
    gate: "caller",
    needs: "session:read",
    clientId: "registered",
    body: "json",
    rate: "exempt",
    handle: (request) =>
      withReader(daemon, request, async ({ key, attendance }) => {
        const { clientId } = request;
        const { sessionId } = key;
        const { activeMs: lastSeenAt } = attendance;
        return json(200, { sessionId, ...(clientId !== null && { clientId }), lastSeenAt });
      }),
  });
}
