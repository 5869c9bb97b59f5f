import type { SessionId, TenantId } from "../core/id.ts";
import { HELD_SESSIONS_NAMED_MAX, PAGE_ROWS_MAX } from "../core/limits.ts";
import { DONE, fail, type Result } from "../core/result.ts";
import { describeHolder, type Holder, mayTake } from "./holder.ts";
import type { SessionStore } from "./store.ts";

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
