import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ListFilter, SessionRecord, SessionStore } from "../store.ts";
import { allListed, listedIds, refused, sessionState, value } from "./expect.ts";
import { cannot, forgetful, inSession, inStore, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { ACME } from "./sample.ts";
import type { CheckStage, Writer } from "./stage.ts";

/** H. Lists. */
export const LISTING: readonly StoreCheck[] = [
  inStore("67: an empty store has an empty list", async (store) => {
    const listing = await value(store.list(ACME, {}, { limit: 10, cursor: null }));
    assert.deepEqual(listing, { sessions: [], nextCursor: null, damaged: [] });
    assert.deepEqual(await value(store.tenants()), []);
  }),

  inStore(
    "68: what was made appears once, as its record says, and not when it is deleted",
    async (store, stage) => {
      const one = await stage.session(store, "one");
      await stage.session(store, "two");
      await value(one.append(2));
      await value(one.snapshot({ messages: [sample.message("a")] }));
      assert.deepEqual([...(await listedIds(store, ACME))].sort(), ["one", "two"]);
      for (const record of await allListed(store, ACME)) {
        const key = sample.keyOf(record.sessionId);
        assert.deepEqual(record, await value(store.readRecord(key)));
      }
      await value(store.delete(one.key, sample.holder(), []));
      assert.deepEqual(await listedIds(store, ACME), ["two"]);
    },
  ),

  inSession(
    "69: stray files and folders are not sessions",
    async ({ key, term }, store, stage) => {
      await value(store.close(key, term));
      const before = await sessionState(store, key);
      await value(store.dispose());
      await strew(stage.root);
      const next = await stage.start();
      assert.deepEqual(await listedIds(next, ACME), ["s-1"]);
      assert.deepEqual(await value(next.tenants()), [ACME]);
      assert.deepEqual(await sessionState(next, key), before);
    },
    forgetful,
    cannot("root"),
  ),

  inStore(
    "70: one foreign and one damaged session do not break the list",
    async (store, stage) => {
      for (const id of ["foreign", "damaged", "well"]) {
        await value((await stage.session(store, id)).close());
      }
      await value(store.dispose());
      const forge = stage.world("forgeManifest");
      const foreign = sample.keyOf("foreign");
      await forge(stage.place, foreign, (manifest) => ({ ...manifest, storeId: "elsewhere" }));
      await forge(stage.place, sample.keyOf("damaged"), () => ({ nonsense: true }));
      const next = await stage.start();
      const page = { limit: 100, cursor: null };
      const { sessions, damaged } = await value(next.list(ACME, {}, page));
      const named = [...sessions, ...damaged].map(({ sessionId }) => sessionId);
      assert.deepEqual(named.sort(), ["damaged", "foreign", "well"], "one is lost from view");
      assert.ok(sessions.some(({ sessionId }) => sessionId === "well"));
      await refused(
        next.readManifest(sample.keyOf("damaged")),
        "session_corrupt",
        "resume_mismatch",
      );
      await value(next.open(sample.keyOf("well"), sample.holder(), []));
    },
    forgetful,
    cannot("forgeManifest"),
  ),

  inStore(
    "71: the newest is first, and one that is written to moves to the front",
    async (store, stage) => {
      const writers = await aged(stage, store, ["c", "a", "d", "b"]);
      assert.deepEqual(await listedIds(store, ACME), ["b", "d", "a", "c"]);
      await value(writers[1]?.commit({ record: at(99) }) ?? assert.fail());
      assert.deepEqual(await listedIds(store, ACME), ["a", "b", "d", "c"]);
      await value(writers[0]?.append(1) ?? assert.fail());
      assert.deepEqual(await listedIds(store, ACME), ["a", "b", "d", "c"]);
    },
  ),

  inStore("71: those of one moment have one order, whatever the page", async (store, stage) => {
    const ids = ["m", "B", "a", "Z", "z.", "0", "_", "b"].map((id) => (id === "_" ? "-" : id));
    for (const id of ids) await stage.session(store, id);
    const whole = await listedIds(store, ACME);
    assert.deepEqual([...whole].sort(), [...ids].sort());
    for (const limit of [1, 2, 3, 7, 8]) {
      const paged = await allListed(store, ACME, {}, limit);
      assert.deepEqual(
        paged.map(({ sessionId }) => sessionId),
        whole,
        `by ${limit}`,
      );
    }
  }),

  inStore(
    "H1: a page has at most as many as asked for, and says whether there are more",
    async (store, stage) => {
      await aged(stage, store, ["a", "b", "c", "d"]);
      const first = await value(store.list(ACME, {}, { limit: 3, cursor: null }));
      assert.deepEqual(ids(first.sessions), ["d", "c", "b"]);
      assert.notEqual(first.nextCursor, null);
      const second = await value(store.list(ACME, {}, { limit: 3, cursor: first.nextCursor }));
      assert.deepEqual([ids(second.sessions), second.nextCursor], [["a"], null]);
      const exact = await value(store.list(ACME, {}, { limit: 4, cursor: null }));
      assert.deepEqual([ids(exact.sessions), exact.nextCursor], [["d", "c", "b", "a"], null]);
    },
  ),

  inStore(
    "H2: a page is never larger than the largest, whatever is asked for",
    async (store, stage) => {
      const making = Array.from({ length: 1_001 }, (_, index) =>
        stage.session(store, `s-${index}`),
      );
      await Promise.all(making);
      for (const limit of [
        1_001,
        Number.MAX_SAFE_INTEGER,
        0,
        -1,
        Number.NaN,
        Number.POSITIVE_INFINITY,
      ]) {
        const listed = await store.list(ACME, {}, { limit, cursor: null });
        if (listed.ok) assert.ok(listed.value.sessions.length <= 1_000, `limit ${limit}`);
        else assert.equal(listed.refusal.code, "invalid_store_input");
      }
      assert.equal((await allListed(store, ACME)).length, 1_001);
    },
  ),

  inStore("H3: while rows move, those that stay are seen exactly once", async (store, stage) => {
    const writers = await aged(stage, store, ["a", "b", "c", "d", "e", "f"]);
    const first = await value(store.list(ACME, {}, { limit: 2, cursor: null }));
    assert.deepEqual(ids(first.sessions), ["f", "e"]);
    const [, b, c, , e] = writers;
    await value(c?.commit({ record: at(100) }) ?? assert.fail());
    await stage.session(store, "new", { record: at(101) });
    await value(store.delete(e?.key ?? assert.fail(), sample.holder(), []));
    const second = await value(store.list(ACME, {}, { limit: 2, cursor: first.nextCursor }));
    assert.deepEqual(ids(second.sessions), ["d", "b"]);
    await value(b?.commit({ record: at(102) }) ?? assert.fail());
    const third = await value(store.list(ACME, {}, { limit: 2, cursor: second.nextCursor }));
    assert.deepEqual([ids(third.sessions), third.nextCursor], [["a"], null]);
  }),

  inStore("H4: what is not a cursor is refused", async (store, stage) => {
    await aged(stage, store, ["a", "b"]);
    const { nextCursor } = await value(store.list(ACME, {}, { limit: 1, cursor: null }));
    assert.ok(nextCursor !== null);
    const foreign = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const bad: readonly unknown[] = [
      "",
      "x",
      "../..",
      "\0",
      "x".repeat(100_000),
      foreign(null),
      foreign({}),
      foreign([1]),
      foreign(["1", "a"]),
      foreign([1.5, "a"]),
      foreign([1, 2]),
      foreign([1, "../.."]),
      foreign([1, "a", 3]),
      `${nextCursor}!!`,
      ` ${nextCursor}`,
      7,
      undefined,
      {},
    ];
    for (const cursor of bad) {
      const page = { limit: 10, cursor: cursor as string };
      await refused(store.list(ACME, {}, page), "invalid_cursor", "invalid_store_input");
    }
  }),

  inStore("H5: each filter finds what it names, and all of them together", async (store, stage) => {
    await filtered(stage, store);
    const parentSessionId = sample.sessionId("a");
    const expected: readonly (readonly [ListFilter, readonly string[]])[] = [
      [{}, ["d", "c", "b", "a"]],
      [{ workspaceCwd: "/projects/a" }, ["b", "a"]],
      [{ workspaceCwd: "/PROJECTS/A" }, []],
      [{ statuses: ["running", "error"] }, ["d", "b"]],
      [{ statuses: ["waiting"] }, []],
      [{ parentSessionId }, ["c", "b"]],
      [{ sourceType: "github" }, ["d", "c"]],
      [{ sourceType: "github", sourceId: "2" }, ["d"]],
      [{ sourceId: "1" }, ["c"]],
      [{ workspaceCwd: "/projects/a", statuses: ["running"], parentSessionId }, ["b"]],
      [{ workspaceCwd: "/projects/a", sourceType: "github" }, []],
    ];
    for (const [filter, ids] of expected) {
      assert.deepEqual(await listedIds(store, ACME, filter), ids, JSON.stringify(filter));
      const paged = await allListed(store, ACME, filter, 1);
      assert.deepEqual(
        paged.map(({ sessionId }) => sessionId),
        ids,
        JSON.stringify(filter),
      );
    }
  }),

  inStore(
    "H8: a reader's list has what the whole tenant sees and what names that reader",
    async (store, stage) => {
      const [ada, ad, bob] = [sample.userId("ada"), sample.userId("ad"), sample.userId("bob")];
      const rows: Readonly<Record<string, Partial<SessionRecord>>> = {
        a: { audience: null, createdBy: ada },
        b: { audience: [ada], createdBy: ada },
        c: { audience: [bob, ada], createdBy: bob },
        d: { audience: [ad], createdBy: ad, shared: true },
        e: { audience: [], createdBy: null },
      };
      for (const [index, [id, change]] of Object.entries(rows).entries()) {
        const record = sample.record({ updatedAtMs: index, ...change });
        await stage.session(store, id, { record });
      }
      const expected: readonly (readonly [ListFilter, readonly string[]])[] = [
        [{}, ["e", "d", "c", "b", "a"]],
        [{ visibleTo: ada }, ["c", "b", "a"]],
        [{ visibleTo: bob }, ["c", "a"]],
        [{ visibleTo: ad }, ["d", "a"]],
        [{ visibleTo: null }, ["a"]],
        [{ createdBy: ada }, ["b", "a"]],
        [{ createdBy: null }, ["e"]],
        [{ createdBy: ad, shared: true }, ["d"]],
        [{ visibleTo: bob, createdBy: ada }, ["a"]],
      ];
      for (const [filter, found] of expected) {
        assert.deepEqual(await listedIds(store, ACME, filter), found, JSON.stringify(filter));
        const { sessions } = await value(store.list(ACME, filter, { limit: 2, cursor: null }));
        assert.equal(sessions.length, Math.min(2, found.length), "a page is not full");
      }
      const record = await value(store.readRecord(sample.keyOf("c")));
      assert.deepEqual([record.audience, record.createdBy], [[bob, ada], bob]);
    },
  ),

  inStore(
    "H9: a name is found as it was written last, and those that a reader sees have it alike",
    async (store, stage) => {
      const [ada, bob] = [sample.userId("ada"), sample.userId("bob")];
      const [fix, docs] = [sample.sessionName("fix"), sample.sessionName("docs")];
      const rows: Readonly<Record<string, Partial<SessionRecord>>> = {
        a: { name: fix, audience: [ada], createdBy: ada, agent: "one" },
        b: { name: fix, audience: [bob], createdBy: bob, agent: "two" },
        c: { name: docs, agent: "one" },
        d: { name: null, displayName: "fix", agent: null },
        e: { name: sample.sessionName("fix-2") },
      };
      const writers = new Map<string, Writer>();
      for (const [index, [id, change]] of Object.entries(rows).entries()) {
        const record = sample.record({ updatedAtMs: index, ...change });
        writers.set(id, await stage.session(store, id, { record }));
      }
      const expected: readonly (readonly [ListFilter, readonly string[]])[] = [
        [{ name: fix }, ["b", "a"]],
        [{ name: fix, visibleTo: ada }, ["a"]],
        [{ name: fix, visibleTo: null }, []],
        [{ name: fix, createdBy: bob }, ["b"]],
        [{ name: docs, visibleTo: bob }, ["c"]],
        [{ agent: "one" }, ["c", "a"]],
        [{ agent: "one", visibleTo: bob }, ["c"]],
        [{ agent: "ONE" }, []],
      ];
      for (const [filter, found] of expected) {
        assert.deepEqual(await listedIds(store, ACME, filter), found, JSON.stringify(filter));
        const paged = await allListed(store, ACME, filter, 1);
        assert.deepEqual(ids(paged), found, "by one");
      }
      const renamed = sample.record({ name: docs, agent: "three", updatedAtMs: 9 });
      await value(writers.get("a")?.commit({ record: renamed }) ?? assert.fail());
      assert.deepEqual(await listedIds(store, ACME, { name: fix }), ["b"]);
      assert.deepEqual(await listedIds(store, ACME, { name: docs }), ["a", "c"]);
      assert.deepEqual(await listedIds(store, ACME, { agent: "three" }), ["a"]);
      assert.deepEqual(await listedIds(store, ACME, { agent: "one" }), ["c"]);
      const record = await value(store.readRecord(sample.keyOf("c")));
      assert.deepEqual([record.name, record.agent], [docs, "one"]);
    },
  ),

  inStore(
    "H6: text is found in names whatever its case, and has no wildcards",
    async (store, stage) => {
      const names = [
        "Fix the BUILD",
        "100% done",
        "snake_case",
        "Ärger über Öl",
        "a\\b*c?[d]",
        null,
      ];
      for (const [index, displayName] of names.entries()) {
        const record = sample.record({ displayName, updatedAtMs: index });
        await stage.session(store, `n-${index}`, { record });
      }
      const expected: readonly (readonly [string, readonly string[]])[] = [
        ["build", ["n-0"]],
        ["FIX THE", ["n-0"]],
        ["%", ["n-1"]],
        ["0%", ["n-1"]],
        ["_", ["n-2"]],
        ["SNAKE_", ["n-2"]],
        ["ÄRGER", ["n-3"]],
        ["öl", ["n-3"]],
        ["\\", ["n-4"]],
        ["*", ["n-4"]],
        ["[d]", ["n-4"]],
        ["'", []],
        ["nothing", []],
      ];
      for (const [text, ids] of expected) {
        assert.deepEqual(await listedIds(store, ACME, { text }), ids, `text ${text}`);
      }
    },
  ),

  inStore("H7: what is not a filter is refused", async (store, stage) => {
    await stage.session(store);
    const faults: readonly unknown[] = [
      null,
      "running",
      { statuses: "running" },
      { statuses: ["sleeping"] },
      { workspaceCwd: 7 },
      { text: { $ne: "" } },
      { visibleTo: '"' },
      { createdBy: ["ada"] },
      { name: "No Name" },
      { agent: "" },
      { parentSessionId: "../.." },
      { displayName: "a" },
      { __proto__: null, constructor: "a" },
    ];
    for (const filter of faults) {
      const listed = store.list(ACME, filter as ListFilter, { limit: 10, cursor: null });
      await refused(listed, "invalid_store_input");
    }
  }),
];

const ids = (sessions: readonly { readonly sessionId: string }[]) =>
  sessions.map(({ sessionId }) => sessionId);

const at = (updatedAtMs: number): SessionRecord => sample.record({ updatedAtMs });

/** Sessions of rising age: the last of them is the newest. */
async function aged(stage: CheckStage, store: SessionStore, names: readonly string[]) {
  const writers: Writer[] = [];
  for (const [index, name] of names.entries()) {
    writers.push(await stage.session(store, name, { record: at(index + 1) }));
  }
  return writers;
}

async function filtered(stage: CheckStage, store: SessionStore) {
  const parentSessionId = sample.sessionId("a");
  const rows: Readonly<Record<string, Partial<SessionRecord>>> = {
    a: { workspaceCwd: "/projects/a", status: "ready" },
    b: { workspaceCwd: "/projects/a", status: "running", parentSessionId },
    c: { workspaceCwd: "/projects/a/deeper", parentSessionId, sourceType: "github", sourceId: "1" },
    d: { workspaceCwd: "/", status: "error", sourceType: "github", sourceId: "2" },
  };
  for (const [index, [id, change]] of Object.entries(rows).entries()) {
    await stage.session(store, id, { record: sample.record({ updatedAtMs: index, ...change }) });
  }
}

/** Things that lie about in directories, in every directory of the store. */
async function strew(directory: string) {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) await strew(join(directory, entry.name));
  }
  await writeFile(join(directory, "notes.txt"), "remember the milk");
  await writeFile(join(directory, ".DS_Store"), new Uint8Array(16));
  await mkdir(join(directory, "lost+found"));
}
