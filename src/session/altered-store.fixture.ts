import { fail } from "../core/result.ts";
import type { SessionStore } from "../store/index.ts";

/** The same store, of which a few things are done otherwise. */
export function altered(store: SessionStore, change: Partial<SessionStore>): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(name in change ? change : target, name);
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}

/** What a store that is away says. */
export const AWAY = fail("store_unavailable", { reason: "it is away" });
