import assert from "node:assert/strict";
import { SLOTS_MAX } from "../../core/limits.ts";
import type { SecurityMode } from "../../core/policy/risk.ts";
import {
  allEvents,
  allMessages,
  digests,
  leavesNoTrace,
  sessionState,
  unchanged,
  value,
  wholeSlots,
} from "./expect.ts";
import { inSession, inStore, type StoreCheck } from "./harness.ts";
import { operations, sessionReads, tenantReads } from "./operation.ts";
import * as sample from "./sample.ts";
import { events, keyOf, message, slot } from "./sample.ts";

/** C. What is stored comes back as it was. */
export const ROUND_TRIP: readonly StoreCheck[] = [
  inStore(
    "23: a manifest comes back as it was, in all modes, with and without smState",
    async (store) => {
      const modes: readonly SecurityMode[] = ["ask", "allowlist", "yolo"];
      const smState = { smExtId: "flow", stateSlotRef: "flow/1" };
      for (const mode of modes) {
        for (const more of [{}, { smState }]) {
          const key = keyOf(`${mode}-${Object.keys(more).length}`);
          const projectRoot = "/größe/𝄐";
          const change = { mode, projectRoot, ...more };
          const first = sample.manifest(key, store.contract.storeId, change);
          const { term } = await value(store.create(key, sample.newSession(first)));
          assert.deepEqual(await value(store.readManifest(key)), first);
          const second = { ...first, updatedAt: first.updatedAt + 1 };
          const snapshot = sample.snapshot(second, 0);
          await value(store.commit(key, term, sample.commit({ snapshot })));
          assert.deepEqual(await value(store.readManifest(key)), second);
          await value(store.close(key, term));
          const opened = await value(store.open(key, sample.holder(), []));
          assert.deepEqual(opened.manifest, second);
        }
      }
    },
  ),

  inSession(
    "23: smState stays, changes and goes with each snapshot, however many there were",
    async (writer, store) => {
      const states = [1, 2, 3].map((n) => ({ smExtId: "flow", stateSlotRef: `flow/${n}` }));
      const [first, second, third] = states;
      for (const smState of [first, first, second, second, undefined, undefined, third, third]) {
        const manifest = writer.manifest(smState === undefined ? {} : { smState });
        await value(writer.snapshot({ manifest }));
        const { smState: stored } = await value(store.readManifest(writer.key));
        assert.deepEqual({ smState: stored }, { smState });
      }
      await value(writer.close());
      const { manifest } = await value(store.open(writer.key, sample.holder(), []));
      assert.deepEqual({ smState: manifest.smState }, { smState: third });
    },
  ),

  inSession(
    "23: what was fixed when the session was made, no snapshot changes",
    async (writer, store) => {
      const changes = [{ mode: "yolo" }, { projectRoot: "/elsewhere" }, { createdAt: 7 }] as const;
      for (const change of changes) {
        const snapshot = sample.snapshot(writer.manifest(change), 0);
        const act = () => writer.commit({ snapshot });
        await leavesNoTrace(store, writer.key.tenantId, act, "invalid_manifest");
      }
    },
  ),

  inSession(
    "25: slots come back with owner, version and bytes, whatever their names",
    async (writer, store) => {
      const owners = ["core", "Core", "__proto__", "constructor", "..", "a/b", "a b", "ä𝄐", "a\0b"];
      const slots = owners.map((owner, index) => slot(owner, `of ${owner}`, `${index}.0.0-rc.1`));
      await value(writer.snapshot({ slots }));
      assert.deepEqual(digests(await wholeSlots(store, writer.key)), digests(slots));
      await value(writer.close());
      const opened = await value(store.open(writer.key, sample.holder(), []));
      assert.deepEqual(digests(opened.slots), digests(slots));
    },
  ),

  inSession(
    "33: bytes are copied, also those of a Buffer, whose slice is no copy",
    async (writer, store) => {
      const payload = Buffer.from("slot");
      const slots = [{ owner: "a", version: "1", payload }];
      const written = writer.commit({ afterEventId: 0, snapshot: writer.snapshotOf(0, { slots }) });
      payload.fill(0);
      await value(written);
      const [read] = await wholeSlots(store, writer.key);
      assert.equal(Buffer.from(read?.payload ?? []).toString(), "slot");
      read?.payload.fill(0);
      const [again] = await wholeSlots(store, writer.key);
      assert.equal(Buffer.from(again?.payload ?? []).toString(), "slot");
      const bytes = Buffer.from("blob");
      const blob = store.writeBlob(writer.key.tenantId, bytes);
      bytes.fill(0);
      const stored = await value(store.readBlob(writer.key.tenantId, await value(blob)));
      assert.equal(Buffer.from(stored).toString(), "blob");
    },
  ),

  inSession(
    "26: a removed slot is gone, and one that is not named stays",
    async (writer, store) => {
      const [a, b, c] = [slot("a", "1"), slot("b", "2"), slot("c", "3")];
      await value(writer.snapshot({ slots: [a, b, c] }));
      const next = slot("c", "4", "2.0.0");
      await value(writer.snapshot({ slots: [next], removedSlots: ["a", "never there"] }));
      assert.deepEqual(digests(await wholeSlots(store, writer.key)), digests([b, next]));
      await value(writer.snapshot({ slots: [a] }));
      assert.deepEqual(digests(await wholeSlots(store, writer.key)), digests([a, b, next]));
    },
  ),

  inSession(
    "27: a session without messages, slots or events is a session",
    async (writer, store) => {
      await value(writer.snapshot({}));
      const { record, ...rest } = await sessionState(store, writer.key);
      assert.deepEqual(rest, {
        manifest: writer.manifest(),
        events: [],
        turns: [],
        messages: [],
        slots: [],
      });
      assert.deepEqual(
        [record.revision, record.lastEventId, record.snapshotEventId, record.earliestEventId],
        [1, 0, 0, 1],
      );
      assert.equal(record.messageCount, 0);
    },
  ),

  inSession("28: ten thousand messages come back in order, in pages", async (writer, store) => {
    const messages = Array.from({ length: 10_000 }, (_, index) => message(`number ${index + 1}`));
    await value(writer.snapshot({ messages: messages.slice(0, 6_000) }));
    await value(writer.snapshot({ messages: messages.slice(6_000) }));
    const read = await allMessages(store, writer.key, 777);
    assert.deepEqual(
      read,
      messages.map((text, index) => ({ id: index + 1, text })),
    );
    const page = await value(store.readMessages(writer.key, { after: 5_999, limit: 2 }));
    assert.deepEqual(page, {
      rows: [
        { id: 6_000, text: message("number 6000") },
        { id: 6_001, text: message("number 6001") },
      ],
      more: true,
    });
    const most = await value(store.readMessages(writer.key, { after: 0, limit: 1_000_000 }));
    assert.equal(most.rows.length, 1_000, "a page is larger than its limit");
  }),

  inSession(
    "29: as many slots as the limit allows are kept, and one more is refused",
    async (writer, store) => {
      const slots = Array.from({ length: SLOTS_MAX }, (_, index) => slot(`o${index}`, `${index}`));
      await value(writer.snapshot({ slots }));
      assert.deepEqual(digests(await wholeSlots(store, writer.key)), digests(slots));
      const more = { slots: [slot("one more", "x")] };
      await leavesNoTrace(store, sample.ACME, () => writer.snapshot(more), "invalid_store_input");
      await value(writer.snapshot({ ...more, removedSlots: ["o0"] }));
    },
  ),

  inSession("30: the last write wins; revision and updatedAt rise", async (writer, store) => {
    for (const revision of [1, 2, 3]) {
      const updatedAt = sample.CREATED_AT_MS + revision;
      const manifest = writer.manifest({ updatedAt });
      const slots = [slot("core", `state ${revision}`)];
      const committed = await value(writer.snapshot({ manifest, slots }));
      assert.deepEqual(committed, { revision, lastEventId: 0 });
      assert.equal((await value(store.readRecord(writer.key))).revision, revision);
      assert.equal((await value(store.readManifest(writer.key))).updatedAt, updatedAt);
      assert.deepEqual(digests(await wholeSlots(store, writer.key)), digests(slots));
    }
    assert.deepEqual(await value(writer.append(2)), { revision: 3, lastEventId: 2 });
    const record = await value(store.readRecord(writer.key));
    assert.deepEqual([record.revision, record.createdAtMs], [3, sample.CREATED_AT_MS]);
  }),

  inStore("31: two sessions do not affect each other", async (store, stage) => {
    const one = await stage.session(store, "one");
    const two = await stage.session(store, "two", { epoch: "epoch-2" });
    await value(one.append(2));
    const slots = [slot("core", "of one")];
    await value(one.snapshot({ messages: [message("one")], slots, turn: sample.turn(1, 2) }));
    const before = await sessionState(store, one.key);
    await value(two.append(1));
    await value(two.snapshot({ messages: [message("two")], slots: [slot("core", "of two")] }));
    await value(two.snapshot({ removedSlots: ["core"], trimThrough: 1 }));
    await value(two.close());
    assert.deepEqual(await sessionState(store, one.key), before);
    await value(store.delete(two.key, sample.holder(), []));
    assert.deepEqual(await sessionState(store, one.key), before);
    assert.deepEqual(await value(one.append(1)), { revision: 1, lastEventId: 3 });
  }),
];

