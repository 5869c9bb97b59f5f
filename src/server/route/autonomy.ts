import { z } from "zod";
import { AUTONOMY_PROFILES } from "../../core/policy/risk.ts";
import { changeIn } from "../../session/actor/written.ts";
import { givenBy } from "../../session/world.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import type { Route } from "../route.ts";
import { settingRoute } from "../setting-route.ts";

/** Chooses the highest risk that a session takes unasked; the wire's word for it follows (ours). */
export function autonomyRoute(daemon: Daemon): Route {
  const { runtime, world } = daemon;
  return settingRoute(daemon, {
    path: "/session/:id/autonomy",
    schema: z.object({ profile: z.enum(AUTONOMY_PROFILES) }),
    set: async ({ key }, { profile }, actor) => {
      const by = givenBy(world.clock, actor);
      const changed = await runtime.submit(key, { type: "autonomy", ...by, profile });
      return answerTo(changed, (outcome) => {
        const previous = changeIn(outcome, "autonomy_profile_changed")?.from ?? profile;
        return json(200, { sessionId: key.sessionId, profile, previous });
      });
    },
  });
}
