import { memoryStore } from "../../memory/store.ts";
import type { SessionStore } from "../../store.ts";

/** Small, so that the kit reaches the bound of a commit at little cost. */
const COMMIT_BYTES_MAX = 4 * 1_024 * 1_024;

/** A memory store in which some operations have been replaced by worse ones. */
export function altered(change: (store: SessionStore) => Partial<SessionStore>): SessionStore {
  const store = memoryStore(COMMIT_BYTES_MAX);
  return replaced(store, change(store));
}

/** The same store in all but some operations; `this` is always the one inside. */
export function replaced(store: SessionStore, changes: Partial<SessionStore>): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(changes, name) ?? Reflect.get(target, name);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}
