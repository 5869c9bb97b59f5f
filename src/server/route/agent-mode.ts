import { z } from "zod";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const agentModeBody = z.object({ mode: z.string().min(1).max(AGENT_NAME_CHARS_MAX).nullable() });

/** Chooses which of its own modes a session's agent is in from the next turn on (ours). */
export function agentModeRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/agent-mode",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async ({ key }, actor) => {
        const body = readBody(agentModeBody, request.body);
        if (!body.ok) return refused(body.refusal);
        const { mode } = body.value;
        const { sessionId } = key;
        const changed = await daemon.runtime.choices.changeAgentMode(key, mode, actor);
        return answerTo(changed, (previous) => json(200, { sessionId, mode, previous }));
      }),
  });
}