/** C, continued. What is read is a copy, and so is what was handed over. */
export const COPY: readonly StoreCheck[] = [
  inSession("32: reading changes nothing", async (writer, store) => {
    await value(writer.append(2));
    await value(writer.snapshot({ messages: [message("a")], slots: [slot("core", "x")] }));
    await unchanged(store, sample.ACME, async () => {
      const stranger = keyOf("never made", sample.tenantId("nobody"));
      const reads = [...sessionReads(store, writer.key), ...tenantReads(store, writer.key)];
      const strange = [...sessionReads(store, stranger), ...tenantReads(store, stranger)];
      for (const { act } of [...reads, ...strange]) await act();
    });
    assert.deepEqual(await value(store.tenants()), [sample.ACME], "reading made a tenant");
    assert.deepEqual(await value(writer.append(1)), { revision: 1, lastEventId: 3 });
  }),

  inSession("33: changing what was read changes nothing that is stored", async (writer, store) => {
    const { key } = writer;
    const smState = { smExtId: "flow", stateSlotRef: "flow/1" };
    const manifest = writer.manifest({ smState });
    const turn = sample.turn(1, 2);
    const slots = [slot("core", "x")];
    const filled = writer.snapshotOf(0, { manifest, messages: [message("a")], slots, turn });
    const journal = [sample.entry("a")];
    await value(writer.commit({ events: events(1, 2), journal, snapshot: filled }));
    const token = { kind: "token", key: "a", expectedVersion: 0, value: { list: [1] } };
    await value(store.writeDocument(key.tenantId, token));
    await unchanged(store, key.tenantId, async () => {
      for (const { act } of operations(store, key).filter(({ name }) => isRead(name))) {
        scribble(await act());
      }
    });
    await value(writer.close());
    scribble(await store.open(key, sample.holder("second"), []));
    const record = await value(store.readRecord(key));
    assert.equal(record.holder?.label, "second");
    assert.deepEqual(digests(await wholeSlots(store, key)), digests(slots));
    assert.deepEqual(await value(store.readManifest(key)), manifest);
  }),

  inStore(
    "33: changing what was handed over, once the call was made, changes nothing either",
    async (store) => {
      const key = keyOf("s-1");
      const manifest = sample.manifest(key, store.contract.storeId, {
        smState: { smExtId: "flow", stateSlotRef: "flow/1" },
      });
      const fresh = () => ({
        afterEventId: 0,
        events: events(1, 2).map(({ text }) => text),
        journal: [sample.entry("a")],
        record: sample.record({ displayName: "mine" }),
        snapshot: sample.snapshot(structuredClone(manifest), 0, {
          messages: [message("a")],
          slots: [slot("core", "x")],
          turn: sample.turn(1, 2),
        }),
      });
      const created = sample.newSession(structuredClone(manifest));
      const creating = store.create(key, created);
      scribble(created);
      const { term } = await value(creating);
      assert.deepEqual(await value(store.readManifest(key)), manifest);
      assert.equal((await value(store.readRecord(key))).holder?.label, "kit");
      const handed = fresh();
      const committing = store.commit(key, term, handed);
      scribble(handed);
      await value(committing);
      const state = await sessionState(store, key);
      assert.deepEqual(state.events, events(1, 2));
      assert.deepEqual(
        state.messages.map(({ text }) => text),
        fresh().snapshot.messages,
      );
      assert.deepEqual(state.slots, digests(fresh().snapshot.slots));
      assert.deepEqual(state.turns, [sample.turn(1, 2)]);
      assert.equal(state.record.displayName, "mine");
      assert.deepEqual(state.manifest, manifest);
      assert.deepEqual(await allEvents(store, key), events(1, 2));
    },
  ),
];

const isRead = (name: string) => /^(?:read|list|tenants)/.test(name);

/** Overwrites everything that can be overwritten, however deep. */
function scribble(target: unknown) {
  if (target instanceof Uint8Array) {
    target.fill(255);
  } else if (typeof target === "object" && target !== null) {
    for (const [key, inner] of Object.entries(target)) {
      scribble(inner);
      if (typeof inner === "string") Reflect.set(target, key, "scribbled");
      if (typeof inner === "number") Reflect.set(target, key, -1);
    }
    if (Array.isArray(target)) target.splice(0);
  }
}
