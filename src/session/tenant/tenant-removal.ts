import type { TenantId, UserId } from "../../core/id.ts";
import { TENANT_REMOVAL_MS_MAX, TENANT_SESSION_END_MS_MAX } from "../../core/limits.ts";
import { fail, type Result } from "../../core/result.ts";
import { SERVER } from "../../core/session/command.ts";
import { isVisibleTo } from "../../core/session/visibility.ts";
import type { SessionStreams } from "../bus/streams.ts";
import { deleteCopies } from "../conversation/agent-copy.ts";
import type { LiveSession } from "../live.ts";
import type { SessionRegistry } from "../registry.ts";
import { countSessions } from "../replay.ts";
import { type SessionWorld, stampedBy } from "../world.ts";

interface RemovalDeps {
  readonly world: SessionWorld;
  readonly registry: SessionRegistry;
  readonly streams: SessionStreams;
}

/**
 * Deletes a tenant with everything that it has, here and in the store. First the server refuses new
 * work; then its sessions end, with their agents and the work begun before; and only when
 * no work for it is left does the store remove it, in one step. So at any moment it is there or it
 * is gone, and no work can bring a part of it back. If it cannot be removed it is still there, with
 * its sessions closed. Its audit goes with it, so the server's own log has the entry.
 */
export async function removeTenant(
  deps: RemovalDeps,
  tenantId: TenantId,
  by: string,
): Promise<Result<void>> {
  const { world, streams } = deps;
  const { tenants, meter, store } = world;
  if (!tenants.close(tenantId)) return fail("tenant_deleting");
  try {
    if (!(await emptied(deps, tenantId))) return fail("tenant_busy");
    // That they cannot be counted is no reason to keep them.
    const counted = await countSessions(store, tenantId);
    const sessions = counted.ok ? counted.value : "unknown";
    const removed = await meter.without(tenantId, () => store.removeTenant(tenantId, world.holder));
    if (removed.ok) world.log("tenant deleted", { tenantId, by, sessions });
    const failure = removed.ok ? null : removed.refusal;
    // Not before it is so (P1); and where the store has refused it, nothing has changed.
    if (failure?.code !== "session_locked") streams.endTenant(tenantId, failure);
    world.known.forget(tenantId);
    if (removed.ok) await forgetHomes(world, tenantId);
    return removed;
  } finally {
    tenants.open(tenantId);
  }
}

/** A tenant that is still there would have lost its log-ins, so it is deleted before. */
async function forgetHomes({ agents, log }: SessionWorld, tenantId: TenantId): Promise<void> {
  const isForgotten = await agents.forget(tenantId).catch(() => false);
  if (!isForgotten) log("homes not removed", { tenantId });
}

/** Whether all work for it has ended within the time limit. */
async function emptied(deps: RemovalDeps, tenantId: TenantId): Promise<boolean> {
  const late = new AbortController();
  const { promise: isLate, resolve } = Promise.withResolvers<false>();
  const callOff = deps.world.clock.after(TENANT_REMOVAL_MS_MAX, () => {
    late.abort();
    resolve(false);
  });
  const isEmpty = await Promise.race([endAll(deps, tenantId, late.signal), isLate]);
  callOff();
  return isEmpty;
}

/**
 * The agents are sent away twice: requests may wait for what one has to say, and may have asked
 * for another before they ended. Once it is too late nothing more is ended: the tenant stays, and
 * what is at work in it by then is no business of this deletion.
 */
async function endAll(deps: RemovalDeps, tenantId: TenantId, late: AbortSignal): Promise<boolean> {
  const { agents, tenants } = deps.world;
  const steps = [
    () => endSessions(deps, tenantId, late),
    () => deleteCopies(deps.world, tenantId, late),
    () => agents.dismiss(tenantId),
    () => tenants.empty(tenantId, late),
    () => endSessions(deps, tenantId, late),
    () => agents.dismiss(tenantId),
  ];
  for (const step of steps) {
    await step();
    if (late.aborted) return false;
  }
  return true;
}

