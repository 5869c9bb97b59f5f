import { refusal } from "../core/error.ts";
import { isPermitted } from "../core/permission.ts";
import type { Actor } from "../core/session/command.ts";
import { isRegistered } from "../core/session/state.ts";
import type { LiveSession } from "../session/live.ts";
import { type Answer, refused } from "./answer.ts";
import type { Daemon } from "./daemon.ts";
import type { ServerRequest } from "./route.ts";
import { actorOf, withSession } from "./session-request.ts";

type InSession = ServerRequest<{ readonly id: string }>;

type Act = (live: LiveSession, actor: Actor) => Promise<Answer>;

/** Does something with the session of a path, once it is certain that it is there. */
export async function withLive(daemon: Daemon, request: InSession, act: Act): Promise<Answer> {
  return withSession(request, async (key) => {
    const found = await daemon.runtime.find(key);
    return found.ok ? act(found.value, actorOf(request)) : refused(found.refusal);
  });
}

/**
 * The same for reading, where no command is given that would be refused: a client that gives its
 * name must be one that the session knows, and has shown a sign of life by asking (wire, 3.2).
 */
export async function withReader(daemon: Daemon, request: InSession, act: Act): Promise<Answer> {
  return withLive(daemon, request, async (live, actor) => {
    const { clientId, caller } = request;
    const { sessionId } = live.key;
    if (clientId !== null && !isRegistered(live.session, clientId, caller.userId)) {
      return refused(refusal("invalid_client_id", { sessionId, clientId }));
    }
    // An ask would wait in vain for whoever has lost their vote, so they do not count as there.
    const isVoter = isPermitted(caller.role, "session:vote");
    const shown = isVoter ? actor : actorOf(request, null);
    const seen = await daemon.runtime.heartbeat(live.key, shown);
    return seen.ok ? act(live, actor) : refused(seen.refusal);
  });
}
