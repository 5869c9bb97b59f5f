import type { Refusal } from "../core/error.ts";
import { isObject } from "../core/json.ts";
import { fail, ok, type Result } from "./result.ts";
import type { SessionStore, StoreHost } from "./store.ts";

export interface Candidate {
  readonly store: SessionStore;
  readonly config: unknown;
}

/**
 * Brings up the stores that are loaded and makes exactly one of them the session store. The active
 * one must start, and nothing takes its place if it does not; another one that fails is only
 * mentioned. Whatever was started is ended again if the whole does not come about.
 */
export async function activateStore(
  candidates: readonly Candidate[],
  host: StoreHost,
  warn: (storeId: string, why: Refusal) => void,
): Promise<Result<SessionStore>> {
  const enabled = candidates.filter(({ config }) => !isObject(config) || config.enabled !== false);
  const active = enabled.filter(({ config }) => isObject(config) && config.active === true);
  const [chosen] = active;
  if (chosen === undefined || active.length > 1) {
    const names = active.map(({ store }) => store.contract.storeId).join(", ");
    return fail("store_cardinality", { active: names || "none" });
  }
  for (const { store, config } of enabled) {
    const started = await store.init(host, config);
    if (started.ok) continue;
    await store.dispose();
    if (store !== chosen.store) warn(store.contract.storeId, started.refusal);
    else return endAll(enabled, started);
  }
  const activated = await chosen.store.activate();
  return activated.ok ? ok(chosen.store) : endAll(enabled, activated);
}

async function endAll(started: readonly Candidate[], why: Result<never>): Promise<Result<never>> {
  for (const { store } of started) await store.dispose();
  return why;
}
