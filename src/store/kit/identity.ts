import assert from "node:assert/strict";
import type { Result } from "../../core/result.ts";
import type { Commit, Manifest, NewSession, SessionStore } from "../store.ts";
import { leavesNoTrace, listedIds, refused, sessionState, unchanged, value } from "./expect.ts";
import { cannot, forgetful, inSession, inStore, type StoreCheck } from "./harness.ts";
import { operations, sessionReads, sessionWrites } from "./operation.ts";
import * as sample from "./sample.ts";
import { keyOf } from "./sample.ts";
import type { Writer } from "./stage.ts";

/** D. Who a session is, and what is said when something is wrong. */
export const IDENTITY: readonly StoreCheck[] = [
  inStore(
    "34: an unknown session is not found, by every operation, and is not made by it",
    async (store, stage) => {
      await stage.session(store, "known");
      const key = keyOf("unknown");
      for (const { name, act } of [...sessionReads(store, key), ...sessionWrites(store, key)]) {
        const result = await act();
        assert.equal(result.ok ? "accepted" : result.refusal.code, "session_not_found", name);
        assert.equal(!result.ok && result.refusal.details.sessionId, "unknown", name);
      }
      await value(store.close(key, 1));
      assert.deepEqual(await listedIds(store, sample.ACME), ["known"]);
    },
  ),

  inSession(
    "35: a session of another store is recognised before anything of it is read",
    async (writer, store, stage) => {
      await value(writer.snapshot({ slots: [sample.slot("core", "x")] }));
      await value(writer.close());
      await value(store.dispose());
      // Nothing but the store's name is as it should be, so that it must have been asked first.
      const forge = () => ({ storeId: "elsewhere", messages: [], version: 9 });
      await stage.world("forgeManifest")(stage.place, writer.key, forge);
      const next = await stage.start();
      const said = { stored: "elsewhere", active: next.contract.storeId };
      const opened = next.open(writer.key, sample.holder(), [sample.entry("opened")]);
      assert.deepEqual((await refused(opened, "resume_mismatch")).details, said);
      const read = await refused(next.readManifest(writer.key), "resume_mismatch");
      assert.deepEqual(read.details, said);
      await refused(next.readSlots(writer.key), "resume_mismatch");
      const audit = await value(
        next.readJournal(sample.ACME, { journal: "audit", after: 0, limit: 9 }),
      );
      assert.deepEqual(audit.rows, [], "an opening that did not happen was written down");
    },
    forgetful,
    cannot("forgeManifest"),
  ),

  inSession(
    "36: a manifest that another store has stamped is refused on write",
    async (writer, store) => {
      const manifest = writer.manifest({ storeId: "elsewhere" });
      for (const act of writesOf(writer, manifest)) {
        const { details } = await leavesNoTrace(store, sample.ACME, act, "resume_mismatch");
        assert.deepEqual(details, { stored: "elsewhere", active: store.contract.storeId });
      }
    },
  ),

  inSession(
    "36: a manifest that no store has stamped is refused on write",
    async (writer, store) => {
      for (const storeId of ["", "  ", undefined]) {
        const manifest = { ...writer.manifest(), storeId };
        for (const act of writesOf(writer, manifest)) {
          const { details } = await leavesNoTrace(store, sample.ACME, act, "invalid_manifest");
          assert.equal(details.path, "storeId");
        }
      }
    },
  ),

  inSession(
    "37: an invalid manifest is refused on write, and the old one stays",
    async (writer, store) => {
      for (const [path, change] of INVALID) {
        const manifest = { ...writer.manifest(), ...change };
        for (const act of writesOf(writer, manifest)) {
          const { details } = await leavesNoTrace(store, sample.ACME, act, "invalid_manifest");
          assert.equal(details.path, path);
        }
      }
      for (const manifest of [null, undefined, [], "manifest", {}]) {
        for (const act of writesOf(writer, manifest)) {
          const faults = ["invalid_manifest", "invalid_store_input"] as const;
          await leavesNoTrace(store, sample.ACME, act, ...faults);
        }
      }
    },
  ),

  inSession(
    "38: nothing is thrown, whatever is handed over, and nothing is changed",
    async ({ key }, store) => {
      await unchanged(store, sample.ACME, async () => {
        for (const { name, act } of nonsense(store)) {
          const result = await answerOf(name, act);
          assert.ok(!result.ok, `${name} was accepted`);
        }
      });
      for (const { name, act } of operations(store, key)) await answerOf(name, act);
    },
  ),

  inSession("38: what a value only inherits is not taken for its own", async (writer, store) => {
    for (const act of inheritors(writer)) {
      await leavesNoTrace(store, sample.ACME, act, "invalid_store_input", "invalid_manifest");
    }
    await value(writer.commit({ record: sample.record(), journal: [sample.entry("own")] }));
  }),

  inSession(
    "40: a manifest with the id of another session is refused on write",
    async (writer, store, stage) => {
      await stage.session(store, "s-2");
      const manifest = { ...writer.manifest(), sessionId: sample.sessionId("s-2") };
      for (const act of writesOf(writer, manifest)) {
        const { details } = await leavesNoTrace(store, sample.ACME, act, "invalid_manifest");
        assert.equal(details.path, "sessionId");
      }
    },
  ),

  inSession(
    "40: a stored manifest with the id of another session is damage",
    async (writer, store, stage) => {
      await value(writer.close());
      await value(store.dispose());
      const forge = stage.world("forgeManifest");
      await forge(stage.place, writer.key, (manifest) => ({ ...manifest, sessionId: "s-2" }));
      const next = await stage.start();
      await refused(next.open(writer.key, sample.holder(), []), "session_corrupt");
      await refused(next.readManifest(writer.key), "session_corrupt");
    },
    forgetful,
    cannot("forgeManifest"),
  ),

  inSession(
    "41: a backend that is lost is said to be, and is whole when it is back",
    async (writer, store, stage) => {
      await value(writer.append(1));
      await value(writer.snapshot({ messages: [sample.message("kept")] }));
      const before = await sessionState(store, writer.key);
      const undo = await stage.world("remove")(stage.place);
      try {
        for (const change of [{ events: sample.events(2, 1) }, { events: sample.events(2, 3) }]) {
          const { details } = await refused(writer.commit(change), "store_unavailable");
          assert.notEqual(details.reason ?? "", "");
        }
        const other = keyOf("s-2");
        const manifest = sample.manifest(other, store.contract.storeId);
        await refused(store.create(other, sample.newSession(manifest)), "store_unavailable");
      } finally {
        await undo();
      }
      await value(store.dispose());
      const next = await stage.start();
      const { record, ...rest } = await sessionState(next, writer.key);
      assert.deepEqual(
        { ...rest, lastEventId: record.lastEventId },
        {
          manifest: before.manifest,
          events: before.events,
          turns: before.turns,
          messages: before.messages,
          slots: before.slots,
          lastEventId: 1,
        },
      );
    },
    cannot("remove"),
  ),
];