/** Until there is none: one that is on its way in or out may turn up in between. */
async function endSessions(
  deps: RemovalDeps,
  tenantId: TenantId,
  late: AbortSignal,
): Promise<void> {
  const { registry } = deps;
  const live = () => registry.all.filter(({ key }) => key.tenantId === tenantId);
  let isEmpty = false;
  while (!isEmpty && !late.aborted) {
    const ends = live().map((one) => end(deps, one, late));
    await Promise.all([registry.settled(tenantId), ...ends]);
    isEmpty = live().length === 0;
  }
}

/** Ends them in order if possible: each prompt gets its verdict, and streams their last frame. */
async function end(
  { world, registry }: RemovalDeps,
  live: LiveSession,
  late: AbortSignal,
): Promise<void> {
  const { promise: timeUp, resolve } = Promise.withResolvers<false>();
  const callOff = world.clock.after(TENANT_SESSION_END_MS_MAX, () => resolve(false));
  const isGone = await Promise.race([closed(world, registry, live, late), timeUp]);
  callOff();
  if (isGone || late.aborted) return;
  // An agent that does not end is killed; all others of the tenant end anyway.
  await Promise.all([world.agents.dismiss(live.key.tenantId), registry.abandon(live)]);
}

/** Whether it is gone. If that took too long a new tenant may have the id, and is left alone. */
async function closed(
  world: SessionWorld,
  registry: SessionRegistry,
  live: LiveSession,
  late: AbortSignal,
): Promise<boolean> {
  const by = stampedBy(world.clock, SERVER);
  await live.submit({ ...by, type: "close" });
  await live.until((session) => session.closed || session.ending === null);
  return !late.aborted && registry.release(live);
}

/**
 * A user has no vote any more in the tenant of these sessions, and does not count as present any
 * more: new asks do not wait for its vote, and open ones go on without it. Its clients stay
 * registered. If the user gets the vote back, they count again with their next sign of life.
 */
export async function withoutVoter(
  world: SessionWorld,
  sessions: readonly LiveSession[],
  userId: UserId,
): Promise<void> {
  await Promise.all(sessions.map((live) => forget(world, live, userId)));
}

/**
 * A user is an owner no more in the tenant of these sessions: the same for those that the user saw
 * only as an owner. In all of them, an ask that was put to the owners may have none left.
 */
export async function withoutOwner(
  world: SessionWorld,
  sessions: readonly LiveSession[],
  userId: UserId,
): Promise<void> {
  const each = sessions.map(async (live) => {
    live.attendance.noteRole({ userId, role: "member" });
    const viewer = { userId, role: "member" } as const;
    if (!isVisibleTo(live.session.chosen.audience ?? null, viewer)) {
      return forget(world, live, userId);
    }
    await submitGone(world, live, null);
  });
  await Promise.all(each);
}

/** The same for the users of a session who do not see it any more. */
export async function withoutOutsiders(world: SessionWorld, live: LiveSession): Promise<void> {
  const { clients, chosen } = live.session;
  const users = new Set([...clients.values()].flatMap(({ userId }) => userId ?? []));
  for (const userId of users) {
    const viewer = { userId, role: live.attendance.roleOf(userId) };
    if (!isVisibleTo(chosen.audience ?? null, viewer)) await forget(world, live, userId);
  }
}

async function forget(world: SessionWorld, live: LiveSession, userId: UserId): Promise<void> {
  for (const [clientId, client] of live.session.clients) {
    if (client.userId === userId) live.attendance.forget(clientId);
  }
  await submitGone(world, live, userId);
}

async function submitGone(world: SessionWorld, live: LiveSession, userId: UserId | null) {
  const { quorum } = world.settings;
  const by = stampedBy(world.clock, SERVER);
  await live.submit({ ...by, type: "voter_gone", userId, quorum });
}
