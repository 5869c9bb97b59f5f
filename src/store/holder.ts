import type { SessionId, TenantId } from "../core/id.ts";
import { HELD_SESSIONS_NAMED_MAX, PAGE_ROWS_MAX } from "../core/limits.ts";
import { DONE, fail, type Result } from "../core/result.ts";
import {
  isGone,
  type ProcessIdentity,
  startOf,
  thisProcess,
} from "../platform/process-identity.ts";
import { holderFault } from "./fields.ts";
import type { SessionStore } from "./store.ts";

export { isGone, isThisProcess } from "../platform/process-identity.ts";

/** A process that owns sessions: named so that a person can find it, and a machine can check it. */
export interface Holder extends ProcessIdentity {
  /** Tells owners within one process apart: two that share a label count as one. */
  readonly label: string;
}

export function thisHolder(label: string): Holder {
  return { ...thisProcess(), label };
}

/** A holder as it was written down; null if it is none. */
export function readHolder(text: string): Holder | null {
  try {
    const value: Holder = JSON.parse(text);
    return holderFault(value) === null ? value : null;
  } catch {
    return null;
  }
}

/**
 * Whether a process of this machine is at work as this holder. The machine may have had another
 * name when the holder was written down; within one boot its processes are known all the same.
 */
export function isAliveHere(holder: Holder): boolean {
  const here = thisProcess();
  if (holder.host === here.host) return !isGone(holder);
  const startedAt = holder.bootId === here.bootId ? startOf(holder.pid) : null;
  return startedAt === "" || startedAt === holder.startedAt;
}

/**
 * Whether another holder may take a held session: not while its holder may be alive. A holder may
 * take again what is its own, because the new term fences its earlier writes.
 */
export function mayTake(held: Holder | null, by: Holder): boolean {
  return held === null || isGone(held) || isSame(held, by);
}

function isSame(held: Holder, by: Holder): boolean {
  const { host, bootId, pid, startedAt, label } = held;
  const alike = host === by.host && bootId === by.bootId && startedAt === by.startedAt;
  return alike && pid === by.pid && label === by.label;
}

export function describeHolder({ label, pid, host }: Holder): string {
  return `${label} (process ${pid} on ${host})`;
}

/**
 * Refuses to delete the tenant while other holders may have its sessions open. The store checks it
 * too, but only after the tenant's own sessions were ended. This check comes before anything is
 * done, and its refusal says what an operator can do. Sessions that cannot be read are left to the
 * store.
 */
export async function checkNoForeignHolders(
  store: SessionStore,
  tenantId: TenantId,
  holder: Holder,
): Promise<Result<void>> {
  const named: SessionId[] = [];
  let count = 0;
  let first: Holder | null = null;
  let cursor: string | null = null;
  do {
    const page = await store.list(tenantId, {}, { limit: PAGE_ROWS_MAX, cursor });
    if (!page.ok) return DONE;
    cursor = page.value.nextCursor;
    for (const { sessionId, holder: held } of page.value.sessions) {
      if (held === null || mayTake(held, holder)) continue;
      first ??= held;
      count += 1;
      if (named.length < HELD_SESSIONS_NAMED_MAX) named.push(sessionId);
    }
  } while (cursor !== null);
  if (first === null) return DONE;
  const sessionIds = `${named.join(", ")}${count > named.length ? ", …" : ""}`;
  const advice = `Stop it. If it is gone for good, "${seizing(tenantId)}" frees a session.`;
  return fail("tenant_locked", { count, sessionIds, holder: describeHolder(first), advice });
}

const seizing = (tenantId: TenantId) => `fermata seize ID --tenant ${tenantId}`;
