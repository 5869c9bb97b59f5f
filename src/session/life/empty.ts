import { EMPTY_SESSIONS_SOUGHT_MAX } from "../../core/limits.ts";
import { type Actor, SERVER } from "../../core/session/command.ts";
import type { SessionKey } from "../../store/store.ts";
import { liveDeletion } from "../audit/entries.ts";
import type { SessionStreams } from "../bus/streams.ts";
import type { LiveSession } from "../live.ts";
import type { SessionRegistry } from "../registry.ts";
import type { SessionWorld } from "../world.ts";

interface EmptyParts {
  readonly world: SessionWorld;
  readonly registry: SessionRegistry;
  readonly streams: SessionStreams;
}

/**
 * Deletes a session that its clients have closed before any prompt was admitted: there is nothing
 * in it to come back to, and its id is free again. If a client has loaded it meanwhile, or the
 * store does not answer, it stays as it is.
 */
export async function deleteIfEmpty(
  { world, registry, streams }: EmptyParts,
  live: LiveSession,
  actor: Actor,
): Promise<void> {
  if (!isClosedEmpty(live)) return;
  await registry.release(live, async () => {
    if (!isClosedEmpty(live)) return;
    const audit = liveDeletion(live, actor, world.clock.nowMs());
    const deleted = await world.store.delete(live.key, world.holder, audit);
    if (deleted.ok) streams.deleted(live.key, live.session.chosen.audience ?? null);
  });
}

/** A branch has a snapshot from its beginning; what a shell has done is work as well. */
function isClosedEmpty({ session, hasSnapshot }: LiveSession): boolean {
  const { closed, totals, shellContext } = session;
  return closed && totals.promptCount === 0 && !hasSnapshot && shellContext.length === 0;
}

/**
 * Deletes those that a server had closed when it was killed. They are among the last that were
 * written, so a bounded look at the newest finds them.
 */
export async function deleteEmptySessions(parts: EmptyParts): Promise<void> {
  const { world, registry } = parts;
  const tenants = await world.store.tenants();
  if (!tenants.ok) return;
  for (const tenantId of tenants.value) {
    const page = { limit: EMPTY_SESSIONS_SOUGHT_MAX, cursor: null };
    const newest = await world.store.list(tenantId, { closed: true }, page);
    const closed = newest.ok ? newest.value.sessions : [];
    for (const { sessionId, revision } of closed) {
      if (revision === 0) await deleteStored(parts, registry, { tenantId, sessionId });
    }
  }
}

async function deleteStored(parts: EmptyParts, registry: SessionRegistry, key: SessionKey) {
  // A client that has it open decides what becomes of it.
  if (registry.peek(key) !== null) return;
  const opened = await registry.get(key, "uncapped");
  if (!opened.ok) return;
  await deleteIfEmpty(parts, opened.value, SERVER);
  await registry.release(opened.value);
}
