import { z } from "zod";
import { APPROVAL_MODES } from "../../core/policy/risk.ts";
import { changeIn } from "../../session/actor/written.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { refusedMode } from "../refused-mode.ts";
import type { Route } from "../route.ts";
import { settingRoute } from "../setting-route.ts";

/** Chooses how much may happen unasked in this session (wire, 5; design, 8). */
export function approvalModeRoute(daemon: Daemon): Route {
  const { runtime, world } = daemon;
  return settingRoute(daemon, {
    path: "/session/:id/approval-mode",
    schema: z.object({ mode: z.enum(APPROVAL_MODES), persist: z.boolean().optional() }),
    codes: { mode: "invalid_approval_mode", persist: "invalid_persist_flag" },
    refusedBody: refusedMode,
    set: async ({ key }, { mode }, actor) => {
      // The session keeps it for ever; there are no settings of a workspace to keep it in.
      const persisted = false;
      const change = { atMs: world.clock.nowMs(), actor, mode, persisted };
      const changed = await runtime.submit(key, { type: "approval_mode", ...change });
      return answerTo(changed, (outcome) => {
        const previous = changeIn(outcome, "approval_mode_changed")?.previous ?? mode;
        return json(200, { sessionId: key.sessionId, mode, previous, persisted });
      });
    },
  });
}
