import type { SessionId, TenantId } from "../core/id.ts";
import { HELD_SESSIONS_NAMED_MAX } from "../core/limits.ts";
import { DONE, fail, type Result } from "../core/result.ts";
import { sessionPages } from "../session/replay.ts";
import { describeHolder, type Holder, mayTake } from "../store/holder.ts";
import type { SessionStore } from "../store/store.ts";

/**
 * Whether this holder could remove the tenant: not while others may have sessions of it open. The
 * store asks that too, but last of all, when the tenant's own sessions have been ended for it; so
 * it is asked before anything is done, and the answer says what a person can do. What cannot be
 * read is left to the store.
 */
export async function freeOfOthers(
  store: SessionStore,
  tenantId: TenantId,
  holder: Holder,
): Promise<Result<void>> {
  const named: SessionId[] = [];
  let count = 0;
  let first: Holder | null = null;
  for await (const page of sessionPages(store, tenantId)) {
    if (!page.ok) return DONE;
    for (const { sessionId, holder: held } of page.value.sessions) {
      if (held === null || mayTake(held, holder)) continue;
      first ??= held;
      count += 1;
      if (named.length < HELD_SESSIONS_NAMED_MAX) named.push(sessionId);
    }
  }
  if (first === null) return DONE;
  const sessionIds = `${named.join(", ")}${count > named.length ? ", …" : ""}`;
  const advice = `Stop it. If it is gone for good, "${seizing(tenantId)}" frees a session.`;
  return fail("tenant_locked", { count, sessionIds, holder: describeHolder(first), advice });
}

const seizing = (tenantId: TenantId) => `fermata seize ID --tenant ${tenantId}`;
