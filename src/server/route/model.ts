import { z } from "zod";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const modelBody = z.object({ modelId: z.string().min(1).max(AGENT_NAME_CHARS_MAX) });

/** Changes the session's model, if its agent takes that one (wire, 4.10). */
export function modelRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/model",
    gate: "caller",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async ({ key }, actor) => {
        const body = readBody(modelBody, request.body);
        if (!body.ok) return refused(body.refusal);
        const changed = await daemon.runtime.changeModel(key, body.value.modelId, actor);
        return answerTo(changed, () => json(200, {}));
      }),
  });
}
