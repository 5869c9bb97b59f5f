import { z } from "zod";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const agentBody = z.object({ agent: z.string().min(1).max(AGENT_NAME_CHARS_MAX) });

/** Changes the session's agent, as `/agent NAME` does; refused in a turn. Ours. */
export function activeAgentRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/agent",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async ({ key }, actor) => {
        const body = readBody(agentBody, request.body);
        if (!body.ok) return refused(body.refusal);
        const changed = await daemon.runtime.choices.changeAgent(key, body.value.agent, actor);
        return answerTo(changed, (change) => json(200, change));
      }),
  });
}
