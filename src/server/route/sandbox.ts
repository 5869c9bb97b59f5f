import { z } from "zod";
import { SANDBOX_STATES } from "../../core/turn.ts";
import { changeIn } from "../../session/actor/outcome.ts";
import { givenBy } from "../../session/given-by.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import type { Route } from "../route.ts";
import { settingRoute } from "../setting-route.ts";

/** For whoever runs the sandbox of a session: this server only keeps and shows it (A16). Ours. */
export function sandboxRoute(daemon: Daemon): Route {
  const { runtime, world } = daemon;
  return settingRoute(daemon, {
    path: "/session/:id/sandbox",
    schema: z.object({ state: z.enum(SANDBOX_STATES) }),
    set: async ({ key }, { state }, actor) => {
      const by = givenBy(world.clock, actor);
      const changed = await runtime.submit(key, { type: "sandbox", ...by, state });
      return answerTo(changed, (outcome) => {
        const previous = changeIn(outcome, "sandbox_changed")?.from ?? state;
        return json(200, { sessionId: key.sessionId, state, previous });
      });
    },
  });
}
