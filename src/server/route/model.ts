import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { modelChange } from "../new-session.ts";
import type { Route } from "../route.ts";
import { settingRoute } from "../setting-route.ts";

/**
 * Changes the session's model (wire, 4.10) and how it is set (ours), if its agent takes all that is
 * asked for.
 */
export function modelRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/model",
    schema: modelChange,
    set: async ({ key }, wanted, actor) => {
      const changed = await daemon.runtime.choices.changeModel(key, wanted, actor);
      return answerTo(changed, () => json(200, {}));
    },
  });
}
