import assert from "node:assert/strict";
import { type Check, check } from "./check.ts";
import { allEvents, digests, sessionState, unchanged, value, wholeSlots } from "./expect.ts";
import { operations, sessionReads, tenantReads } from "./operation.ts";
import * as sample from "./sample.ts";

const { slot, message, keyOf, events } = sample;

/** C, continued. What is read is a copy, and so is what was handed over. */
export const COPY: readonly Check[] = [
  check("32: reading changes nothing", async (stage) => {
    const store = await stage.start();
    const writer = await stage.session(store);
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

  check("33: changing what was read changes nothing that is stored", async (stage) => {
    const store = await stage.start();
    const writer = await stage.session(store);
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

  check(
    "33: changing what was handed over, once the call was made, changes nothing either",
    async (stage) => {
      const store = await stage.start();
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
