import type { Refusal } from "../core/error.ts";
import { isObject } from "../core/json.ts";
import { fail, ok, type Result } from "../core/result.ts";
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
  const chosen = choose(enabled);
  if (!chosen.ok) return chosen;
  for (const { store, config } of enabled) {
    const started = await answerOf(() => store.init(host, config));
    if (started.ok) continue;
    await end(store);
    if (store !== chosen.value) warn(store.contract.storeId, started.refusal);
    else return endAll(enabled, started);
  }
  const activated = await answerOf(() => chosen.value.activate());
  return activated.ok ? chosen : endAll(enabled, activated);
}

/** Every manifest names its store, so a name must mean one store, also while it is inactive. */
function choose(enabled: readonly Candidate[]): Result<SessionStore> {
  const names = enabled.map(({ store }) => store.contract.storeId);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    const reason = `two loaded stores are called "${twice}"`;
    return fail("invalid_store_config", { path: "storeId", reason });
  }
  const active = enabled.filter(({ config }) => isObject(config) && config.active === true);
  const [chosen] = active;
  if (chosen !== undefined && active.length === 1) return ok(chosen.store);
  const activeNames = active.map(({ store }) => store.contract.storeId).join(", ");
  return fail("store_cardinality", { active: activeNames || "none" });
}

async function endAll(started: readonly Candidate[], why: Result<never>): Promise<Result<never>> {
  for (const { store } of started) await end(store);
  return why;
}

/** A store that cannot even end has nothing to add to the reason for which it is ended. */
async function end(store: SessionStore): Promise<void> {
  await answerOf(() => store.dispose());
}

/** A store of somebody else's may break its promise: throw, or answer with nothing. */
async function answerOf(ask: () => Promise<Result<void>>): Promise<Result<void>> {
  try {
    const answer = await ask();
    return answer.ok ? answer : fail(answer.refusal.code, answer.refusal.details);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("store_unavailable", { reason });
  }
}
