import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Holder } from "../holder.ts";
import { HELD, StoreProcess } from "../kit/crash/process.ts";
import { value } from "../kit/expect.ts";
import { userId } from "../kit/sample.ts";
import { commitOf, HOST, keyOf, manifest, newSession, snapshotOf } from "../sample.fixture.ts";
import type { SessionStore } from "../store.ts";
import { databaseFile } from "./database.ts";
import { rowChecksum } from "./row.ts";
import { MIGRATIONS } from "./schema.ts";
import { sqliteStore } from "./store.ts";

const key = keyOf("s1");
const LISTED = { visibleTo: userId("ada") };
const created = newSession("s1", { manifest: manifest({ storeId: "sqlite" }), epoch: "first" });

let place = "";
let stores: SessionStore[] = [];
let children: StoreProcess[] = [];

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "fermata-durability-"));
});

afterEach(async () => {
  for (const child of children) await child.kill();
  for (const store of stores) await store.dispose();
  children = [];
  stores = [];
  await rm(place, { recursive: true, force: true });
});

async function open(path: string, durability: "full" | "relaxed"): Promise<SessionStore> {
  const store = sqliteStore();
  stores.push(store);
  const config = { active: true, path: join(place, path), durability };
  expect(await store.init(HOST, config)).toMatchObject({ ok: true });
  await store.activate();
  return store;
}

/** What a machine that lost its power would find: the files as they are, nothing put away. */
async function crash(from: string, to: string): Promise<void> {
  await cp(join(place, from), join(place, to), { recursive: true });
}

const epochOf = async (store: SessionStore) => {
  await store.open(key, created.holder, []);
  const record = await store.readRecord(key);
  return record.ok ? record.value.epoch : record.refusal.code;
};

const heldEpoch = async (store: SessionStore) => (await value(store.readRecord(HELD))).epoch;

/** Already the first reading finds what a gone opener left; nothing has to be written for it. */
async function epochAfterOpening(path: string, durability: "full" | "relaxed"): Promise<string> {
  const store = await open(path, durability);
  const { epoch } = await value(store.readRecord(key));
  await value(store.dispose());
  return epoch;
}

/** Another process, with a session of its own in the same database. */
async function holder(path: string, durability: "full" | "relaxed"): Promise<StoreProcess> {
  const script = new URL("crash-child.fixture.ts", import.meta.url);
  const config = { active: true, path: join(place, path), durability };
  const orders = { config, task: "hold", seed: 0, life: "other", steps: 0 } as const;
  const child = new StoreProcess({ script, factory: "sqlite" }, orders);
  children.push(child);
  await child.has("held");
  return child;
}

function openers(path: string): readonly Holder[] {
  const db = new Database(databaseFile(join(place, path), key.tenantId), { readonly: true });
  const names = db.prepare("SELECT holder FROM relaxed_openers").pluck().all();
  db.close();
  return names.map((name) => JSON.parse(String(name)));
}

describe("P3: the epoch of a log", () => {
  it("stays through a crash under full durability", async () => {
    const store = await open("a", "full");
    await store.create(key, created);
    await crash("a", "b");
    expect(await epochOf(await open("b", "full"))).toBe("first");
  });

  it("stays through a clean end under relaxed durability", async () => {
    const store = await open("a", "relaxed");
    await store.create(key, created);
    await store.dispose();
    expect(await epochOf(await open("a", "relaxed"))).toBe("first");
  });

  it("changes once when one who relaxed is found gone, and never while it lives", async () => {
    const living = await open("a", "relaxed");
    await living.create(key, created);
    const other = await holder("a", "relaxed");
    expect(openers("a")).toHaveLength(2);
    // Both live: another opener that comes and goes changes nothing.
    expect(await epochAfterOpening("a", "full")).toBe("first");
    expect(await epochAfterOpening("a", "relaxed")).toBe("first");
    await other.kill();
    const renewed = await epochAfterOpening("a", "full");
    expect(renewed).not.toBe("first");
    expect(await heldEpoch(living)).not.toBe("epoch-1");
    expect(openers("a").map(({ pid }) => pid)).toEqual([process.pid]);
    expect(await epochAfterOpening("a", "relaxed")).toBe(renewed);
    // The one that has lived through it goes on, in the new epoch, and leaves in good order.
    const { term } = await value(living.readRecord(key));
    await value(living.commit(key, term, commitOf({ events: ["{}"] })));
    expect(await value(living.readRecord(key))).toMatchObject({ epoch: renewed, lastEventId: 1 });
    await living.dispose();
    expect(openers("a")).toEqual([]);
    expect(await epochAfterOpening("a", "full")).toBe(renewed);
  });

  it("changes when one who relaxed was on another machine, or on this one before", async () => {
    for (const [path, change] of [
      ["a", { host: "elsewhere", bootId: "another" }],
      ["b", { bootId: "an earlier one" }],
    ] as const) {
      const store = await open(path, "full");
      await store.create(key, created);
      await store.dispose();
      const db = new Database(databaseFile(join(place, path), key.tenantId));
      const opener = JSON.stringify({ ...created.holder, ...change });
      db.prepare("INSERT INTO relaxed_openers (holder) VALUES (?)").run(opener);
      db.close();
      const renewed = await epochAfterOpening(path, "full");
      expect(renewed).not.toBe("first");
      expect(openers(path)).toEqual([]);
      expect(await epochAfterOpening(path, "full")).toBe(renewed);
    }
  });

  it("stays when somebody was killed under full durability", async () => {
    const other = await holder("a", "full");
    await other.kill();
    const store = await open("a", "full");
    await value(store.appendJournal(key.tenantId, []));
    expect(await heldEpoch(store)).toBe("epoch-1");
  });
});

