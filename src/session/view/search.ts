import { SEARCH_ANSWER_STEP_MS } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Viewer } from "../../core/session/visibility.ts";
import type { FoundPage, ListPage, SearchRequest } from "../../store/store.ts";
import { visibleFilter } from "../bus/streams.ts";
import { isUnfinishedFork } from "../side/fork-draft.ts";
import type { SessionWorld } from "../world.ts";

/** Finds what was said in the sessions that the viewer sees. */
export async function searchSessions(
  { store, clock }: Pick<SessionWorld, "store" | "clock">,
  viewer: Viewer,
  { query, filter }: SearchRequest,
  page: ListPage,
): Promise<Result<FoundPage>> {
  if (store.contract.capabilities.search !== true) return fail("search_unavailable");
  const startedMs = clock.nowMs();
  const request = { query, filter: { ...filter, ...visibleFilter(viewer) } };
  const found = await store.search?.(viewer.tenantId, request, page);
  if (found === undefined) return fail("search_unavailable");
  if (viewer.role !== "owner") await stepAfter(clock, startedMs);
  if (!found.ok) return found;
  const hits = found.value.hits.filter(({ session }) => !isUnfinishedFork(session));
  return ok({ ...found.value, hits });
}

/** Resolves at the next whole step of time since the start. */
function stepAfter(clock: SessionWorld["clock"], startedMs: number): Promise<void> {
  const passedMs = Math.max(0, clock.nowMs() - startedMs);
  const leftMs = SEARCH_ANSWER_STEP_MS - (passedMs % SEARCH_ANSWER_STEP_MS);
  return new Promise((resolve) => {
    clock.after(leftMs, resolve);
  });
}
