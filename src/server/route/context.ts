import { agentState } from "../../session/view/agent-state.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { type Route, route } from "../route.ts";

/** What the session's agent can be set to, and is (4.13). */
export function contextRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/context",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const { sessionId, fixed } = live.session;
        const { workspaceCwd } = fixed;
        const known = await agentState(daemon.world.store, live);
        return answerTo(known, (state) => json(200, { v: 1, sessionId, workspaceCwd, state }));
      }),
  });
}
