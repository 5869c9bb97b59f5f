import type { UserId } from "../../core/id.ts";
import { SERVER } from "../../core/session/command.ts";
import type { LiveSession } from "../live.ts";
import { givenBy, type SessionWorld } from "../world.ts";

/**
 * Somebody has no vote any more in the tenant of these sessions. From now on they are not there:
 * no ask that comes counts on them, and those that are open go on without them. Their clients stay
 * theirs; should they get their vote back, they count again with the next sign of life.
 */
export async function withoutVoter(
  world: SessionWorld,
  sessions: readonly LiveSession[],
  userId: UserId,
): Promise<void> {
  await Promise.all(sessions.map((live) => forget(world, live, userId)));
}

async function forget(world: SessionWorld, live: LiveSession, userId: UserId): Promise<void> {
  for (const [clientId, client] of live.session.clients) {
    if (client.userId === userId) live.attendance.forget(clientId);
  }
  const { quorum } = world.settings;
  const by = givenBy(world.clock, SERVER);
  await live.submit({ ...by, type: "voter_gone", userId, quorum });
}
