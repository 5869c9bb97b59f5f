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

/** A door that is open until a test shuts it, and that knows when a call waits before it. */
export class Door {
  #opening: PromiseWithResolvers<void> | null = null;
  #knocking = Promise.withResolvers<void>();

  /** Resolves when a call comes that has to wait. */
  shut(): Promise<void> {
    this.#opening = Promise.withResolvers();
    this.#knocking = Promise.withResolvers();
    return this.#knocking.promise;
  }

  open() {
    this.#opening?.resolve();
    this.#opening = null;
  }

  async pass(): Promise<void> {
    if (this.#opening !== null) this.#knocking.resolve();
    await this.#opening?.promise;
  }
}
