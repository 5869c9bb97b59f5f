import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HOST, keyOf, manifest, newSession } from "../sample.fixture.ts";
import type { SessionStore } from "../store.ts";
import { databaseFile } from "./database.ts";
import { MIGRATIONS } from "./schema.ts";
import { sqliteStore } from "./store.ts";

const key = keyOf("s1");
const created = newSession("s1", { manifest: manifest({ storeId: "sqlite" }), epoch: "first" });

let place = "";
let stores: SessionStore[] = [];

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "fermata-durability-"));
});

afterEach(async () => {
  for (const store of stores) await store.dispose();
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

  it("changes after an unclean end under relaxed durability, whatever comes after", async () => {
    const store = await open("a", "relaxed");
    await store.create(key, created);
    await crash("a", "b");
    const epoch = await epochOf(await open("b", "full"));
    expect(epoch).not.toBe("first");
    await stores.at(-1)?.dispose();
    expect(await epochOf(await open("b", "full"))).toBe(epoch);
  });
});

describe("the shape of a database", () => {
  it("is counted in numbered steps", async () => {
    const store = await open("a", "full");
    await store.create(key, created);
    await store.dispose();
    const db = new Database(databaseFile(join(place, "a"), key.tenantId));
    expect(db.pragma("user_version", { simple: true })).toBe(MIGRATIONS.length);
    db.close();
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
