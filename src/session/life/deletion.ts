import { SUBMIT_TRIES_MAX } from "../../core/limits.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import type { Actor } from "../../core/session/command.ts";
import type { SessionKey } from "../../store/store.ts";
import { deletionEntry } from "../audit/entries.ts";
import type { LiveSession } from "../live.ts";
import type { SessionRegistry } from "../registry.ts";
import type { SessionWorld } from "../world.ts";

interface Deleter {
  readonly world: SessionWorld;
  readonly registry: SessionRegistry;
  /** Ends the session for everybody. */
  close(key: SessionKey, actor: Actor): Promise<Result<void>>;
}

/**
 * Closes a session if it is live, and removes what is stored of it; the audit keeps a note of
 * that. Whoever is just opening it has it closed, too.
 */
export async function deleteSession(
  deleter: Deleter,
  key: SessionKey,
  actor: Actor,
): Promise<Result<void>> {
  const { world, registry } = deleter;
  const { sessionId } = key;
  for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
    const atMs = world.clock.nowMs();
    const record = await world.store.readRecord(key);
    // What is damaged can be deleted as well, and then the identity of its log is not known.
    if (!record.ok && record.refusal.code !== "session_corrupt") return record;
    const epoch = record.ok ? record.value.epoch : `damaged ${atMs}`;
    const audit = [deletionEntry({ sessionId, epoch, actor, atMs })];
    const remove = () => world.store.delete(key, world.holder, audit);
    const live = await registry.arrived(key);
    if (live === null) return remove();
    const closed = await closedFor(deleter, live, actor);
    if (!closed.ok) return closed;
    let removed: Result<void> = DONE;
    const isGone = await registry.letGo(live, async () => {
      removed = await remove();
    });
    if (isGone) return removed;
    // Somebody has loaded it again, or lets it go at this moment.
  }
  return fail("session_busy", { sessionId });
}

async function closedFor(
  { close }: Deleter,
  live: LiveSession,
  actor: Actor,
): Promise<Result<unknown>> {
  if (live.session.closed) return DONE;
  const closed = await close(live.key, actor);
  const isClosing = !closed.ok && closed.refusal.code === "session_closing";
  return isClosing ? live.until((session) => session.closed || session.ending === null) : closed;
}
