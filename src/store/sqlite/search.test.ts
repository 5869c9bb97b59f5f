import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  SEARCH_COMMIT_CHARS_MAX,
  SEARCH_ENTRIES_READ_MAX,
  SEARCH_TEXT_CHARS_MAX,
} from "../../core/limits.ts";
import { QUIET_HOST } from "../kit/crash/workload.ts";
import { value } from "../kit/expect.ts";
import * as sample from "../kit/sample.ts";
import { SecretGuard } from "../secret.ts";
import type { FoundPage, ListFilter, SessionRecord } from "../store.ts";
import { type StoreWorld, withStore } from "./damage.fixture.ts";
import { databaseFile } from "./database.ts";
import { reindexTenants } from "./search-build.ts";
import { sqliteStore } from "./store.ts";

function said(text: string, atMs = 1): string {
  const content = [{ type: "text", text }];
  return JSON.stringify({ v: 1, role: "user", content, turnId: "turn", atMs });
}

/** A session that says things; each saying is a commit. */
async function speaker(world: StoreWorld, id: string, change: Partial<SessionRecord> = {}) {
  const { store } = world;
  const key = sample.keyOf(id);
  const manifest = sample.manifest(key, store.contract.storeId);
  const fresh = sample.newSession(manifest, { record: sample.record(change) });
  const { term } = await value(store.create(key, fresh));
  let revision = 0;
  return async (...messages: readonly string[]) => {
    const snapshot = sample.snapshot(manifest, revision, { messages });
    revision += 1;
    await value(world.store.commit(key, term, sample.commit({ snapshot })));
  };
}

function search(world: StoreWorld, query: string, filter: ListFilter = {}): Promise<FoundPage> {
  const request = { query, filter };
  const found = world.store.search?.(sample.ACME, request, { limit: 100, cursor: null });
  return found === undefined ? Promise.reject(new Error("it does not search")) : value(found);
}

async function found(world: StoreWorld, query: string, filter: ListFilter = {}) {
  const { hits } = await search(world, query, filter);
  return hits.map(({ session, messageId }) => `${session.sessionId} ${messageId}`);
}

const FORGET_INDEX = `
  DROP TABLE search_words; DROP TABLE search_places; DROP TABLE search_due;
  PRAGMA user_version = 4;`;

describe("a database of an earlier version", () => {
  it("P10: opens at once, is indexed in the background, and misses nothing new", async () => {
    await withStore(async (world) => {
      expect(await world.start()).toMatchObject({ ok: true });
      const old = await speaker(world, "old", { displayName: "Ancient title" });
      for (let n = 0; n < 3; n += 1) {
        await old(...Array.from({ length: 200 }, (_, at) => said(`olden ${n * 200 + at}`, n)));
      }
      await world.stop();
      world.tamper(sample.ACME, (db) => db.exec(FORGET_INDEX));
      expect(await world.start()).toMatchObject({ ok: true });
      const fresh = await speaker(world, "fresh");
      await fresh(said("newly"));
      expect(await found(world, "newly")).toEqual(["fresh 1"]);
      const isIndexing = async () => (await search(world, "newly")).isIndexing;
      await expect.poll(isIndexing, { timeout: 30_000 }).toBe(false);
      expect(await found(world, "ancient")).toEqual(["old 0"]);
      expect(await found(world, "olden 599")).toEqual(["old 600"]);
      expect((await found(world, "olden")).length).toBe(100);
    });
  });

  it("goes on with that after a restart", async () => {
    await withStore(async (world) => {
      expect(await world.start()).toMatchObject({ ok: true });
      const one = await speaker(world, "one");
      await one(said("first"), said("second"), said("third"));
      await world.stop();
      // As a process leaves it that is killed after a step.
      world.tamper(sample.ACME, (db) => {
        db.exec("DELETE FROM search_places WHERE message_id > 1");
        db.exec("INSERT INTO search_due VALUES (1, 1, 3)");
      });
      expect(await world.start()).toMatchObject({ ok: true });
      const two = await speaker(world, "two");
      await two(said("other"));
      await expect.poll(() => found(world, "third"), { timeout: 30_000 }).toEqual(["one 3"]);
      expect(await found(world, "first")).toEqual(["one 1"]);
    });
  });
});

