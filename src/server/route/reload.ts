import { z } from "zod";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import type { Route } from "../route.ts";
import { settingRoute } from "../setting-route.ts";

/** Nothing is said with it: the files say what changes. */
const schema = z.looseObject({});

/** Reads the skill files again, as `/reload_skills` does; refused in a turn. Ours. */
export function skillsReloadRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/skills/reload",
    schema,
    set: async ({ key }, _nothing, actor) => {
      const reloaded = await daemon.runtime.choices.reloadSkills(key, actor);
      return answerTo(reloaded, (change) => json(200, change));
    },
  });
}

/** Reads the persona files again, as `/reload_persona` does; refused in a turn. Ours. */
export function personaReloadRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/persona/reload",
    schema,
    set: async ({ key }, _nothing, actor) => {
      const reloaded = await daemon.runtime.choices.reloadPersona(key, actor);
      return answerTo(reloaded, (change) => json(200, change));
    },
  });
}
