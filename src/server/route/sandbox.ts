import { z } from "zod";
import { SANDBOX_STATES } from "../../core/session/sandbox.ts";
import { changeIn } from "../../session/actor/outcome.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const sandboxBody = z.object({ state: z.enum(SANDBOX_STATES) });

/** For whoever runs the sandbox of a session: this server only keeps and shows it (A16). Ours. */
export function sandboxRoute(daemon: Daemon): Route {
  const { runtime, world } = daemon;
  return route({
    method: "POST",
    path: "/session/:id/sandbox",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live, actor) => {
        const body = readBody(sandboxBody, request.body);
        if (!body.ok) return refused(body.refusal);
        const { state } = body.value;
        const { sessionId } = live.key;
        const by = { atMs: world.clock.nowMs(), actor };
        const changed = await runtime.submit(live.key, { type: "sandbox", ...by, state });
        return answerTo(changed, (outcome) => {
          const previous = changeIn(outcome, "sandbox_changed")?.from ?? state;
          return json(200, { sessionId, state, previous });
        });
      }),
  });
}
