import { SESSIONS_KEPT_MAX } from "./limits.ts";
import type { Entry, Shelf } from "./shelf.ts";

/** Sessions that are gone when echo is. */
export function memoryShelf(): Shelf {
  const sessions = new Map<string, Entry[]>();
  return {
    create(entries) {
      if (sessions.size >= SESSIONS_KEPT_MAX) return null;
      const id = `sess-${sessions.size + 1}`;
      sessions.set(id, [...entries]);
      return id;
    },
    append: (id, entry) => void sessions.get(id)?.push(entry),
    read: (id) => sessions.get(id) ?? null,
    ids: () => [...sessions.keys()],
  };
}