describe("P11: a secret", () => {
  it("is neither found nor in the index", async () => {
    const root = await mkdtemp(join(tmpdir(), "fermata-search-"));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const guard = new SecretGuard();
    guard.know("Zebra4711Key");
    const store = sqliteStore(undefined, { guard });
    await value(store.init(QUIET_HOST, { active: true, path: root }));
    await value(store.activate());
    const key = sample.keyOf("one");
    const manifest = sample.manifest(key, "sqlite");
    const { term } = await value(store.create(key, sample.newSession(manifest)));
    const snapshot = sample.snapshot(manifest, 0, { messages: [said("key Zebra4711Key here")] });
    await value(store.commit(key, term, sample.commit({ snapshot })));
    const search = async (query: string) =>
      store.search?.(sample.ACME, { query, filter: {} }, { limit: 5, cursor: null });
    expect(await search("zebra4711key")).toMatchObject({ ok: true, value: { hits: [] } });
    const found = await search("key here");
    expect(found).toMatchObject({ ok: true, value: { hits: [{ messageId: 1 }] } });
    expect(JSON.stringify(found)).not.toMatch(/zebra/i);
    await store.dispose();
    const bytes = await readFile(databaseFile(root, sample.ACME), "latin1");
    expect(bytes).not.toMatch(/zebra4711/i);
    expect(bytes).toContain("here");
  });
});

describe("an index", () => {
  it("P6: that is damaged hinders no commit, and is made anew beside a server", async () => {
    await withStore(async (world) => {
      expect(await world.start()).toMatchObject({ ok: true });
      const one = await speaker(world, "one");
      await one(said("before"));
      world.tamper(sample.ACME, (db) => {
        db.unsafeMode();
        db.exec("UPDATE search_words_data SET block = x'00'");
      });
      await one(said("after", 2));
      await one(said("and later", 3));
      const names = [sample.ACME];
      const [done] = await reindexTenants(world.path, names);
      expect(done).toEqual({ tenantId: sample.ACME, texts: 3, fault: null });
      expect(await found(world, "after")).toEqual(["one 2"]);
      await one(said("at last", 4));
      expect(await found(world, "before")).toEqual(["one 1"]);
      expect(await found(world, "last")).toEqual(["one 4"]);
    });
  });

  it("is made anew while a session goes on, with each message once", async () => {
    await withStore(async (world) => {
      expect(await world.start()).toMatchObject({ ok: true });
      const one = await speaker(world, "one");
      for (let n = 0; n < 4; n += 1) {
        await one(...Array.from({ length: 200 }, (_, at) => said(`filler ${at}`)));
      }
      const made = reindexTenants(world.path, [sample.ACME]);
      for (let n = 0; n < 20; n += 1) await one(said("meanwhile", 10 + n));
      expect(await made).toMatchObject([{ fault: null }]);
      expect((await found(world, "meanwhile")).length).toBe(20);
      expect(await search(world, "filler 199")).toMatchObject({ isIndexing: false });
      expect((await found(world, "filler 199")).length).toBe(4);
    });
  });

  it("P10: takes of a large turn what one commit may, and the rest soon after", async () => {
    await withStore(async (world) => {
      expect(await world.start()).toMatchObject({ ok: true });
      const one = await speaker(world, "one");
      const each = SEARCH_TEXT_CHARS_MAX;
      const count = SEARCH_COMMIT_CHARS_MAX / each + 2;
      const long = (n: number) => said(`begin${n} ${"x ".repeat(each / 2)} behind${n}`, n);
      await one(...Array.from({ length: count }, (_, n) => long(n)));
      expect(await found(world, "begin0")).toEqual(["one 1"]);
      const last = () => found(world, `begin${count - 1}`);
      await expect.poll(last, { timeout: 30_000 }).toEqual([`one ${count}`]);
      expect(await found(world, "behind0")).toEqual([]);
    });
  });

  it("P8: passes over any number of hidden hits to those that are seen", async () => {
    await withStore(async (world) => {
      expect(await world.start()).toMatchObject({ ok: true });
      const ada = sample.userId("ada");
      const hers = await speaker(world, "hers", { audience: [ada] });
      await hers(said("needle", 1));
      const others = await speaker(world, "others", { audience: [sample.userId("bob")] });
      const page = Array.from({ length: 500 }, (_, at) => said("needle", 10 + at));
      for (let n = 0; n <= SEARCH_ENTRIES_READ_MAX / 500; n += 1) await others(...page);
      expect(await search(world, "needle", { visibleTo: ada })).toMatchObject({
        hits: [{ session: { sessionId: "hers" } }],
        nextCursor: null,
      });
    });
  }, 120_000);

  it("finds any text by any of its words, and takes any query", async () => {
    await withStore(async (world) => {
      expect(await world.start()).toMatchObject({ ok: true });
      const one = await speaker(world, "one");
      const texts = fc.sample(fc.string({ unit: "binary", minLength: 4, maxLength: 40 }), 300);
      await one(...texts.map((text, at) => said(text, at)));
      for (const [at, text] of texts.entries()) {
        const range = { limit: 100, cursor: null };
        const request = { query: text, filter: {} };
        const answer = await world.store.search?.(sample.ACME, request, range);
        if (answer?.ok) {
          const ids = answer.value.hits.map(({ messageId }) => messageId);
          expect(ids, JSON.stringify(text)).toContain(at + 1);
        } else expect(answer?.refusal.code).toBe("invalid_search");
      }
    });
  });
});
