import { type Refusal, refusal } from "../core/error.ts";
import type { TenantId, UserId } from "../core/id.ts";
import { HELD_SESSIONS_NAMED_MAX } from "../core/limits.ts";
import { isShareUsedUp } from "../core/share.ts";
import type { Entry, Live, SessionSpot } from "./entry.ts";
import type { LiveSession } from "./live.ts";

export function spotOf({ session: { fixed } }: LiveSession): SessionSpot {
  return { workspaceCwd: fixed.workspaceCwd, userId: fixed.createdBy ?? null };
}

/** A workspace or a user with too many live sessions. */
interface FullWorkspace {
  readonly scope: "workspace" | "user";
  readonly limit: number;
  /** Those of which one can make room. */
  readonly staying: readonly Live[];
}

/**
 * Whether a workspace has more live sessions than it may have, the one that arrives included, or
 * its user more than their share; null if neither.
 */
export function fullWorkspace(
  entries: Iterable<Entry>,
  tenantId: TenantId,
  { workspaceCwd, userId }: SessionSpot,
  limit: number,
): FullWorkspace | null {
  const { arriving, staying } = countedIn(entries, tenantId, workspaceCwd);
  const count = arriving.length + staying.length;
  if (count > limit) return { scope: "workspace", limit, staying };
  if (userId === null) return null;
  const theirs = staying.filter(({ live }) => spotOf(live).userId === userId);
  const others = arriving.filter((spot) => spot.userId === userId).length - 1;
  const held = theirs.length + others;
  const isFull = isShareUsedUp(held, limit - count + 1);
  return isFull ? { scope: "user", limit: held, staying: theirs } : null;
}

function countedIn(entries: Iterable<Entry>, tenantId: TenantId, workspaceCwd: string) {
  const staying: Live[] = [];
  const arriving: SessionSpot[] = [];
  for (const entry of entries) {
    if (entry.state === "opening") {
      const isHere = entry.key.tenantId === tenantId && entry.spot?.workspaceCwd === workspaceCwd;
      if (isHere && entry.spot !== null) arriving.push(entry.spot);
    } else if (entry.state === "live" && !entry.isEvicted) {
      const { key, session } = entry.live;
      const isHere = key.tenantId === tenantId && session.fixed.workspaceCwd === workspaceCwd;
      if (isHere) staying.push(entry);
    }
  }
  return { arriving, staying };
}

/**
 * Refuses another session. Those that wait for an answer are named: they hold their place until
 * people answer, however long that is. Only sessions that the caller sees are named (P8): their
 * maker's own, or else those that the whole tenant sees.
 */
export function limitRefusal(
  { limit, scope, staying }: FullWorkspace,
  { userId }: SessionSpot,
  caller: "maker" | "any",
): Refusal {
  const isSeen = ({ live }: Live) =>
    caller === "maker" || live.session.chosen.audience === undefined;
  const waiting = staying.filter((one) => waitsOf(one, userId) && isSeen(one));
  if (waiting.length === 0) {
    return refusal("session_limit_exceeded", { limit, scope, advice: "close one or wait" });
  }
  return refusal("session_limit_exceeded", { limit, scope, ...namedWaiting(waiting, "of them") });
}

/**
 * Why a session that is being made has no agent: if there is no capacity for one, with those
 * sessions of its maker that keep theirs until people answer.
 */
export function capacityRefusal(
  why: Refusal,
  entries: Iterable<Entry>,
  made: LiveSession,
): Refusal {
  if (why.code !== "agent_capacity") return why;
  const { tenantId } = made.key;
  const { userId } = spotOf(made);
  const waiting = [...entries]
    .filter((one) => one.state === "live")
    .filter((one) => one.live.key.tenantId === tenantId && waitsOf(one, userId));
  if (waiting.length === 0) return why;
  const { sessionIds, advice } = namedWaiting(waiting, "of your sessions");
  const reason = `${why.details.reason}; ${advice}`;
  return refusal("agent_capacity", { ...why.details, reason, sessionIds });
}

function waitsOf({ live }: Live, userId: UserId | null): boolean {
  return live.session.connection.sessionState === "waiting" && spotOf(live).userId === userId;
}

/** How people end the wait of these sessions. */
function namedWaiting(waiting: readonly Live[], which: string) {
  const named = waiting.slice(0, HELD_SESSIONS_NAMED_MAX).map(({ live }) => live.key.sessionId);
  const sessionIds = `${named.join(", ")}${waiting.length > named.length ? ", …" : ""}`;
  const wait = waiting.length === 1 ? "waits" : "wait";
  const advice =
    `${waiting.length} ${which} ${wait} for an answer (${sessionIds}): GET /session/ID/approvals ` +
    "shows what is asked, POST /session/ID/permission/REQUEST answers, DELETE /session/ID closes";
  return { sessionIds, advice };
}

/** The one that has been idle and unwatched for longest; one that waits for people is not idle. */
export function idlestOf(
  some: readonly Live[],
  isWatched: (live: LiveSession) => boolean,
): Live | null {
  const idle = some.filter(({ live, answered }) => {
    return answered === null && !live.isBusy && !isWatched(live);
  });
  const [first] = idle.sort((a, b) => a.live.attendance.activeMs - b.live.attendance.activeMs);
  return first ?? null;
}
