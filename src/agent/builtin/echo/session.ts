import type { JsonObject } from "../../../core/json.ts";
import {
  SESSIONS_LIVE_MAX,
  SESSIONS_PER_PAGE_MAX,
  TEXT_KEPT_CHARS_MAX,
  TURNS_KEPT_MAX,
} from "./limits.ts";
import type { EchoEntry, EchoStore } from "./session-store.ts";
import { DEFAULT_MODE, DEFAULT_OPTIONS } from "./settings.ts";
import type { Turn } from "./turn.ts";

/** What the client starts or restores a session with. */
export interface EchoSessionOptions {
  readonly cwd: string;
  readonly mcpServers: readonly JsonObject[];
  readonly systemPrompt: string | null;
}

export interface PastTurn {
  readonly user: string;
  readonly agent: string;
}

/** An open session. `record` changes what it remembers, and stores it. */
export class EchoSession {
  readonly id: string;
  readonly options: EchoSessionOptions;
  readonly #store: EchoStore;
  readonly #settings = new Map(DEFAULT_OPTIONS);
  #past: PastTurn[] = [];
  #lastCall = 0;
  #modeId: string = DEFAULT_MODE;
  readonly #closing: (() => void)[] = [];
  /** The running turn. */
  turn: Turn | null = null;

  constructor(
    id: string,
    entries: readonly EchoEntry[],
    options: EchoSessionOptions,
    store: EchoStore,
  ) {
    this.id = id;
    this.options = options;
    this.#store = store;
    for (const entry of entries) this.#apply(entry);
  }

  get past(): readonly PastTurn[] {
    return this.#past;
  }

  get modeId(): string {
    return this.#modeId;
  }

  setting(id: string): string | null {
    return this.#settings.get(id) ?? null;
  }

  nextCallId(): string {
    this.#lastCall += 1;
    return `call-${this.#lastCall}`;
  }

  /** Runs this when it is closed, or opened again. */
  whenClosed(act: () => void) {
    this.#closing.push(act);
  }

  close() {
    for (const act of this.#closing.splice(0)) act();
  }

  record(entry: EchoEntry) {
    this.#apply(entry);
    this.#store.append(this.id, entry);
  }

  recordTurn(user: string, agent: string) {
    const kept = (text: string) => text.slice(0, TEXT_KEPT_CHARS_MAX);
    this.record({ kind: "turn", user: kept(user), agent: kept(agent), lastCall: this.#lastCall });
  }

  #apply(entry: EchoEntry) {
    switch (entry.kind) {
      case "opened":
      case "title":
        return;
      case "turn":
        this.#past.push({ user: entry.user, agent: entry.agent });
        if (this.#past.length > TURNS_KEPT_MAX) this.#past.shift();
        this.#lastCall = Math.max(this.#lastCall, entry.lastCall);
        return;
      case "mode":
        this.#modeId = entry.modeId;
        return;
      case "config":
        this.#settings.set(entry.id, entry.value);
    }
  }
}

/** The sessions of this process: the open ones, and all others through the store. */
export class EchoSessions {
  readonly #store: EchoStore;
  readonly #openMax: number;
  readonly #open = new Map<string, EchoSession>();

  constructor(store: EchoStore, isSingle: boolean) {
    this.#store = store;
    this.#openMax = isSingle ? 1 : SESSIONS_LIVE_MAX;
  }

  get isFull(): boolean {
    return this.#open.size >= this.#openMax;
  }

  openIds(): readonly string[] {
    return [...this.#open.keys()];
  }

  open(): Iterable<EchoSession> {
    return this.#open.values();
  }

  find(id: string): EchoSession | null {
    return this.#open.get(id) ?? null;
  }

  isKnown(id: string): boolean {
    return this.#store.read(id) !== null;
  }

  /** Null if there are too many. A copy begins with the entries of the other session. */
  create(options: EchoSessionOptions, copyOf: string | null): EchoSession | null {
    const past = (copyOf === null ? null : this.#store.read(copyOf)) ?? [];
    const later = past.filter((entry) => entry.kind !== "opened");
    const entries: readonly EchoEntry[] = [{ kind: "opened", cwd: options.cwd }, ...later];
    const id = this.#store.create(entries);
    return id === null ? null : this.#add(id, entries, options);
  }

  /** From the store, even if it is open: what it remembers is the same, and the rest is new. */
  restore(id: string, options: EchoSessionOptions): EchoSession | null {
    const entries = this.#store.read(id);
    return entries === null ? null : this.#add(id, entries, options);
  }

  #add(id: string, entries: readonly EchoEntry[], options: EchoSessionOptions): EchoSession {
    const session = new EchoSession(id, entries, options, this.#store);
    this.#open.get(id)?.close();
    this.#open.set(id, session);
    return session;
  }

  close(id: string) {
    this.#open.get(id)?.close();
    this.#open.delete(id);
  }

  /** One page, oldest first; null if the cursor is unknown. */
  page(cwd: string | null, cursor: string | null): JsonObject | null {
    const ids = this.#store.ids();
    const start = cursor === null ? 0 : ids.indexOf(cursor) + 1;
    if (cursor !== null && start === 0) return null;
    const sessions: JsonObject[] = [];
    for (const id of ids.slice(start)) {
      const info = infoOf(id, this.#store.read(id) ?? []);
      if (cwd !== null && info.cwd !== cwd) continue;
      if (sessions.length === SESSIONS_PER_PAGE_MAX) {
        return { sessions, nextCursor: sessions.at(-1)?.sessionId };
      }
      sessions.push(info);
    }
    return { sessions };
  }
}

function infoOf(sessionId: string, entries: readonly EchoEntry[]): JsonObject {
  const opened = entries.find((entry) => entry.kind === "opened");
  const titled = entries.findLast((entry) => entry.kind === "title");
  const cwd = opened?.cwd ?? "/";
  return titled?.title == null ? { sessionId, cwd } : { sessionId, cwd, title: titled.title };
}