type UncheckedCall = () => Promise<Result<unknown>>;

/** Both ways by which a manifest comes in, with more that must not be written either. */
function writesOf(writer: Writer, manifest: unknown): readonly UncheckedCall[] {
  const { store, key } = writer;
  const believed = manifest as Manifest;
  const messages = [sample.message("never")];
  const journal = [sample.entry("never")];
  const snapshot = sample.snapshot(believed, 0, { messages });
  const other = keyOf("s-new");
  const moved = isOwn(manifest, key.sessionId)
    ? { ...believed, sessionId: other.sessionId }
    : believed;
  return [
    () => writer.commit({ events: sample.events(1, 1), journal, snapshot }),
    () => store.create(other, sample.newSession(moved, { commit: sample.commit({ journal }) })),
  ];
}

function isOwn(manifest: unknown, id: string): boolean {
  return Object(manifest).sessionId === id;
}

/** Each fault, by the path under which it must be named. */
const INVALID: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["messages", { messages: [] }],
  ["slots", { slots: {} }],
  ["extensions", { extensions: [] }],
  ["constructor", { constructor: 1 }],
  ["schemaVersion", { schemaVersion: "1.0" }],
  ["mode", { mode: "always" }],
  ["mode", { mode: undefined }],
  ["projectRoot", { projectRoot: "relative" }],
  ["projectRoot", { projectRoot: "" }],
  ["projectRoot", { projectRoot: 7 }],
  ["smState", { smState: {} }],
  ["smState", { smState: null }],
  ["smState", { smState: { smExtId: "", stateSlotRef: "a" } }],
  ["smState", { smState: { smExtId: "a", stateSlotRef: "b", payload: {} } }],
  ["createdAt", { createdAt: Number.NaN }],
  ["createdAt", { createdAt: "2024" }],
  ["updatedAt", { updatedAt: 1.5 }],
  ["updatedAt", { updatedAt: Number.POSITIVE_INFINITY }],
  ["sessionId", { sessionId: "" }],
];

/** The same value, except that one field comes from its prototype. */
function inheriting<Value extends object>(value: Value, field: keyof Value): Value {
  const { [field]: behind, ...own } = value;
  const heir: Value = Object.assign(Object.create({ [field]: behind }), own);
  return heir;
}

