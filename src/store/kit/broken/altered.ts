import { memoryStore } from "../../memory/store.ts";
import type { SessionStore } from "../../store.ts";

/** Small, so that the kit reaches the bound of a commit at little cost. */
const COMMIT_BYTES_MAX = 4 * 1_024 * 1_024;

type Alteration = (store: SessionStore) => Partial<SessionStore>;

/** A memory store in which some operations have been replaced by worse ones. */
export function altered(change: Alteration): SessionStore {
  const store = memoryStore(COMMIT_BYTES_MAX);
  const changes = change(store);
  return new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(changes, name) ?? Reflect.get(target, name);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}
