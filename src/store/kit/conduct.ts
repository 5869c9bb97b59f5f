import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  RECORD_TEXT_CHARS_MAX,
  SLOT_BYTES_MAX,
  SLOTS_BYTES_MAX,
  STORE_BYTES_WAITING_MAX,
  STORE_ROW_BYTES,
} from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { JournalQuery, SessionStore, StoreHost } from "../store.ts";
import {
  allEvents,
  digests,
  entryKeys,
  leavesNoTrace,
  refused,
  tenantState,
  value,
  wholeSlots,
} from "./expect.ts";
import { cannot, check, inSession, inStore, type StoreCheck, slotless } from "./harness.ts";
import { operations } from "./operation.ts";
import * as sample from "./sample.ts";
import { ACME, entry, event, slot } from "./sample.ts";
import type { Writer } from "./stage.ts";

/** I. How a store behaves. */
export const CONDUCT: readonly StoreCheck[] = [
  inStore("72: every act is written down together with itself", async (store, stage) => {
    const made = sample.commit({ journal: [entry("made")] });
    const writer = await stage.session(store, "s-1", { commit: made });
    const { key } = writer;
    await value(writer.commit({ events: sample.events(1, 1), journal: [entry("committed")] }));
    await value(writer.close());
    const { term } = await value(store.open(key, sample.holder(), [entry("opened")]));
    await value(store.close(key, term));
    await value(store.writeDocument(ACME, { ...sample.DOCUMENT, entries: [entry("set")] }));
    await value(store.delete(key, sample.holder(), [entry("deleted")]));
    const all = ["made", "committed", "opened", "set", "deleted"];
    assert.deepEqual(await entryKeys(store, ACME), all);
  }),

  inStore("72: what cannot be written down does not happen", async (store, stage) => {
    await value(store.appendJournal(ACME, [entry("taken")]));
    const conflict = [entry("new"), entry("taken", { text: "another text" })];
    const writer = await stage.session(store);
    const { key, term } = writer;
    const commit = () => writer.commit({ events: sample.events(1, 1), journal: conflict });
    await leavesNoTrace(store, ACME, commit, "journal_conflict");
    const remove = () => store.delete(key, sample.holder(), conflict);
    await leavesNoTrace(store, ACME, remove, "journal_conflict");
    const cut = () => store.cutLog(key, term, { lastEventId: 0, epoch: "e", audit: conflict });
    await leavesNoTrace(store, ACME, cut, "journal_conflict");
    const set = () => store.writeDocument(ACME, { ...sample.DOCUMENT, entries: conflict });
    await leavesNoTrace(store, ACME, set, "journal_conflict");
    const seize = () => store.seize(key, sample.holder("other"), conflict);
    await leavesNoTrace(store, ACME, seize, "journal_conflict");
    await value(store.close(key, term));
    const open = () => store.open(key, sample.holder(), conflict);
    await leavesNoTrace(store, ACME, open, "journal_conflict");
    const other = sample.keyOf("s-2");
    const manifest = sample.manifest(other, store.contract.storeId);
    const made = sample.commit({ journal: conflict });
    const create = () => store.create(other, sample.newSession(manifest, { commit: made }));
    await leavesNoTrace(store, ACME, create, "journal_conflict");
    await value(store.open(key, sample.holder(), [entry("opened")]));
  }),

  check("73: nothing of the environment is in what is stored", async (stage) => {
    const secret = "env-secret-4f9b1c";
    stage.env.get = () => secret;
    const store = await stage.start();
    for (const { act } of operations(store, sample.keyOf("s-1"))) await act();
    const writer = await stage.session(store, "s-2");
    await value(writer.append(3));
    await value(writer.snapshot({ slots: [slot("core", "x")] }));
    assert.ok(!JSON.stringify(await tenantState(store, ACME)).includes(secret));
    await value(store.dispose());
    const { root } = stage.harness.world;
    if (root === undefined) return;
    for (const path of await pathsUnder(root(stage.place))) {
      if ((await stat(path)).isFile()) assert.ok(!(await readFile(path)).includes(secret), path);
    }
  }),

  inSession(
    "74: its own slot is the first of every snapshot",
    async (writer, store) => {
      await value(writer.snapshot({ slots: [slot("a", "x"), slot("0", "y")] }));
      const [first] = await wholeSlots(store, writer.key);
      assert.equal(first?.owner, store.contract.stateSlot);
    },
    slotless,
  ),

  inSession(
    "74: a store without a slot of its own adds none",
    async (writer, store) => {
      await value(writer.snapshot({ slots: [slot("a", "x")] }));
      const owners = (await wholeSlots(store, writer.key)).map(({ owner }) => owner);
      assert.deepEqual(owners, ["a"]);
    },
    ({ contract }) => (contract.stateSlot === null ? null : "stateSlot is not null"),
  ),

  inSession("75: payloads are bytes: none is read, none is changed", async (writer, store) => {
    const every = Uint8Array.from({ length: 256 }, (_, index) => index);
    const slots = [
      slot("every byte", every),
      slot("empty", new Uint8Array(0)),
      slot("half a character", Uint8Array.of(0xf0, 0x9d, 0x84)),
      slot("overlong", Uint8Array.of(0xc0, 0x80, 0xff, 0xfe)),
      slot("a part of more", every.subarray(100, 110)),
      slot("of a pool", Buffer.from("pooled")),
      slot("JSON with spaces", ' {"b":1, "a":1e400 }\n'),
      slot("compressed", Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3)),
    ];
    await value(writer.snapshot({ slots }));
    const stored = await wholeSlots(store, writer.key);
    assert.deepEqual(digests(stored), digests(slots));
    assert.ok(stored.every(({ payload }) => payload instanceof Uint8Array));
  }),

  check(
    "76, 78: it asks its host for nothing but surface, environment and audit",
    async (stage) => {
      const asked = new Set<string>();
      const host = new Proxy<StoreHost>(stage.host, {
        get: (target, name) => {
          asked.add(String(name));
          return Reflect.get(target, name);
        },
      });
      const store = stage.store();
      await value(store.init(host, stage.samples.valid));
      await value(store.activate());
      for (const { act } of operations(store, sample.keyOf("s-1"))) await act();
      const allowed = ["persistenceSurface", "env", "audit"];
      assert.deepEqual(
        [...asked].filter((name) => !allowed.includes(name)),
        [],
      );
      assert.deepEqual(stage.announced, [store.contract.storeId], "it did not go by its host");
    },
  ),

  inStore(
    "77: only its owner may read what is stored",
    async (store, stage) => {
      for (const { act } of operations(store, sample.keyOf("s-1"))) await act();
      const writer = await stage.session(store, "s-2");
      await value(writer.append(1));
      await isPrivate(stage.root);
      await value(store.dispose());
      await isPrivate(stage.root);
    },
    cannot("root"),
    () => (process.platform === "win32" ? "Windows has no modes" : null),
  ),
];

