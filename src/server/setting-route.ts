import type { z } from "zod";
import type { Refusal } from "../core/error.ts";
import type { Actor } from "../core/session/command.ts";
import type { LiveSession } from "../session/live.ts";
import { type Answer, refused } from "./answer.ts";
import type { Daemon } from "./daemon.ts";
import { withLive } from "./live-session.ts";
import { type FieldCodes, readBody } from "./request-schema.ts";
import { type Route, route } from "./route.ts";

interface Setting<Schema extends z.ZodType> {
  readonly path: `/session/:id/${string}`;
  readonly schema: Schema;
  readonly codes?: FieldCodes;
  /** What is said of a body that cannot be read, where more than the refusal is to be said. */
  refusedBody?(why: Refusal): Answer;
  set(live: LiveSession, wanted: z.output<Schema>, actor: Actor): Promise<Answer>;
}

/** Everything of a session that people choose is changed by a route of this one shape. */
export function settingRoute<Schema extends z.ZodType>(
  daemon: Daemon,
  { path, schema, codes = {}, refusedBody = refused, set }: Setting<Schema>,
): Route {
  return route({
    method: "POST",
    path,
    gate: "caller",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    handle: (request) =>
      withLive(daemon, request, async (live, actor) => {
        const body = readBody(schema, request.body, codes);
        return body.ok ? set(live, body.value, actor) : refusedBody(body.refusal);
      }),
  });
}
