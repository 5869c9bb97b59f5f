import { refusal } from "../core/error.ts";
import { type ClientId, parseClientId, parseSessionId } from "../core/id.ts";
import type { Actor } from "../core/session/command.ts";
import type { SessionKey } from "../store/store.ts";
import { type Answer, refused } from "./answer.ts";
import type { ServerRequest } from "./route.ts";

/** The client that asks, as the core wants to know it. */
export function actorOf(request: ServerRequest<unknown>, clientId = request.clientId): Actor {
  const { caller, isLoopbackPeer } = request;
  return { kind: "client", clientId, userId: caller.userId, loopback: isLoopbackPeer };
}

/** A name for a client that has none yet. */
export function freshClientId(uuid: string): ClientId | null {
  return parseClientId(`client_${uuid}`);
}

/**
 * Does something with the session that a path names. An id that no session can have is answered
 * like that of one that is not there (P8).
 */
export async function withSession(
  { params, caller }: ServerRequest<{ readonly id: string }>,
  act: (key: SessionKey) => Promise<Answer>,
): Promise<Answer> {
  const sessionId = parseSessionId(params.id);
  if (sessionId === null) return refused(refusal("session_not_found", { sessionId: params.id }));
  return act({ tenantId: caller.tenantId, sessionId });
}
