import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import Database from "better-sqlite3";
import type { Result } from "../../core/result.ts";
import { QUIET_HOST } from "../kit/crash/workload.ts";
import { digests, value } from "../kit/expect.ts";
import * as sample from "../kit/sample.ts";
import type * as S from "../store.ts";
import { sqliteStore } from "./store.ts";

export const SESSIONS = ["a", "b", "c"] as const;
const ROUNDS = 8;

/** A directory with a store over it, which is gone when the test is over. */
export async function withStore(run: (world: StoreWorld) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "fermata-trouble-"));
  const world = new StoreWorld(join(root, "data"));
  try {
    await run(world);
  } finally {
    await world.stop();
    await rm(root, { recursive: true, force: true });
  }
}

export class StoreWorld {
  readonly path: string;
  #store: S.SessionStore | null = null;

  constructor(path: string) {
    this.path = path;
  }

  get store(): S.SessionStore {
    if (this.#store === null) throw new Error("there is no store just now");
    return this.#store;
  }

  async start(): Promise<Result<void>> {
    const store = sqliteStore();
    const begun = await store.init(QUIET_HOST, { active: true, path: this.path });
    if (!begun.ok) return begun;
    this.#store = store;
    return store.activate();
  }

  async stop(): Promise<void> {
    await this.#store?.dispose();
    this.#store = null;
  }

  /** Does something to a tenant's database behind the store's back. */
  tamper(tenant: string, work: (db: Database.Database) => void): void {
    const db = new Database(this.file(tenant));
    try {
      work(db);
    } finally {
      db.close();
    }
  }

  folder(tenant: string): string {
    return join(this.path, "tenants", tenant);
  }

  file(tenant: string, name = "sessions.db"): string {
    return join(this.folder(tenant), name);
  }

  /** Where a tenant's files are kept as they were at some moment, outside the store. */
  get kept(): string {
    return `${this.path}.kept`;
  }

  keep(tenant: string): Promise<void> {
    return cp(this.folder(tenant), this.kept, { recursive: true });
  }

  /** Makes three sessions with something of everything, and tells how all was after each step. */
  async fill(): Promise<readonly Observed[]> {
    const states: Observed[] = [await observe(this.store, sample.ACME)];
    const terms = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const id of SESSIONS) {
        for (const write of this.#writes(id, round, terms)) {
          await write();
          states.push(await observe(this.store, sample.ACME));
        }
      }
    }
    return states;
  }

  #writes(id: string, round: number, terms: Map<string, number>): (() => Promise<unknown>)[] {
    const { store } = this;
    const key = sample.keyOf(id);
    const manifest = sample.manifest(key, store.contract.storeId);
    const create = async () => {
      const holder = sample.goneHolder();
      const { term } = await value(store.create(key, sample.newSession(manifest, { holder })));
      terms.set(id, term);
    };
    const commit = async () => {
      const { lastEventId } = await value(store.readRecord(key));
      const whole = wholeCommit(key, manifest, round, lastEventId);
      await value(store.commit(key, terms.get(id) ?? 0, whole));
    };
    const document = { kind: "token", key: id, expectedVersion: round, value: { round } };
    return [
      ...(round === 0 ? [create] : []),
      commit,
      () => value(store.writeDocument(key.tenantId, document)),
      () => value(store.writeBlob(key.tenantId, sample.bytes(BLOB))),
    ];
  }
}

const BLOB = "b".repeat(5_000);
const BLOB_HASH = "5026f8e8d3aade594b17674da02e2b077cf7f278d43a8504ad5fc6574060bd6c";

function wholeCommit(
  key: S.SessionKey,
  manifest: S.Snapshot["manifest"],
  round: number,
  lastEventId: number,
): S.Commit {
  const name = `${key.sessionId}-${round}`;
  const { sessionId } = key;
  return sample.commit({
    events: sample.events(lastEventId + 1, 4),
    record: sample.record({ updatedAtMs: sample.CREATED_AT_MS + round, displayName: name }),
    journal: [
      sample.entry(`audit-${name}`, { sessionId }),
      sample.entry(`ledger-${name}`, { journal: "ledger", sessionId }),
    ],
    snapshot: sample.snapshot({ ...manifest, updatedAt: round }, round, {
      messages: [sample.message(`${name} ${"m".repeat(round * 200)}`)],
      slots: [sample.slot("core", name), sample.slot(`owner-${round % 3}`, "s".repeat(700))],
      turn: sample.turn(lastEventId + 1, lastEventId + 4),
      trimThrough: Math.max(0, lastEventId - 8),
    }),
  });
}

/** Every part that can be read by itself, under its name. */
export type Observed = Readonly<Record<string, Result<unknown>>>;

const ALL = { after: 0, limit: 1_000 };

