import { givenBy } from "../../session/world.ts";
import { type Answer, answerTo, empty } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { type Route, route, type ServerRequest } from "../route.ts";
import { actorOf, withSession } from "../session-request.ts";

/**
 * Takes back what was allowed for the rest of a session (ours): if the agent asks for such a call
 * again, it is asked of people. An agent that was given its own `allow_always` option may remember
 * that and not ask any more, which is not for us to take back. Whoever may vote for it may take it
 * back. A path that ends in a slash is that of all, as everywhere: an empty key is none.
 */
export function grantsRoutes(daemon: Daemon): readonly Route[] {
  return [
    route({
      method: "DELETE",
      path: "/session/:id/grants",
      gate: "caller",
      needs: "session:vote",
      clientId: "registered",
      body: "json",
      handle: (request) => revoked(daemon, request, null),
    }),
    route({
      method: "DELETE",
      path: "/session/:id/grants/:key",
      gate: "caller",
      needs: "session:vote",
      clientId: "registered",
      body: "json",
      handle: (request) => revoked(daemon, request, request.params.key),
    }),
  ];
}

function revoked(
  { runtime, world }: Daemon,
  request: ServerRequest<{ readonly id: string }>,
  grant: string | null,
): Promise<Answer> {
  return withSession(request, async (key) => {
    const by = givenBy(world.clock, actorOf(request));
    const done = await runtime.submit(key, { type: "revoke_grant", ...by, key: grant });
    return answerTo(done, () => empty());
  });
}
