import type { ClientId } from "../core/id.ts";
import { pendingCount } from "../core/session/state.ts";
import type { LiveSession } from "../session/live.ts";
import { askingDoubt } from "../session/view/approvals.ts";
import { isoTime } from "../session/view/summary.ts";
import type { SessionWorld } from "../session/world.ts";

/** How somebody came to a session. */
export interface Entry {
  /** Whether it was there before. */
  readonly attached: boolean;
  /** The name by which the caller is known from now on. */
  readonly clientId: ClientId;
}

/** What whoever makes, joins or restores a session is told of it (wire, 4.1 and 4.3). */
export function sessionBody(
  world: Pick<SessionWorld, "settings">,
  live: LiveSession,
  { attached, clientId }: Entry,
) {
  const { session, epoch } = live;
  const { fixed, chosen, connection, sessionId } = session;
  const { workspaceCwd, source, parentSessionId } = fixed;
  const { currentCwd } = chosen;
  return {
    sessionId,
    workspaceCwd,
    attached,
    clientId,
    createdAt: isoTime(fixed.createdAtMs),
    ...(attached && { hasActivePrompt: pendingCount(session) > 0 }),
    ...(currentCwd !== workspaceCwd && { currentCwd }),
    ...(source !== null && { sourceType: source.type, sourcePersisted: true }),
    ...(source?.id != null && { sourceId: source.id }),
    ...(parentSessionId !== null && { parentSessionId, parentSessionPersisted: true }),
    eventEpoch: epoch,
    status: connection.sessionState,
    ...askingDoubt(world, live),
  };
}
