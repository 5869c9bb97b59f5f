import { z } from "zod";
import { AUTONOMY_PROFILES } from "../../core/policy/risk.ts";
import { changeIn } from "../../session/actor/outcome.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const autonomyBody = z.object({ profile: z.enum(AUTONOMY_PROFILES) });

/** Chooses the highest risk that a session takes unasked; the wire's word for it follows (ours). */
export function autonomyRoute(daemon: Daemon): Route {
  const { runtime, world } = daemon;
  return route({
    method: "POST",
    path: "/session/:id/autonomy",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live, actor) => {
        const body = readBody(autonomyBody, request.body);
        if (!body.ok) return refused(body.refusal);
        const { profile } = body.value;
        const { sessionId } = live.key;
        const by = { atMs: world.clock.nowMs(), actor };
        const changed = await runtime.submit(live.key, { type: "autonomy", ...by, profile });
        return answerTo(changed, (outcome) => {
          const previous = changeIn(outcome, "autonomy_profile_changed")?.from ?? profile;
          return json(200, { sessionId, profile, previous });
        });
      }),
  });
}
