import type { Refusal } from "../../core/error.ts";
import { RECOVERIES_AT_ONCE_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type Session, workCount } from "../../core/session/state.ts";
import { SESSION_STATES } from "../../core/status.ts";
import type { ListFilter, SessionKey } from "../../store/store.ts";
import type { LiveSession } from "../live.ts";
import type { SessionRegistry } from "../registry.ts";
import { sessionPages } from "../replay.ts";
import type { SessionWorld } from "../world.ts";

/** How far a recovery has come; a person may watch it. */
export interface RecoveryProgress {
  readonly total: number;
  readonly recovered: number;
  /** Damaged, or held by another server: left as they are, and named with the reason. */
  readonly setAside: readonly { readonly sessionId: string; readonly reason: string }[];
}

export interface Recovery extends RecoveryProgress {
  /** Of those recovered, how many went on from a snapshot. */
  readonly restoredSnapshots: number;
}

/**
 * After a start: every session that the last server left at work is opened, which closes what was
 * open in it (P5). A few at a time, and one bad session stops no other. Prompts that wait have not
 * run: their sessions stay and go on with them. Doing it twice does nothing the second time.
 */
export async function reconcileStaleSessions(
  world: SessionWorld,
  registry: SessionRegistry,
  tell: (progress: RecoveryProgress) => void = () => {},
): Promise<Result<Recovery>> {
  const stale = await staleSessions(world);
  if (!stale.ok) return stale;
  const setAside: { sessionId: string; reason: string }[] = [...stale.value.damaged];
  const total = stale.value.keys.length + setAside.length;
  let recovered = 0;
  let restoredSnapshots = 0;
  const waiting = stale.value.keys[Symbol.iterator]();
  const work = async () => {
    for (const key of waiting) {
      // A request that opened it meanwhile has recovered it, and may be at work with it.
      const isLive = registry.peek(key) !== null;
      const opened = await registry.get(key, "uncapped");
      if (opened.ok) {
        recovered += 1;
        if (opened.value.hasSnapshot) restoredSnapshots += 1;
        if (!isLive && isAtRest(opened.value.session)) await registry.release(opened.value);
      } else if (opened.refusal.code === "session_not_found") {
        // Its maker had no answer, and opening it has deleted it.
        recovered += 1;
      } else {
        setAside.push({ sessionId: key.sessionId, reason: opened.refusal.code });
      }
      tell({ total, recovered, setAside });
    }
  };
  await Promise.all(Array.from({ length: RECOVERIES_AT_ONCE_MAX }, work));
  await world.meter.sweep((key) => looked(registry, key));
  return ok({ total, recovered, setAside, restoredSnapshots });
}

/** A look at a session, which leaves it as it was: opening it has closed what was open. */
async function looked(registry: SessionRegistry, key: SessionKey): Promise<Result<Session>> {
  const isLive = registry.peek(key) !== null;
  const opened = await registry.get(key, "uncapped");
  if (!opened.ok) return opened;
  const session = await settledSession(opened.value, () => registry.peek(key));
  const isLeft = session.ok && !isLive && isAtRest(session.value);
  if (isLeft) await registry.release(opened.value);
  return session;
}

/**
 * The session as its log has it. While its store is away, that is unknown: what is in memory
 * may lack a commit whose answer was lost.
 */
export async function settledSession(
  live: LiveSession,
  peek: () => LiveSession | null,
): Promise<Result<Session>> {
  const why = await live.settled();
  if (why !== null) return { ok: false, refusal: why };
  const isLost = peek() !== live;
  return isLost ? fail("store_unavailable", { reason: "it was let go" }) : ok(live.session);
}

/** Whether what was refused is a fault of this tenant's part of the store alone. */
export function isTenantsOwn({ code }: Refusal): boolean {
  return code === "session_corrupt";
}

function isAtRest(session: Session): boolean {
  return session.connection.sessionState === "inactive" && workCount(session) === 0;
}

const STALE: readonly ListFilter[] = [
  { statuses: SESSION_STATES.filter((state) => state !== "inactive") },
  { hasPendingPrompts: true },
];

async function staleSessions(world: SessionWorld) {
  const tenants = await world.store.tenants();
  if (!tenants.ok) return tenants;
  const keys = new Map<string, SessionKey>();
  const damaged = new Map<string, string>();
  for (const tenantId of tenants.value) {
    for (const filter of STALE) {
      for await (const page of sessionPages(world.store, tenantId, filter)) {
        // One tenant whose database is damaged keeps none of the others waiting.
        if (!page.ok && isTenantsOwn(page.refusal)) {
          world.log("tenant set aside", { tenantId, because: page.refusal.code });
          break;
        }
        if (!page.ok) return page;
        for (const { sessionId } of page.value.sessions) {
          keys.set(JSON.stringify([tenantId, sessionId]), { tenantId, sessionId });
        }
        for (const { sessionId, reason } of page.value.damaged) damaged.set(sessionId, reason);
      }
    }
  }
  const named = [...damaged].map(([sessionId, reason]) => ({ sessionId, reason }));
  return ok({ keys: [...keys.values()], damaged: named });
}
