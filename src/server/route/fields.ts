import { z } from "zod";
import { FIELDS_MESSAGES_DEFAULT_MAX, FIELDS_MESSAGES_MAX } from "../../core/limits.ts";
import { sessionFields } from "../../session/view/fields.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { withLive } from "../live-session.ts";
import { readQuery } from "../request-schema.ts";
import { type Route, route } from "../route.ts";

const whole = z
  .string()
  .regex(/^\d{1,15}$/, "it must be a whole number")
  .transform(Number);

const fieldsQuery = z.object({
  detail: z.literal("full").optional(),
  messages: whole.pipe(z.number().min(1).max(FIELDS_MESSAGES_MAX)).optional(),
  after: whole.optional(),
});

/** What a session is and knows, field by field, with a page of its conversation (B2). Ours. */
export function fieldsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/fields",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live) => {
        const query = readQuery(fieldsQuery, request.query);
        if (!query.ok) return refused(query.refusal);
        const { detail, messages = FIELDS_MESSAGES_DEFAULT_MAX, after = 0 } = query.value;
        const order = { isFull: detail === "full", after, limit: messages };
        const fields = await sessionFields(daemon.world.store, live, order);
        return answerTo(fields, (body) => json(200, body));
      }),
  });
}
