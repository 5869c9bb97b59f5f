import { UNMAKING_TRIES_MAX } from "../../core/limits.ts";
import { fail, type Result } from "../../core/result.ts";
import { SERVER } from "../../core/session/command.ts";
import type { OpenSession } from "../actor/open.ts";
import { liveDeletion } from "../audit/entries.ts";
import type { LiveOptions, LiveSession } from "../live.ts";
import type { SessionRegistry } from "../registry.ts";
import type { SessionWorld } from "../world.ts";

/** What takes a session back whose making failed. */
interface Unmaking extends Pick<LiveOptions, "unmade"> {
  readonly world: SessionWorld;
  readonly registry: Pick<SessionRegistry, "peek" | "evict" | "release">;
}

/**
 * Removes a session that was made for nothing, because no agent could be had. If another client
 * has come or done something, it stays: that client was told that it is there (P1). If the store
 * fails meanwhile, it is looked at anew when it has been opened again, and is never dropped: a
 * prompt may wait in it (P2).
 */
export async function unmake(unmaking: Unmaking, live: LiveSession): Promise<void> {
  const { world, registry } = unmaking;
  const { attendance } = live;
  const remove = async () => {
    if (!attendance.wasUsed) await deleteMade(world, unmaking, live);
  };
  for (let tries = 0; tries < UNMAKING_TRIES_MAX && !attendance.wasUsed; tries += 1) {
    // Another request ends it already: then this comes after.
    if (registry.peek(live.key) !== live) return void (await registry.release(live, remove));
    await registry.evict(live, "evicted", remove);
    if (live.reopening === null) return;
    await live.reopening;
  }
}

export async function deleteMade(
  world: SessionWorld,
  { unmade }: Pick<LiveOptions, "unmade">,
  made: Pick<LiveSession, "key" | "epoch" | "session">,
): Promise<Result<void>> {
  const audit = liveDeletion(made, SERVER, world.clock.nowMs());
  const deleted = await world.store.delete(made.key, world.holder, audit);
  if (deleted.ok) unmade(made);
  return deleted;
}

/**
 * Deletes a session that a server was making when it was killed. A client that repeats its request
 * makes it anew, or is told why that fails.
 */
export async function withoutUnanswered(
  world: SessionWorld,
  made: OpenSession,
  options: Pick<LiveOptions, "unmade">,
): Promise<Result<never>> {
  const { key, term } = made;
  const deleted = await deleteMade(world, options, made);
  if (!deleted.ok) await world.store.close(key, term);
  return deleted.ok ? fail("session_not_found", { sessionId: key.sessionId }) : deleted;
}
