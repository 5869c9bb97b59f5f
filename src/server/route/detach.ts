import type { ErrorCode } from "../../core/error.ts";
import { parseSessionId } from "../../core/id.ts";
import { empty, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { type Route, route } from "../route.ts";
import { actorOf } from "../session-request.ts";

/** Whoever is not there any more has left. */
const LEFT: ReadonlySet<ErrorCode> = new Set(["session_not_found", "session_closing"]);

/** Takes a client's registration back. To leave what one is not in is no mistake (wire, 4.5). */
export function detachRoute({ runtime }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/detach",
    gate: "caller",
    needs: "session:read",
    clientId: "shape",
    body: "json",
    async handle(request) {
      const { clientId, caller, params } = request;
      const sessionId = parseSessionId(params.id);
      if (clientId === null || sessionId === null) return empty();
      const key = { tenantId: caller.tenantId, sessionId };
      const detached = await runtime.detach(key, clientId, actorOf(request));
      return detached.ok || LEFT.has(detached.refusal.code) ? empty() : refused(detached.refusal);
    },
  });
}
