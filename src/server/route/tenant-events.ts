import { answerTo, events } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { type Route, route } from "../route.ts";

/** All of a tenant's sessions as they are, and then each that changes; ours, and not the wire's. */
export function tenantEventsRoute({ runtime }: Daemon): Route {
  return route({
    method: "GET",
    path: "/events",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    rate: "exempt",
    async handle({ caller }) {
      return answerTo(runtime.watchTenant(caller.tenantId), (source) => events(source, null));
    },
  });
}
