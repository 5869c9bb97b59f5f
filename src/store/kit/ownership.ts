import assert from "node:assert/strict";
import type { Holder } from "../holder.ts";
import { allEvents, leavesNoTrace, refused, sessionState, unchanged, value } from "./expect.ts";
import { check, forgetful, inSession, inStore, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { ACME, events, keyOf } from "./sample.ts";

/** J. Ownership: who may write, and that no other process can. */
export const OWNERSHIP: readonly StoreCheck[] = [
  inSession(
    "J1: each opening has a higher term, and every write with another is refused",
    async (writer, store) => {
      const { key } = writer;
      let term = writer.term;
      assert.ok(Number.isSafeInteger(term) && term >= 1, `the first term is ${term}`);
      for (const label of ["second", "third"]) {
        await value(store.close(key, term));
        const opened = await value(store.open(key, sample.holder(label), []));
        assert.ok(opened.term > term, `term ${opened.term} after ${term}`);
        term = opened.term;
        const { record } = opened;
        assert.deepEqual([record.term, record.holder], [term, sample.holder(label)]);
      }
      for (const old of [writer.term, term - 1, term + 1, 0, -1, Number.NaN, 1.5]) {
        for (const change of [{ events: events(1, 1) }, { snapshot: writer.snapshotOf(0) }, {}]) {
          const act = () => writer.commit({ ...change, journal: [sample.entry("never")] }, old);
          await leavesNoTrace(store, ACME, act, "writer_lost");
        }
      }
      await value(writer.commit({ events: events(1, 1) }, term));
    },
  ),

  inSession("J2: whoever has closed a session cannot write to it", async (writer, store) => {
    await value(writer.append(1));
    await value(writer.close());
    assert.equal((await value(store.readRecord(writer.key))).holder, null);
    const act = () => writer.commit({ events: events(2, 1) });
    await leavesNoTrace(store, ACME, act, "writer_lost");
    const { term, replaced } = await value(store.open(writer.key, sample.holder(), []));
    assert.equal(replaced, null);
    await leavesNoTrace(store, ACME, act, "writer_lost");
    await value(writer.commit({ events: events(2, 1) }, term));
  }),

  inSession(
    "J3: a close that comes late takes nothing from the next owner",
    async (writer, store) => {
      await value(writer.close());
      const { term } = await value(store.open(writer.key, sample.holder("next"), []));
      await unchanged(store, ACME, async () => {
        for (const old of [writer.term, term + 1, 0]) await value(store.close(writer.key, old));
      });
      await refused(store.open(writer.key, sample.holder("third"), []), "session_locked");
      await value(writer.commit({ events: events(1, 1) }, term));
    },
  ),

  inSession(
    "J4: a write that comes after a deletion is refused, and revives nothing",
    async (writer, store) => {
      await value(writer.append(2));
      await value(store.delete(writer.key, sample.holder(), [sample.entry("deleted")]));
      for (const change of [{ events: events(3, 1) }, { events: events(1, 1) }]) {
        const act = () => writer.commit({ ...change, journal: [sample.entry("never")] });
        const lost = ["session_not_found", "writer_lost"] as const;
        await leavesNoTrace(store, ACME, act, ...lost);
      }
      await value(writer.close());
      await refused(store.readRecord(writer.key), "session_not_found");
      await refused(store.delete(writer.key, sample.holder(), []), "session_not_found");
    },
  ),

  inSession(
    "J5: a session made again under a deleted one's id is out of its old owner's reach",
    async (old, store, stage) => {
      await value(old.append(1));
      await value(
        old.snapshot({
          messages: [sample.message("old")],
          slots: [sample.slot("core", "old")],
          turn: sample.turn(1, 1),
        }),
      );
      await value(store.delete(old.key, sample.holder(), []));
      const young = await stage.session(store, "s-1", { epoch: "epoch-2" });
      const { record, events: log, turns, messages, slots } = await sessionState(store, old.key);
      assert.deepEqual([log, turns, messages, slots], [[], [], [], []]);
      assert.deepEqual([record.epoch, record.revision, record.lastEventId], ["epoch-2", 0, 0]);
      const act = () => old.commit({ events: events(1, 1) });
      await leavesNoTrace(store, ACME, act, "writer_lost");
      await value(old.close());
      await value(young.commit({ events: events(1, 1) }));
    },
  ),

  inSession(
    "J6: a deletion ends the ownership of a session that is open",
    async (writer, store) => {
      const [before, deleted, late] = await Promise.all([
        writer.commit({ events: events(1, 1) }),
        store.delete(writer.key, sample.holder(), []),
        writer.commit({ events: events(2, 1) }),
      ]);
      assert.deepEqual([before.ok, deleted.ok, late.ok], [true, true, false]);
      if (!late.ok) assert.match(late.refusal.code, /^(?:session_not_found|writer_lost)$/);
    },
  ),

  inStore(
    "J7: a holder that is provably gone is replaced, named, and fenced off",
    async (store, stage) => {
      const gone = sample.goneHolder();
      const writer = await stage.session(store, "s-1", { holder: gone });
      await value(writer.append(1));
      const { term, replaced } = await value(store.open(writer.key, sample.holder("next"), []));
      assert.deepEqual(replaced, gone);
      assert.ok(term > writer.term);
      const act = () => writer.commit({ events: events(2, 1) });
      await leavesNoTrace(store, ACME, act, "writer_lost");
      await value(writer.commit({ events: events(2, 1) }, term));
    },
  ),

  inStore("J8: a holder of which nothing can be proved is never replaced", async (store, stage) => {
    const writer = await stage.session(store, "s-1", { holder: sample.remoteHolder() });
    const act = () => store.open(writer.key, sample.holder(), []);
    const { details } = await leavesNoTrace(store, ACME, act, "session_locked");
    assert.match(`${details.holder}`, /remote.*another-machine\.example/);
  }),

  check(
    "J9: the terms of a session rise through restarts",
    async (stage) => {
      let store = await stage.start();
      const { key, term: first } = await stage.session(store);
      const terms = [first];
      for (const label of ["second", "third"]) {
        store = await stage.restart(store);
        const { term } = await value(store.open(key, sample.holder(label), []));
        await value(store.close(key, term));
        terms.push(term);
      }
      assert.ok(
        terms.every((term, index) => term > (terms[index - 1] ?? 0)),
        `${terms}`,
      );
      const act = () => store.commit(key, first, sample.commit({ events: events(1, 1) }));
      await leavesNoTrace(store, ACME, act, "writer_lost");
    },
    forgetful,
  ),

  inStore("J10: the owner of one session is nobody in another", async (store, stage) => {
    const one = await stage.session(store, "one");
    const two = await stage.session(store, "two");
    await value(one.close());
    const { term } = await value(store.open(one.key, sample.holder(), []));
    const commit = sample.commit({ events: events(1, 1) });
    await refused(store.commit(two.key, term, commit), "writer_lost");
    await refused(store.commit(keyOf("three"), term, commit), "session_not_found");
    await value(store.commit(one.key, term, commit));
    assert.deepEqual(await allEvents(store, two.key), []);
  }),

  inSession("J11: whoever does not say who it is gets nothing", async ({ key, term }, store) => {
    await value(store.close(key, term));
    const faults = [{ pid: "1" }, { pid: Number.NaN }, { label: 7 }, { host: null }, { more: 1 }];
    const wrong = faults.map((fault) => ({ ...sample.holder(), ...fault }) as unknown as Holder);
    const other = keyOf("s-2");
    const session = sample.newSession(sample.manifest(other, store.contract.storeId));
    for (const holder of [...wrong, null as never]) {
      const open = () => store.open(key, holder, []);
      await leavesNoTrace(store, ACME, open, "invalid_store_input");
      const create = () => store.create(other, { ...session, holder });
      await leavesNoTrace(store, ACME, create, "invalid_store_input");
    }
    for (const epoch of ["", "x".repeat(513), 7 as never]) {
      const create = () => store.create(other, { ...session, epoch });
      await leavesNoTrace(store, ACME, create, "invalid_store_input");
    }
  }),

  inSession(
    "J12: a lost writer changes nothing, whichever part of a commit it brings alone",
    async (writer, store) => {
      const { term } = await value(store.open(writer.key, sample.holder(), []));
      const record = sample.record({ status: "running", closed: true, pendingPrompts: 1 });
      const parts = [
        { events: events(1, 1) },
        { afterEventId: 0, record },
        { afterEventId: 0, journal: [sample.entry("never")] },
        { afterEventId: 0, snapshot: writer.snapshotOf(0) },
        { afterEventId: 0 },
      ];
      for (const old of [writer.term, term + 1]) {
        for (const part of parts) {
          await leavesNoTrace(store, ACME, () => writer.commit(part, old), "writer_lost");
        }
      }
      await value(store.close(writer.key, term));
      for (const part of parts) {
        await leavesNoTrace(store, ACME, () => writer.commit(part, term), "writer_lost");
      }
    },
  ),
];
