import assert from "node:assert/strict";
import { allEvents, entryKeys, leavesNoTrace, refused, unchanged, value } from "./expect.ts";
import { check, forgetful, inSession, inStore, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { ACME, entry, events } from "./sample.ts";
import type { Writer } from "./stage.ts";

/** P. The holder of a session may open it again; the operator may take it from another. */
export const REOPENING: readonly StoreCheck[] = [
  inSession(
    "P1: its holder may open a session again, and its older term is good for nothing",
    async (writer, store) => {
      await value(writer.append(1));
      const { key } = writer;
      const opened = await value(store.open(key, sample.holder(), [entry("again")]));
      assert.ok(opened.term > writer.term, `term ${opened.term} after ${writer.term}`);
      assert.deepEqual(opened.replaced, sample.holder());
      assert.deepEqual(opened.record, await value(store.readRecord(key)));
      assert.deepEqual(await entryKeys(store, ACME), ["again"]);
      await isFenced(writer);
      await value(writer.commit({ events: events(2, 1) }, opened.term));
      assert.deepEqual(await allEvents(store, key), events(1, 2));
    },
  ),

  inSession(
    "P2: what is on its way when its holder opens a session again is in before, or not at all",
    async (writer, store) => {
      const open = () => store.open(writer.key, sample.holder(), []);
      await fencesWhatIsOnItsWay(writer, open);
    },
  ),

  inSession(
    "P3: a holder that differs in anything is another one, and gets nothing",
    async ({ key }, store) => {
      const own = sample.holder();
      const others = [
        { label: "other" },
        { pid: own.pid + 1 },
        { startedAt: `${own.startedAt}0` },
        { host: "another-machine.example" },
        { bootId: "another" },
      ];
      for (const change of others) {
        const act = () => store.open(key, { ...own, ...change }, [entry("never")]);
        await leavesNoTrace(store, ACME, act, "session_locked");
      }
    },
  ),

  inStore(
    "P4: a holder of which nothing can be proved may open its own again",
    async (store, stage) => {
      for (const holder of [sample.remoteHolder(), sample.goneHolder()]) {
        const writer = await stage.session(store, holder.label, { holder });
        const { term, replaced } = await value(store.open(writer.key, holder, []));
        assert.deepEqual(replaced, holder);
        await isFenced(writer);
        await value(writer.commit({ events: events(1, 1) }, term));
      }
    },
  ),

  check(
    "P5: one holder at two instances has the session where it opened it last",
    async (stage) => {
      const first = await stage.start();
      const writer = await stage.session(first);
      await value(writer.append(1));
      const second = await stage.start();
      const { term } = await value(second.open(writer.key, sample.holder(), []));
      await isFenced(writer);
      await value(second.commit(writer.key, term, sample.commit({ events: events(2, 1) })));
      // The first one gives up in good order what it believes to be its own.
      await value(first.dispose());
      assert.equal((await value(second.readRecord(writer.key))).holder?.label, "kit");
      await value(second.commit(writer.key, term, sample.commit({ events: events(3, 1) })));
    },
    forgetful,
  ),

  inStore(
    "P6: a session is seized from whoever has it, who is named and fenced off",
    async (store, stage) => {
      for (const holder of [sample.remoteHolder(), sample.holder("living"), sample.goneHolder()]) {
        const writer = await stage.session(store, holder.label, { holder });
        await value(writer.append(1));
        const seizing = store.seize(writer.key, sample.holder("next"), [entry(holder.label)]);
        const { term, replaced, record } = await value(seizing);
        assert.deepEqual([replaced, record.holder], [holder, sample.holder("next")]);
        assert.ok(term > writer.term, `term ${term} after ${writer.term}`);
        await isFenced(writer);
        await refused(store.open(writer.key, holder, []), "session_locked");
        await value(writer.commit({ events: events(2, 1) }, term));
      }
      assert.deepEqual(await entryKeys(store, ACME), ["remote", "living", "gone"]);
    },
  ),

  inStore("P7: nothing is seized without an entry in the audit", async (store, stage) => {
    const writer = await stage.session(store, "s-1", { holder: sample.remoteHolder() });
    for (const audit of [[], [entry("paid", { journal: "ledger" })]]) {
      const act = () => store.seize(writer.key, sample.holder(), audit);
      await leavesNoTrace(store, ACME, act, "invalid_store_input");
    }
    await value(writer.append(1));
  }),

  inSession(
    "P8: what nobody holds can be seized too, and nobody was replaced",
    async (writer, store) => {
      await value(writer.close());
      const { replaced } = await value(store.seize(writer.key, sample.holder(), [entry("seized")]));
      assert.equal(replaced, null);
    },
  ),

  inStore(
    "P9: what is on its way when a session is seized is in before, or not at all",
    async (store, stage) => {
      const writer = await stage.session(store, "s-1", { holder: sample.remoteHolder() });
      const seize = () => store.seize(writer.key, sample.holder("next"), [entry("seized")]);
      await fencesWhatIsOnItsWay(writer, seize);
    },
  ),

  inSession(
    "P10: behind a refused commit none is taken, with or without events",
    async (writer, store) => {
      await value(store.appendJournal(ACME, [entry("taken")]));
      const conflict = [entry("taken", { text: "another text" })];
      const record = sample.record({ displayName: "never" });
      const pipelined = [
        writer.commit({ events: events(1, 1) }),
        writer.commit({ events: events(2, 1), journal: conflict }),
        writer.commit({ afterEventId: 2 }),
        writer.commit({ afterEventId: 2, record }),
        writer.commit({ afterEventId: 2, journal: [entry("never")] }),
        writer.commit({ afterEventId: 2, snapshot: writer.snapshotOf(0) }),
        writer.commit({ events: events(3, 1) }),
      ];
      const [first, second, ...behind] = await Promise.all(pipelined);
      assert.equal(first?.ok, true);
      assert.equal(second?.ok, false);
      for (const result of behind) {
        assert.deepEqual(!result.ok && result.refusal.details, { id: 3, expected: 2 });
        assert.equal(!result.ok && result.refusal.code, "event_gap");
      }
      const stored = await value(store.readRecord(writer.key));
      assert.deepEqual([stored.lastEventId, stored.revision, stored.displayName], [1, 0, null]);
      assert.deepEqual(await entryKeys(store, ACME), ["taken"]);
      await value(writer.commit({ afterEventId: 1, record }));
    },
  ),
];

/** Nothing that a writer does under its term has any effect, and its close takes nothing. */
async function isFenced(writer: Writer) {
  const { store, key, term } = writer;
  const { lastEventId, revision } = await value(store.readRecord(key));
  const journal = [entry("never")];
  const commits = [
    { events: events(lastEventId + 1, 1) },
    { afterEventId: lastEventId },
    { afterEventId: lastEventId, snapshot: writer.snapshotOf(revision) },
  ];
  for (const change of commits) {
    await leavesNoTrace(store, ACME, () => writer.commit({ ...change, journal }), "writer_lost");
  }
  const cut = { lastEventId, epoch: "never", audit: journal };
  await leavesNoTrace(store, ACME, () => store.cutLog(key, term, cut), "writer_lost");
  await unchanged(store, ACME, () => value(writer.close()));
}

/** Writes on both sides of an opening, none of which waits for another. */
async function fencesWhatIsOnItsWay(
  writer: Writer,
  open: () => ReturnType<Writer["store"]["open"]>,
) {
  // All are waited for together, so that one that rejects is not left alone with it.
  const [before, opening, after] = await Promise.all([
    Promise.all([1, 2, 3].map((id) => writer.commit({ events: events(id, 1) }))),
    open(),
    Promise.all([
      ...[4, 5].map((id) => writer.commit({ events: events(id, 1) })),
      ...[3, 4, 5].map((afterEventId) => writer.commit({ afterEventId })),
    ]),
  ]);
  const { term, record } = await value(Promise.resolve(opening));
  const taken = before.filter(({ ok }) => ok).length;
  assert.equal(record.lastEventId, taken, "what was opened is not what was acknowledged");
  for (const late of after) await refused(Promise.resolve(late), "writer_lost");
  assert.deepEqual(await allEvents(writer.store, writer.key), events(1, taken));
  await isFenced(writer);
  await value(writer.commit({ events: events(taken + 1, 1) }, term));
}