/** Writes that are whole only if what is inherited counts. */
function inheritors(writer: Writer): readonly UncheckedCall[] {
  const { store, key } = writer;
  const other = sample.keyOf("s-2");
  const manifest = sample.manifest(other, store.contract.storeId);
  const made = sample.newSession(manifest);
  const record = inheriting(sample.record(), "displayName");
  const entry = inheriting(sample.entry("inherited"), "text");
  const slot = inheriting(sample.slot("core", "x"), "version");
  return [
    () => writer.commit({ record }),
    () => writer.commit({ journal: [entry] }),
    () => writer.snapshot({ slots: [slot] }),
    () => writer.snapshot({ manifest: inheriting(writer.manifest(), "updatedAt") }),
    () => writer.commit({ snapshot: inheriting(writer.snapshotOf(0), "messages") }),
    () => store.commit(inheriting(key, "sessionId"), writer.term, sample.commit()),
    () => store.open(key, inheriting(sample.holder(), "label"), []),
    () => store.create(other, { ...made, record }),
    () => store.create(other, { ...made, manifest: inheriting(manifest, "mode") }),
    () => store.create(other, { ...made, holder: inheriting(sample.holder(), "pid") }),
    () => store.appendJournal(sample.ACME, [entry]),
  ];
}

function nonsense(
  store: SessionStore,
): readonly { readonly name: string; readonly act: UncheckedCall }[] {
  const key = keyOf("s-1");
  const none = null as never;
  const commits = [null, undefined, 1, {}, { afterEventId: 0, events: [] }];
  const places: readonly unknown[] = [undefined, null, "0", -1, 0.5, Number.NaN];
  const events: readonly unknown[] = [[null], [1], [{ id: 1, text: "" }], [["text"]], "events"];
  const rest: readonly unknown[] = [
    ...events.map((some) => ({ afterEventId: 0, events: some, journal: [] })),
    ...places.map((place) => ({ afterEventId: place, events: [], journal: [] })),
  ];
  const session = { holder: null, manifest: null, record: null, epoch: 1, commit: null };
  return [
    ...[...commits, ...rest].map((commit) => ({
      name: `commit of ${JSON.stringify(commit)}`,
      act: () => store.commit(key, 1, commit as Commit),
    })),
    { name: "create with nothing", act: () => store.create(keyOf("s-2"), none) },
    {
      name: "create with nulls",
      act: () => store.create(keyOf("s-2"), session as unknown as NewSession),
    },
    { name: "create without key", act: () => store.create(none, none) },
    { name: "open without key", act: () => store.open(none, sample.holder(), []) },
    { name: "open without audit", act: () => store.open(key, sample.holder(), none) },
    { name: "delete without audit", act: () => store.delete(key, sample.holder(), none) },
    { name: "delete without holder", act: () => store.delete(key, none, []) },
    { name: "seize without audit", act: () => store.seize(key, sample.holder(), none) },
    { name: "cutLog of nothing", act: () => store.cutLog(key, 1, none) },
    { name: "close without key", act: () => store.close(none, 1) },
    { name: "readRecord without key", act: () => store.readRecord(none) },
    { name: "readEvents without range", act: () => store.readEvents(key, none) },
    { name: "readTurns without range", act: () => store.readTurns(key, none) },
    { name: "readMessages without range", act: () => store.readMessages(key, none) },
    { name: "list without page", act: () => store.list(sample.ACME, {}, none) },
    { name: "readJournal without query", act: () => store.readJournal(sample.ACME, none) },
    { name: "appendJournal of nothing", act: () => store.appendJournal(sample.ACME, none) },
    { name: "writeDocument of nothing", act: () => store.writeDocument(sample.ACME, none) },
    { name: "removeTenant by nobody", act: () => store.removeTenant(sample.ACME, none) },
    { name: "removeTenant of nothing", act: () => store.removeTenant(none, sample.holder()) },
    { name: "writeBlob of nothing", act: () => store.writeBlob(sample.ACME, none) },
    { name: "writeBlob of text", act: () => store.writeBlob(sample.ACME, "text" as never) },
    { name: "readBlob of nothing", act: () => store.readBlob(sample.ACME, none) },
  ];
}

/** The answer of a call that may neither throw nor reject. */
async function answerOf(name: string, act: UncheckedCall): Promise<Result<unknown>> {
  try {
    return await act();
  } catch (thrown) {
    return assert.fail(`${name} threw ${String(thrown)}`);
  }
}