export async function observe(
  store: S.SessionStore,
  tenantId: S.SessionKey["tenantId"],
): Promise<Observed> {
  const parts: Record<string, Promise<Result<unknown>>> = {};
  for (const id of SESSIONS) {
    const key = sample.keyOf(id, tenantId);
    parts[`${id} record`] = store.readRecord(key);
    parts[`${id} manifest`] = store.readManifest(key);
    parts[`${id} events`] = store.readEvents(key, ALL);
    parts[`${id} messages`] = store.readMessages(key, ALL);
    parts[`${id} turns`] = store.readTurns(key, { before: 1_000_000, limit: 1_000 });
    parts[`${id} slots`] = digested(store.readSlots(key));
    const own = { journal: "audit", sessionId: key.sessionId } as const;
    parts[`${id} entries`] = store.readJournal(tenantId, { ...own, ...ALL });
    parts[`${id} document`] = store.readDocument(tenantId, "token", id);
  }
  parts.list = store.list(tenantId, {}, { limit: 10, cursor: null });
  parts.audit = store.readJournal(tenantId, { journal: "audit", ...ALL });
  parts.ledger = store.readJournal(tenantId, { journal: "ledger", ...ALL });
  parts.documents = store.listDocuments(tenantId, "token", null);
  parts.blob = store.readBlob(tenantId, BLOB_HASH);
  const read = await Promise.all(
    Object.entries(parts).map(async ([name, part]) => [name, await part] as const),
  );
  return Object.fromEntries(read);
}

async function digested(pending: Promise<Result<S.SlotSet>>): Promise<Result<unknown>> {
  const read = await pending;
  if (!read.ok) return read;
  const { slots, damagedSlots } = read.value;
  return { ok: true, value: { slots: digests(slots), damagedSlots } };
}

/**
 * What of these parts is neither as it was in this state nor refused. A list may name what it
 * could not read, and so may slots; then they have to have all the others.
 */
export function wrongParts(seen: Observed, state: Observed): readonly string[] {
  return Object.keys(seen).filter((name) => isWrong(name, seen[name], state[name]));
}

/** The same as no wrong parts, and much faster where there are many states: one is enough. */
export function isAsIn(seen: Observed, state: Observed): boolean {
  return Object.keys(seen).every((name) => !isWrong(name, seen[name], state[name]));
}

function isWrong(
  name: string,
  part: Result<unknown> | undefined,
  whole: Result<unknown> | undefined,
): boolean {
  if (!part?.ok || isDeepStrictEqual(part, whole)) return false;
  if (name === "list") return !isPartOf(part, whole);
  if (name.endsWith(" slots")) return !areSomeOf(part, whole);
  if (name.endsWith(" entries")) return !areFewer(part, whole);
  return !(name.endsWith(" document") && part.value === null);
}

/** What is missing has left a name, if not always its own: names can be damaged too. */
function areSomeOf(part: Result<unknown>, whole: Result<unknown> | undefined): boolean {
  if (!part.ok || !whole?.ok) return false;
  // Both came from `digested`.
  const { slots, damagedSlots } = part.value as DigestedSlots;
  const all = (whole.value as DigestedSlots).slots;
  const known = slots.every((slot) => all.some((other) => isDeepStrictEqual(slot, other)));
  return known && damagedSlots.length > 0 && slots.length <= all.length;
}

/**
 * What no checksum of a row can tell: that the way to the row is broken. A bit that flips in the
 * key of an index, or of a row, makes the lookup by that key say "not there", as it says of what
 * was never written. So entries of one session may be fewer than they were, and a document, a
 * blob or a session may be missing; each row that is found is right. A reader of the whole
 * journal, of the list of documents or of a session's log is told, because these are counted.
 */
function areFewer(part: Result<unknown>, whole: Result<unknown> | undefined): boolean {
  if (!part.ok || !whole?.ok) return false;
  // Both came from `readJournal`.
  const { rows } = part.value as S.Page<S.JournalRow>;
  const all = (whole.value as S.Page<S.JournalRow>).rows;
  return rows.every((row) => all.some((other) => isDeepStrictEqual(row, other)));
}

interface DigestedSlots {
  readonly slots: ReturnType<typeof digests>;
  readonly damagedSlots: readonly string[];
}

function isPartOf(part: Result<unknown>, whole: Result<unknown> | undefined): boolean {
  if (!part.ok || !whole?.ok) return false;
  // Both came from `list`.
  const { sessions, damaged } = part.value as S.Listing;
  const all = (whole.value as S.Listing).sessions;
  const rest = all.filter((one) => !sessions.some((other) => isDeepStrictEqual(one, other)));
  return rest.length === damaged.length && sessions.length + rest.length === all.length;
}

/** A copy of what was kept of a tenant, with one file changed, as a tenant of its own. */
export async function damagedCopy(
  world: StoreWorld,
  tenant: string,
  name: string,
  change: (bytes: Buffer) => Buffer,
): Promise<void> {
  await cp(world.kept, world.folder(tenant), { recursive: true });
  await rm(world.file(tenant, "sessions.db-shm"), { force: true });
  const file = world.file(tenant, name);
  await writeFile(file, change(await readFile(file)));
}

export function flipped(bytes: Buffer, place: number, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(place) ^ (1 << bit), place);
  return copy;
}
