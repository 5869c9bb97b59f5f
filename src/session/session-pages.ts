import type { TenantId } from "../core/id.ts";
import { PAGE_ROWS_MAX } from "../core/limits.ts";
import { ok, type Result } from "../core/result.ts";
import type { ListFilter, Listing, SessionStore } from "../store/store.ts";

/** The stored sessions of a tenant, in pages; one that cannot be read is the last. */
export async function* sessionPages(
  store: SessionStore,
  tenantId: TenantId,
  filter: ListFilter = {},
): AsyncGenerator<Result<Listing>> {
  let cursor: string | null = null;
  do {
    const page = await store.list(tenantId, filter, { limit: PAGE_ROWS_MAX, cursor });
    yield page;
    cursor = page.ok ? page.value.nextCursor : null;
  } while (cursor !== null);
}

/** How many sessions are stored of a tenant, damaged or not. */
export async function countSessions(
  store: SessionStore,
  tenantId: TenantId,
): Promise<Result<number>> {
  let count = 0;
  for await (const page of sessionPages(store, tenantId)) {
    if (!page.ok) return page;
    count += page.value.sessions.length + page.value.damaged.length;
  }
  return ok(count);
}
