import { z } from "zod";
import { refusal } from "../../core/error.ts";
import { DISPLAY_NAME_CHARS_MAX } from "../../core/limits.ts";
import { givenBy } from "../../session/world.ts";
import { json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withReader } from "../live-session.ts";
import { type Route, route } from "../route.ts";

/** How long it may be, and of what, is for the session to say. */
const metadataBody = z.object({ displayName: z.string().optional() });

/** Names a session; the empty name takes its name away (wire, 4.7). */
export function metadataRoute(daemon: Daemon): Route {
  const { runtime, world } = daemon;
  return route({
    method: "PATCH",
    path: "/session/:id/metadata",
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withReader(daemon, request, async (live, actor) => {
        const body = metadataBody.safeParse(request.body);
        if (!body.success) return refused(notText());
        const { displayName } = body.data;
        const { key } = live;
        if (displayName !== undefined) {
          const by = givenBy(world.clock, actor);
          const named = await runtime.submit(key, { type: "metadata", ...by, displayName });
          if (!named.ok) return refused(named.refusal);
        }
        const { displayName: name } = live.session.chosen;
        return json(200, { sessionId: key.sessionId, ...(name !== null && { displayName: name }) });
      }),
  });
}

function notText() {
  return refusal("invalid_metadata", { field: "displayName", limit: DISPLAY_NAME_CHARS_MAX });
}
