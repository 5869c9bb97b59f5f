import type { SessionLocator } from "./locator.ts";
import type { SessionStore } from "./store.ts";

/**
 * A store that notes which sessions it has where all stores can see it, so that a session of
 * another one is not taken for one that never was.
 */
export function withLocator(store: SessionStore, locator: SessionLocator): SessionStore {
  const { storeId } = store.contract;
  return new Proxy(store, {
    get(target, name) {
      if (name === "create") return create;
      if (name === "delete") return remove;
      if (name === "open") return open;
      const own: unknown = Reflect.get(target, name, target);
      return typeof own === "function" ? own.bind(target) : own;
    },
  });

  /** The note is a hint: that it could not be written is no reason against the session. */
  async function create(...args: Parameters<SessionStore["create"]>) {
    const made = await store.create(...args);
    if (made.ok) await locator.note(args[0], storeId);
    return made;
  }

  async function remove(...args: Parameters<SessionStore["delete"]>) {
    const removed = await store.delete(...args);
    if (removed.ok) await locator.forget(args[0]);
    return removed;
  }

  async function open(...args: Parameters<SessionStore["open"]>) {
    const opened = await store.open(...args);
    if (opened.ok || opened.refusal.code !== "session_not_found") return opened;
    return locator.explainMissing(args[0], storeId);
  }
}
