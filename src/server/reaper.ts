import type { ClientId } from "../core/id.ts";
import type { Actor } from "../core/session/command.ts";
import type { LiveSession } from "../session/live.ts";
import type { Answer } from "./answer.ts";
import type { Daemon } from "./daemon.ts";

interface Visitor {
  readonly live: LiveSession;
  /** Whether the session was made for this request. */
  readonly isMade: boolean;
  readonly clientId: ClientId;
  readonly actor: Actor;
}

/**
 * Whoever never gets the answer does not know of the session, or under which name it has joined:
 * so it has not joined, and what was made for it alone is taken away again (wire, 9.4).
 */
export function reapIfLost(
  { runtime }: Daemon,
  answer: Answer,
  { live, isMade, clientId, actor }: Visitor,
): Answer {
  const afterwards = (fate: "delivered" | "lost") => {
    if (fate === "delivered") return;
    void (isMade ? runtime.ownerVanished(live, actor) : runtime.detach(live.key, clientId, actor));
  };
  return { ...answer, afterwards };
}
