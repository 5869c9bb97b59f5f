import { givenBy } from "../../session/world.ts";
import { answerTo, empty } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { type Route, route } from "../route.ts";
import { actorOf, withSession } from "../session-request.ts";

/** Stops the prompt at work; those that wait go on (wire, 4.9). */
export function cancelRoute({ runtime, world }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/cancel",
    gate: "caller",
    needs: "session:steer",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        const by = givenBy(world.clock, actorOf(request));
        const cancelled = await runtime.submit(key, { type: "cancel", ...by });
        return answerTo(cancelled, () => empty());
      }),
  });
}
