import { z } from "zod";
import { APPROVAL_MODES } from "../../core/policy/risk.ts";
import { changeIn } from "../../session/actor/outcome.ts";
import { answerTo, json } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { refusedMode } from "../refused-mode.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const modeBody = z.object({ mode: z.enum(APPROVAL_MODES), persist: z.boolean().optional() });

const CODES = { mode: "invalid_approval_mode", persist: "invalid_persist_flag" } as const;

/** Chooses how much may happen unasked in this session (wire, 5; design, 8). */
export function approvalModeRoute(daemon: Daemon): Route {
  const { runtime, world } = daemon;
  return route({
    method: "POST",
    path: "/session/:id/approval-mode",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live, actor) => {
        const body = readBody(modeBody, request.body, CODES);
        if (!body.ok) return refusedMode(body.refusal);
        const { mode } = body.value;
        const { sessionId } = live.key;
        // The session keeps it for ever; there are no settings of a workspace to keep it in.
        const persisted = false;
        const change = { atMs: world.clock.nowMs(), actor, mode, persisted };
        const changed = await runtime.submit(live.key, { type: "approval_mode", ...change });
        return answerTo(changed, (outcome) => {
          const previous = changeIn(outcome, "approval_mode_changed")?.previous ?? mode;
          return json(200, { sessionId, mode, previous, persisted });
        });
      }),
  });
}
