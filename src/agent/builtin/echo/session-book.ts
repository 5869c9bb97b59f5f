import type { JsonObject } from "../../../core/json.ts";
import { SESSIONS_LIVE_MAX, SESSIONS_PER_PAGE_MAX } from "./limits.ts";
import { Session, type Surroundings } from "./session.ts";
import type { Entry, Shelf } from "./shelf.ts";

/** The sessions of this process: the living, and by way of the shelf all others. */
export class SessionBook {
  readonly #shelf: Shelf;
  readonly #liveMax: number;
  readonly #live = new Map<string, Session>();

  constructor(shelf: Shelf, isSingle: boolean) {
    this.#shelf = shelf;
    this.#liveMax = isSingle ? 1 : SESSIONS_LIVE_MAX;
  }

  get isFull(): boolean {
    return this.#live.size >= this.#liveMax;
  }

  liveIds(): readonly string[] {
    return [...this.#live.keys()];
  }

  living(): Iterable<Session> {
    return this.#live.values();
  }

  find(id: string): Session | null {
    return this.#live.get(id) ?? null;
  }

  isKnown(id: string): boolean {
    return this.#shelf.read(id) !== null;
  }

  /** Null if there are too many. A copy begins with what the other session went through. */
  create(around: Surroundings, copyOf: string | null): Session | null {
    const past = (copyOf === null ? null : this.#shelf.read(copyOf)) ?? [];
    const later = past.filter((entry) => entry.kind !== "opened");
    const entries: readonly Entry[] = [{ kind: "opened", cwd: around.cwd }, ...later];
    const id = this.#shelf.create(entries);
    return id === null ? null : this.#enliven(id, entries, around);
  }

  /** From the shelf, even if it lives: what it remembers is the same, and the rest is new. */
  restore(id: string, around: Surroundings): Session | null {
    const entries = this.#shelf.read(id);
    return entries === null ? null : this.#enliven(id, entries, around);
  }

  #enliven(id: string, entries: readonly Entry[], around: Surroundings): Session {
    const session = new Session(id, entries, around, this.#shelf);
    this.#live.set(id, session);
    return session;
  }

  close(id: string) {
    this.#live.delete(id);
  }

  /** One page in order of age; null if the cursor is none of ours. */
  page(cwd: string | null, cursor: string | null): JsonObject | null {
    const ids = this.#shelf.ids();
    const start = cursor === null ? 0 : ids.indexOf(cursor) + 1;
    if (cursor !== null && start === 0) return null;
    const sessions: JsonObject[] = [];
    for (const id of ids.slice(start)) {
      const info = infoOf(id, this.#shelf.read(id) ?? []);
      if (cwd !== null && info.cwd !== cwd) continue;
      if (sessions.length === SESSIONS_PER_PAGE_MAX) {
        return { sessions, nextCursor: sessions.at(-1)?.sessionId };
      }
      sessions.push(info);
    }
    return { sessions };
  }
}

function infoOf(sessionId: string, entries: readonly Entry[]): JsonObject {
  const opened = entries.find((entry) => entry.kind === "opened");
  const titled = entries.findLast((entry) => entry.kind === "title");
  const cwd = opened?.cwd ?? "/";
  return titled?.title == null ? { sessionId, cwd } : { sessionId, cwd, title: titled.title };
}