async function isPrivate(root: string) {
  const paths = await pathsUnder(root);
  assert.ok(paths.length > 0, "there is nothing to look at");
  for (const path of [root, ...paths]) {
    const { mode } = await stat(path);
    assert.equal(mode & 0o077, 0, `${path} has mode ${(mode & 0o777).toString(8)}`);
  }
}

async function pathsUnder(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true });
  return entries.map((entry) => join(directory, entry));
}

/** T. What has no bound by itself is bounded in sum, and what is no question has no answer. */
export const BOUND: readonly StoreCheck[] = [
  inSession(
    "T1: all slots together are bounded, those of earlier snapshots too",
    async (writer, store) => {
      const revision = await fillSlots(writer);
      const act = () => writer.snapshot({ slots: [slot("one more", "x")] });
      const { details } = await refused(act(), "snapshot_too_large");
      assert.deepEqual(details, { bytes: SLOTS_BYTES_MAX + 1, limit: SLOTS_BYTES_MAX });
      assert.equal((await value(store.readRecord(writer.key))).revision, revision);
      // What goes makes room, and so does what shrinks.
      await value(writer.snapshot({ slots: [slot("one more", "x")], removedSlots: ["slot 0"] }));
      await value(writer.snapshot({ slots: [slot("slot 1", "")] }));
      await value(writer.snapshot({ slots: [slot("another", "x")] }));
      const owners = (await wholeSlots(store, writer.key)).map(({ owner }) => owner);
      assert.deepEqual([owners.includes("slot 0"), owners.includes("another")], [false, true]);
    },
  ),

  inSession("T2: what is empty weighs something, too", async (writer, store) => {
    const limit = store.contract.capabilities.snapshotBytesLimit;
    const empty = Array.from({ length: Math.floor(limit / STORE_ROW_BYTES) + 1 }, () => "");
    const { key, term } = writer;
    const heavy: readonly (() => Promise<Result<unknown>>)[] = [
      () => store.commit(key, term, { afterEventId: 0, events: empty, journal: [] }),
      () => writer.snapshot({ messages: empty }),
      () =>
        store.appendJournal(
          ACME,
          empty.map((text, index) => entry(`${index}`, { text })),
        ),
    ];
    for (const act of heavy) await leavesNoTrace(store, ACME, act, "snapshot_too_large");
  }),

  inSession(
    "T3: thousands of empty events come back, each under its number",
    async (writer, store) => {
      const log = Array.from({ length: 2_500 }, (_, index) => event(index + 1, ""));
      await value(writer.commit({ events: log }));
      assert.deepEqual(await allEvents(store, writer.key), log);
      const page = await value(store.readEvents(writer.key, { after: 2_400, limit: 3 }));
      assert.deepEqual(page.events, log.slice(2_400, 2_403));
    },
  ),

  inSession("T4: texts of records, holders and filters are short", async (writer, store) => {
    const longest = "x".repeat(RECORD_TEXT_CHARS_MAX);
    for (const field of ["workspaceCwd", "displayName", "sourceType", "sourceId"] as const) {
      const long = { record: sample.record({ [field]: `${longest}x` }) };
      await leavesNoTrace(store, ACME, () => writer.commit(long), "invalid_store_input");
      const record = sample.record({ [field]: longest });
      await value(writer.commit({ record }));
      assert.equal((await value(store.readRecord(writer.key)))[field], longest);
    }
    for (const field of ["host", "bootId", "startedAt", "label"] as const) {
      const holder = { ...sample.holder(), [field]: `${longest}x` };
      const act = () => store.open(writer.key, holder, []);
      await leavesNoTrace(store, ACME, act, "invalid_store_input");
    }
    for (const field of ["workspaceCwd", "sourceType", "sourceId", "text"] as const) {
      const listed = store.list(ACME, { [field]: `${longest}x` }, { limit: 9, cursor: null });
      await refused(listed, "invalid_store_input");
    }
  }),

  inStore("T5: journals that there are not cannot be read", async (store) => {
    await value(store.appendJournal(ACME, [entry("a")]));
    const faults: readonly Readonly<Record<string, unknown>>[] = [
      { journal: "diary" },
      { journal: "" },
      { journal: "__proto__" },
      { journal: undefined },
      { journal: ["audit"] },
      { key: "" },
      { key: "x".repeat(513) },
      { key: 7 },
      { sessionId: "../.." },
      { sessionId: null },
    ];
    for (const fault of faults) {
      const query = { journal: "audit", after: 0, limit: 9, ...fault } as unknown as JournalQuery;
      await refused(store.readJournal(ACME, query), "invalid_store_input");
    }
  }),

  inStore("T6: documents are asked for by names", async (store) => {
    for (const name of ["", "x".repeat(513), "half \ud800", 7, undefined, {}] as never[]) {
      await refused(store.readDocument(ACME, name, "a"), "invalid_store_input");
      await refused(store.readDocument(ACME, "token", name), "invalid_store_input");
      await refused(store.listDocuments(ACME, name, null), "invalid_store_input");
      if (name === undefined) continue;
      await refused(store.listDocuments(ACME, "token", name), "invalid_store_input");
    }
  }),

  inStore(
    "T7: when too much waits to be written, more is refused, and nothing else",
    async (store) => {
      const limit = store.contract.capabilities.snapshotBytesLimit;
      const text = "x".repeat(limit - 1_024);
      // The same entry every time, so that it is only the waiting that takes room.
      const calls = Math.ceil(STORE_BYTES_WAITING_MAX / text.length) + 2;
      const results = await Promise.all(
        Array.from({ length: calls }, () => store.appendJournal(ACME, [entry("a", { text })])),
      );
      const refusals = results.filter((result) => !result.ok);
      assert.ok(refusals.length > 0, "there is no end to what may wait");
      assert.ok(refusals.length < calls / 2, `${refusals.length} of ${calls} were refused`);
      for (const { refusal } of refusals) assert.equal(refusal.code, "store_unavailable");
      await value(store.appendJournal(ACME, [entry("b", { text })]));
      assert.deepEqual(await entryKeys(store, ACME), ["a", "b"]);
    },
  ),
];

/** Slots that are together exactly as large as they may be; the answer is the last revision. */
async function fillSlots(writer: Writer): Promise<number> {
  const part = Math.min(SLOT_BYTES_MAX, fitting(writer.store));
  let revision = 0;
  for (let filled = 0; filled < SLOTS_BYTES_MAX; filled += part) {
    const payload = new Uint8Array(Math.min(part, SLOTS_BYTES_MAX - filled));
    const slots = [slot(`slot ${revision}`, payload)];
    ({ revision } = await value(writer.snapshot({ slots })));
  }
  return revision;
}

const fitting = ({ contract }: SessionStore) => contract.capabilities.snapshotBytesLimit - 4_096;
