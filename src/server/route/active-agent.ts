import { z } from "zod";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import type { Route } from "../route.ts";
import { settingRoute } from "../setting-route.ts";

/** Changes the session's agent, as `/agent NAME` does; refused in a turn. Ours. */
export function activeAgentRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/agent",
    schema: z.object({ agent: z.string().min(1).max(AGENT_NAME_CHARS_MAX) }),
    set: async ({ key }, { agent }, actor) => {
      const changed = await daemon.runtime.choices.changeAgent(key, agent, actor);
      return answerTo(changed, (change) => json(200, change));
    },
  });
}
