import type { SessionId } from "../../core/id.ts";
import {
  CLIENT_IDLE_MS_MAX,
  SHUTDOWN_END_MS,
  SHUTDOWN_TRIES_MAX,
  SUBMIT_TRIES_MAX,
} from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { type Actor, type Command, SERVER } from "../../core/session/command.ts";
import type { Audience } from "../../core/session/visibility.ts";
import type { SessionState } from "../../core/status.ts";
import type { SessionKey } from "../../store/store.ts";
import { deletionEntry } from "../audit/entries.ts";
import { agentCopyOf, deleteCopy } from "../conversation/agent-copy.ts";
import { retryIfEvicted } from "../eviction.ts";
import type { LiveSession } from "../live.ts";
import type { SessionRegistry } from "../registry.ts";
import type { SessionWorld } from "../world.ts";

/** Ends a session for all clients, and answers when it has ended. */
export function closeSession(
  find: () => Promise<Result<LiveSession>>,
  command: Command<"close">,
): Promise<Result<LiveSession>> {
  return retryIfEvicted(async () => {
    const found = await find();
    if (!found.ok) return found;
    const closing = await found.value.submit(command);
    if (closing.refusal !== null) return { ok: false, refusal: closing.refusal };
    // A client may load it again in the same moment, or it is evicted.
    await found.value.until(({ closed, ending }) => closed || ending === null);
    return found;
  });
}

interface Deleter {
  readonly world: SessionWorld;
  readonly registry: SessionRegistry;
  /** Ends the session for all clients. */
  close(key: SessionKey, actor: Actor): Promise<Result<unknown>>;
}

/**
 * Closes a session if it is live, and removes what is stored of it; the audit keeps a note of
 * that. One that is just being opened is closed, too.
 */
export async function deleteSession(
  deleter: Deleter,
  key: SessionKey,
  actor: Actor,
): Promise<Result<Audience>> {
  const { world, registry } = deleter;
  const { sessionId } = key;
  for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
    const atMs = world.clock.nowMs();
    const record = await world.store.readRecord(key);
    // What is damaged can be deleted as well, and then the identity of its log is not known.
    if (!record.ok && record.refusal.code !== "session_corrupt") return record;
    const epoch = record.ok ? record.value.epoch : `damaged ${atMs}`;
    const live = await registry.arrived(key);
    // Of a damaged one it is not known who saw it, so only owners are told.
    const stored = record.ok ? record.value.audience : [];
    const audience = live === null ? stored : (live.session.chosen.audience ?? null);
    const audit = [deletionEntry({ sessionId, epoch, actor, atMs, audience })];
    const copy = await agentCopyOf(world, key, live);
    const remove = async () => {
      const removed = await world.store.delete(key, world.holder, audit);
      if (removed.ok) deleteCopy(world, copy);
      return removed.ok ? ok(audience) : removed;
    };
    if (live === null) return remove();
    const closed = await closedFor(deleter, live, actor);
    if (!closed.ok) return closed;
    let removed: Result<Audience> = ok(audience);
    const isGone = await registry.release(live, async () => {
      removed = await remove();
    });
    if (isGone) return removed;
    // A client has loaded it again, or another request releases it at this moment.
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

/** Evicts sessions that have been idle for too long, and forgets idle clients. */
export async function reapIdle(
  world: SessionWorld,
  registry: SessionRegistry,
  isWatched: (live: LiveSession) => boolean,
): Promise<void> {
  const nowMs = world.clock.nowMs();
  const idleMs = world.settings.idleMs ?? Number.POSITIVE_INFINITY;
  const idle = registry.all.filter((live) => {
    const isUsed = live.isBusy || isWatched(live);
    return !isUsed && nowMs - live.attendance.activeMs >= idleMs;
  });
  for (const live of idle) await registry.evict(live, "idle_timeout");
  for (const live of registry.all) await forgetClients(live, nowMs);
}

/** Registrations are kept over restarts, and so would be for ever. */
async function forgetClients(live: LiveSession, atMs: number): Promise<void> {
  for (const clientId of live.session.clients.keys()) {
    const seenMs = live.attendance.seenMs(clientId) ?? live.attendance.openedMs;
    if (atMs - seenMs < CLIENT_IDLE_MS_MAX) continue;
    await live.submit({ type: "client_expiry", atMs, actor: SERVER, clientId });
    live.attendance.forget(clientId);
  }
}

/** What a server that stops waits for. */
export interface Draining {
  /** The sessions whose turns are at work. */
  readonly working: readonly SessionId[];
  /** Turns that wait for people, and end with the server. */
  readonly waitingTurns: number;
}

export type TellDrain = (draining: Draining) => void;

/**
 * Stops everything that is live, in order: nothing new is taken in; turns at work may finish, for a
 * while or until the operator is in a hurry; then each session is ended and given back to the
 * store, and the agents go last. A turn that waits for people is not waited for. The store itself
 * belongs to its opener. `tell` hears at once what is waited for, and again as each turn ends.
 * Returns the sessions whose turns did not end by themselves.
 */
export async function shutDown(
  world: SessionWorld,
  registry: SessionRegistry,
  hurry: AbortSignal,
  tell: TellDrain = () => {},
): Promise<readonly SessionId[]> {
  registry.stopTakingIn();
  const cutOff = await drained(world, registry.all, hurry, tell);
  const endAll = () => Promise.all(registry.all.map((live) => endOf(world, registry, live)));
  await endAll();
  await world.agents.shutdown();
  await registry.quiet();
  await endAll();
  // One that a client closed in these moments is released by that.
  await registry.quiet();
  return cutOff;
}

/** What cannot be ended in good order, its store being away, is left to the next server. */
async function endOf(
  world: SessionWorld,
  registry: SessionRegistry,
  live: LiveSession,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const callOff = world.clock.after(SHUTDOWN_END_MS, () => resolve("late"));
  for (let tries = 0; tries < SHUTDOWN_TRIES_MAX; tries += 1) {
    const ended = await Promise.race([registry.evict(live, "daemon_shutdown"), late]);
    if (ended === null) return callOff();
    if (ended === "late") break;
  }
  callOff();
  const { sessionId } = live.key;
  world.log("session abandoned: its store does not answer", { sessionId });
  await registry.abandon(live);
}

/** Returns the sessions whose turns are still at work when there is no more time. */
async function drained(
  world: SessionWorld,
  all: readonly LiveSession[],
  hurry: AbortSignal,
  tell: TellDrain,
): Promise<readonly SessionId[]> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const callOff = world.clock.after(world.settings.drainMs, resolve);
  hurry.addEventListener("abort", () => resolve(), { once: true });
  if (hurry.aborted) resolve();
  const working = new Set(all.filter((live) => stateOf(live) === "running"));
  const waitingTurns = all.filter((live) => stateOf(live) === "waiting").length;
  const ids = () => [...working].map(({ key }) => key.sessionId);
  tell({ working: ids(), waitingTurns });
  const finished = [...working].map(async (live) => {
    await live.until(() => stateOf(live) !== "running");
    if (working.delete(live)) tell({ working: ids(), waitingTurns });
  });
  await Promise.race([late, Promise.all(finished)]);
  callOff();
  const cutOff = ids();
  working.clear();
  return cutOff;
}

function stateOf({ session }: LiveSession): SessionState {
  return session.connection.sessionState;
}
