import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { StoreHost } from "../store.ts";
import { type Check, cannot, check, slotless } from "./check.ts";
import { digests, entryKeys, leavesNoTrace, tenantState, value, wholeSlots } from "./expect.ts";
import { operations } from "./operation.ts";
import * as sample from "./sample.ts";

const { ACME, entry, slot } = sample;

/** I. How a store behaves. */
export const CONDUCT: readonly Check[] = [
  check("72: every act is written down together with itself", async (stage) => {
    const store = await stage.start();
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

  check("72: what cannot be written down does not happen", async (stage) => {
    const store = await stage.start();
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

  check(
    "74: its own slot is the first of every snapshot",
    async (stage) => {
      const store = await stage.start();
      const writer = await stage.session(store);
      await value(writer.snapshot({ slots: [slot("a", "x"), slot("0", "y")] }));
      const [first] = await wholeSlots(store, writer.key);
      assert.equal(first?.owner, store.contract.stateSlot);
    },
    slotless,
  ),

  check(
    "74: a store without a slot of its own adds none",
    async (stage) => {
      const store = await stage.start();
      const writer = await stage.session(store);
      await value(writer.snapshot({ slots: [slot("a", "x")] }));
      const owners = (await wholeSlots(store, writer.key)).map(({ owner }) => owner);
      assert.deepEqual(owners, ["a"]);
    },
    ({ contract }) => (contract.stateSlot === null ? null : "stateSlot is not null"),
  ),

  check("75: payloads are bytes: none is read, none is changed", async (stage) => {
    const store = await stage.start();
    const writer = await stage.session(store);
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

  check(
    "77: only its owner may read what is stored",
    async (stage) => {
      const store = await stage.start();
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
