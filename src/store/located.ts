import type { Result } from "../core/result.ts";
import type { SessionLocator } from "./locator.ts";
import type { SessionKey, SessionStore } from "./store.ts";

/** What is asked of one session; whoever asks in vain is told if another store has it. */
const EXPLAINED: ReadonlySet<PropertyKey> = new Set<keyof SessionStore>([
  "open",
  "seize",
  "readRecord",
  "readManifest",
  "readEvents",
  "readTurns",
  "readMessages",
  "readSlots",
]);

/**
 * A store that notes which sessions it has where all stores can see it, so that a session of
 * another one is not taken for one that never was. One whose sessions end with the process only
 * looks there: what it noted would be believed when they are long gone.
 */
export function withLocator(
  store: SessionStore,
  locator: SessionLocator,
  { isLasting }: { readonly isLasting: boolean },
): SessionStore {
  const { storeId } = store.contract;
  return new Proxy(store, {
    get(target, name) {
      if (name === "create" && isLasting) return create;
      if (name === "delete" && isLasting) return remove;
      if (name === "removeTenant" && isLasting) return removeTenant;
      const own: unknown = Reflect.get(target, name, target);
      if (typeof own !== "function") return own;
      if (!EXPLAINED.has(name)) return own.bind(target);
      return async (key: SessionKey, ...more: readonly unknown[]) => {
        const answer: Result<unknown> = await own.call(target, key, ...more);
        if (answer.ok || answer.refusal.code !== "session_not_found") return answer;
        return locator.explainMissing(key, storeId);
      };
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

  async function removeTenant(...args: Parameters<SessionStore["removeTenant"]>) {
    // First, so that a crash leaves no names of what is gone; a note too few is only a hint less.
    await locator.forgetTenant(args[0]);
    return store.removeTenant(...args);
  }
}