/** Undoes what the steps after a version have added: all that a database of then has not. */
function takeBack(db: Database.Database, version: number) {
  const then = new Database(":memory:");
  for (const step of MIGRATIONS.slice(0, version)) then.exec(step);
  const known = new Set(namesIn(then, "SELECT name FROM sqlite_schema"));
  for (const type of ["index", "table"]) {
    const all = namesIn(db, `SELECT name FROM sqlite_schema WHERE type = '${type}'`);
    const added = all.filter((name) => !known.has(name) && !name.startsWith("sqlite_"));
    // Tables of an index of words go with it.
    for (const name of added) db.exec(`DROP ${type} IF EXISTS ${name}`);
  }
  const columns = "SELECT name FROM pragma_table_info('sessions')";
  const before = new Set(namesIn(then, columns));
  const later = namesIn(db, columns).filter((name) => !before.has(name));
  for (const name of later) db.exec(`ALTER TABLE sessions DROP COLUMN ${name}`);
  db.pragma(`user_version = ${version}`);
  then.close();
}

const namesIn = (db: Database.Database, query: string) =>
  db
    .prepare<[], { name: string }>(query)
    .all()
    .map(({ name }) => name);

describe("the shape of a database", () => {
  it("is counted in numbered steps", async () => {
    const store = await open("a", "full");
    await store.create(key, created);
    await store.dispose();
    const db = new Database(databaseFile(join(place, "a"), key.tenantId));
    expect(db.pragma("user_version", { simple: true })).toBe(MIGRATIONS.length);
    db.close();
  });

  it("of before private sessions is read as it is: all are the whole tenant's", async () => {
    const store = await open("a", "full");
    await store.create(key, created);
    await store.dispose();
    const db = new Database(databaseFile(join(place, "a"), key.tenantId));
    takeBack(db, 1);
    db.close();
    const later = await open("a", "full");
    const record = await value(later.readRecord(key));
    expect(record).toMatchObject({ audience: null, createdBy: null, name: null, agent: null });
    const listed = await value(later.list(key.tenantId, LISTED, { limit: 9, cursor: null }));
    expect(listed.sessions).toEqual([record]);
  });

  it("of before turns had their checksum is read, and a flipped letter is found", async () => {
    const store = await open("a", "full");
    const { term } = await value(store.create(key, created));
    const turn = { firstId: 1, lastId: 1, text: '["a"]' };
    const snapshot = snapshotOf({ manifest: created.manifest, turn });
    await value(store.commit(key, term, commitOf({ events: ["a"], snapshot })));
    await store.dispose();
    const db = new Database(databaseFile(join(place, "a"), key.tenantId));
    db.prepare("UPDATE turns SET checksum = ?").run(rowChecksum(1, 1, 1, turn.text));
    takeBack(db, 2);
    db.close();
    const all = { before: Number.MAX_SAFE_INTEGER, limit: 9 };
    const later = await open("a", "full");
    expect((await value(later.readTurns(key, all))).rows).toEqual([turn]);
    await later.dispose();
    const again = new Database(databaseFile(join(place, "a"), key.tenantId));
    again.exec(`UPDATE turns SET text = '["b"]'`);
    again.close();
    const last = await open("a", "full");
    expect(await last.readTurns(key, all)).toMatchObject({ refusal: { code: "session_corrupt" } });
  });

  it("P8: is damaged where an audience is missing that was there", async () => {
    const record = { ...created.record, audience: [userId("ada")] };
    const store = await open("a", "full");
    await store.create(key, { ...created, record });
    await store.dispose();
    const db = new Database(databaseFile(join(place, "a"), key.tenantId));
    db.exec("UPDATE sessions SET audience = NULL");
    db.close();
    const later = await open("a", "full");
    expect(await later.readRecord(key)).toMatchObject({ refusal: { code: "session_corrupt" } });
  });

  it("of a newer version is refused, and left as it is", async () => {
    const store = await open("a", "full");
    await store.create(key, created);
    await store.dispose();
    const file = databaseFile(join(place, "a"), key.tenantId);
    const db = new Database(file);
    db.pragma("user_version = 99");
    db.close();
    const later = await open("a", "full");
    expect(await later.open(key, created.holder, [])).toMatchObject({
      refusal: {
        code: "store_unavailable",
        details: { reason: expect.stringContaining("version 99") },
      },
    });
    await later.dispose();
    const after = new Database(file);
    expect(after.pragma("user_version", { simple: true })).toBe(99);
    after.close();
  });
});
