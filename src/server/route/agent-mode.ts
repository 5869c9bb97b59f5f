import { z } from "zod";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import type { Route } from "../route.ts";
import { settingRoute } from "../setting-route.ts";

/** Chooses which of its own modes a session's agent is in from the next turn on (ours). */
export function agentModeRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/agent-mode",
    schema: z.object({ mode: z.string().min(1).max(AGENT_NAME_CHARS_MAX).nullable() }),
    set: async ({ key }, { mode }, actor) => {
      const { sessionId } = key;
      const changed = await daemon.runtime.choices.changeAgentMode(key, mode, actor);
      return answerTo(changed, (previous) => json(200, { sessionId, mode, previous }));
    },
  });
}
