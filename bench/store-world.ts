import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { parseSessionId, parseTenantId, type SessionId, type TenantId } from "../src/core/index.ts";
import type { Result } from "../src/core/result.ts";
import { thisHolder } from "../src/store/holder.ts";
import { databaseFile } from "../src/store/sqlite/database.ts";
import { sqliteStore } from "../src/store/sqlite/store.ts";
import type { NewSession, SessionKey, SessionStore } from "../src/store/store.ts";
import { rawDatabase } from "./raw-database.ts";

/** As long as an agent's text chunk with its envelope. */
export const EVENT_TEXT = JSON.stringify({ type: "session_update", text: "x".repeat(200) });

const HOST = {
  persistenceSurface: { announce: () => {} },
  env: { get: () => undefined },
  audit: () => {},
};

/** The SQLite store over a directory of its own. */
export class StoreWorld {
  readonly store: SessionStore = sqliteStore();
  readonly holder = thisHolder("bench");
  readonly tenantId: TenantId = named(parseTenantId("bench"));
  #root = "";

  async open(): Promise<void> {
    this.#root = await mkdtemp(join(tmpdir(), "fermata-bench-"));
    await openStore(this.store, join(this.#root, "data"));
  }

  async close(): Promise<void> {
    await this.store.dispose();
    await rm(this.#root, { recursive: true, force: true });
  }

  async session(name: string): Promise<BenchSession> {
    const key = { tenantId: this.tenantId, sessionId: named(parseSessionId(name)) };
    const { term } = value(await this.store.create(key, newSession(key.sessionId)));
    return new BenchSession(this.store, key, term);
  }

  /** The store's own database through the bare driver: what reading its rows costs at all. */
  bareReader(): Database.Database {
    return new Database(databaseFile(join(this.#root, "data"), this.tenantId), { readonly: true });
  }

  /** A bare database in the same place, with the same settings: what the disk can do at all. */
  rawDatabase(): Database.Database {
    return rawDatabase(join(this.#root, "raw.db"));
  }
}

/** Opens a store over the data of a server, or over a new folder. */
export async function openStore(store: SessionStore, path: string): Promise<void> {
  value(await store.init(HOST, { active: true, path }));
  value(await store.activate());
}

/** One session that only grows. */
export class BenchSession {
  readonly key: SessionKey;
  readonly term: number;
  readonly #store: SessionStore;
  #lastEventId = 0;
  #revision = 0;

  constructor(store: SessionStore, key: SessionKey, term: number) {
    this.#store = store;
    this.key = key;
    this.term = term;
  }

  append() {
    const afterEventId = this.#lastEventId;
    this.#lastEventId += 1;
    const change = { afterEventId, events: [EVENT_TEXT], journal: [] };
    return this.#store.commit(this.key, this.term, change);
  }

  /** A turn of ten events, two messages and one slot, ended in one commit. */
  endTurn(folded = `[${EVENT_TEXT}]`) {
    const afterEventId = this.#lastEventId;
    const events = new Array<string>(10).fill(EVENT_TEXT);
    this.#lastEventId += events.length;
    const expectedRevision = this.#revision;
    this.#revision += 1;
    const snapshot = {
      expectedRevision,
      manifest: manifestOf(this.key.sessionId),
      messages: [EVENT_TEXT, EVENT_TEXT],
      slots: [{ owner: "fermata.core", version: "1", payload: new Uint8Array(2_000) }],
      removedSlots: [],
      turn: { firstId: afterEventId + 1, lastId: this.#lastEventId, text: folded },
      trimThrough: Math.max(0, this.#lastEventId - 8_000),
    };
    const change = { afterEventId, events, journal: [], snapshot };
    return this.#store.commit(this.key, this.term, change);
  }

  /** The same, folded as real turns are. */
  endSpokenTurn() {
    return this.endTurn(spokenTurn(this.key, this.#lastEventId + 1));
  }
}

/** What a turn of a few sentences folds to: six events, of which a branch has three. */
function spokenTurn({ sessionId }: SessionKey, firstId: number): string {
  const said = (sessionUpdate: string, text: string) => {
    return { update: { sessionUpdate, content: { type: "text", text } } };
  };
  const told: readonly (readonly [string, object])[] = [
    ["session_status", { from: "ready", to: "running", turnId: TURN_ID }],
    ["session_update", said("user_message_chunk", "Look at the files.")],
    ["session_update", said("agent_message_chunk", "I have looked at the files. ".repeat(14))],
    ["turn_complete", { stopReason: "end_turn", promptId: TURN_ID, turnId: TURN_ID }],
    ["credits_settled", { turnId: TURN_ID, reservedMicro: 0, chargedMicro: 0, releasedMicro: 0 }],
    ["session_status", { from: "running", to: "ready", turnId: TURN_ID }],
  ];
  const events = told.map(([type, data], n) => {
    const stamp = { promptId: TURN_ID, _meta: { serverTimestamp: 1_700_000_000_000 } };
    return { id: firstId + n, v: 1, type, data: { sessionId, ...data }, ...stamp };
  });
  return JSON.stringify(events);
}

const TURN_ID = "664ea4f4-740b-4bb2-bb74-bbf247d79464";

function newSession(sessionId: SessionId): NewSession {
  return {
    holder: thisHolder("bench"),
    manifest: manifestOf(sessionId),
    record: {
      workspaceCwd: "/workspace",
      status: "inactive",
      displayName: null,
      name: null,
      parentSessionId: null,
      sourceType: null,
      sourceId: null,
      closed: false,
      shared: false,
      pendingPrompts: 0,
      agent: null,
      createdBy: null,
      audience: null,
      updatedAtMs: Number.parseInt(sessionId.replace(/\D/g, "") || "0", 10),
    },
    epoch: "bench",
    commit: { afterEventId: 0, events: [], journal: [] },
  };
}

function manifestOf(sessionId: SessionId) {
  const times = { createdAt: 1, updatedAt: 1 };
  const mode = "ask" as const;
  return { sessionId, storeId: "sqlite", mode, projectRoot: "/workspace/.fermata", ...times };
}

export function named<Id>(id: Id | null): Id {
  if (id === null) throw new Error("a benchmark's id is not valid");
  return id;
}

/** A benchmark that is refused anything measures nothing. */
export function value<Value>(result: Result<Value>): Value {
  if (result.ok) return result.value;
  throw new Error(`refused: ${JSON.stringify(result.refusal)}`);
}
