import assert from "node:assert/strict";
import type { SessionStore } from "../store.ts";
import { allEvents, leavesNoTrace, refused, sessionState, value } from "./expect.ts";
import { check, forgetful, inSession, inStore, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { events, message, slot } from "./sample.ts";
import type { Writer } from "./stage.ts";

const WRITERS = 32;

/** F. Many hands. Other processes are tried by the crash runner. */
export const ISOLATION: readonly StoreCheck[] = [
  inSession(
    "51: of many snapshots based on one revision one is taken, whole",
    async (writer, store) => {
      const hands = Array.from({ length: WRITERS }, (_, index) => index);
      const results = await Promise.all(
        hands.map((hand) => writer.commit(handCommit(writer, hand))),
      );
      const taken = hands.filter((hand) => results[hand]?.ok);
      assert.equal(taken.length, 1, `${taken.length} were acknowledged`);
      for (const result of results) {
        if (!result.ok) assert.match(result.refusal.code, /^(?:stale_revision|event_gap)$/);
      }
      const {
        record,
        messages,
        slots,
        manifest,
        events: log,
      } = await sessionState(store, writer.key);
      const [hand] = taken;
      assert.deepEqual([record.revision, record.lastEventId], [1, 1]);
      assert.deepEqual(messages, [{ id: 1, text: message(`hand ${hand}`) }]);
      assert.deepEqual(
        slots.map(({ owner }) => owner),
        [`hand ${hand}`],
      );
      assert.deepEqual(log, [sample.event(1, `hand ${hand}`)]);
      assert.equal(manifest.updatedAt, hand);
    },
  ),

  inSession(
    "51: commits made without waiting for each other are written in their order",
    async (writer, store) => {
      const pending = Array.from({ length: 200 }, (_, index) =>
        writer.commit({ events: events(index * 3 + 1, 3) }),
      );
      const committed = await Promise.all(pending.map((one) => value(one)));
      assert.deepEqual(
        committed.map(({ lastEventId }) => lastEventId),
        Array.from({ length: 200 }, (_, index) => index * 3 + 3),
      );
      assert.deepEqual(await allEvents(store, writer.key), events(1, 600));
    },
  ),

  inStore(
    "51: one session's refusal does not touch what others commit at the same moment",
    async (store, stage) => {
      const good = await sessions(store, "good", stage.session.bind(stage));
      const bad = await sessions(store, "bad", stage.session.bind(stage));
      await value(store.appendJournal(sample.ACME, [sample.entry("taken")]));
      const before = await Promise.all(bad.map(({ key }) => sessionState(store, key)));
      const pending = good.flatMap((writer, index) => [
        badCommit(bad[index], index),
        writer.commit({
          events: events(1, 1),
          journal: [sample.entry(`good ${index}`)],
          snapshot: writer.snapshotOf(0, { messages: [message("good")] }),
        }),
      ]);
      const results = await Promise.all(pending);
      for (const [index, result] of results.entries()) assert.equal(result.ok, index % 2 === 1);
      for (const { key } of good) {
        const { record, messages } = await sessionState(store, key);
        assert.deepEqual([record.revision, record.lastEventId, messages.length], [1, 1, 1]);
      }
      const after = await Promise.all(bad.map(({ key }) => sessionState(store, key)));
      assert.deepEqual(after, before);
      const journal = await value(
        store.readJournal(sample.ACME, { journal: "audit", after: 0, limit: 100 }),
      );
      assert.deepEqual(
        journal.rows.map(({ key }) => key),
        ["taken", ...good.map((_, index) => `good ${index}`)],
      );
    },
  ),

  inStore(
    "52: a second writer is refused at once, and told who the first one is",
    async (store, stage) => {
      const { key, term } = await stage.session(store, "s-1", { holder: sample.holder("first") });
      for (const label of ["second", "third"]) {
        const act = () => store.open(key, sample.holder(label), [sample.entry("never")]);
        const { details } = await leavesNoTrace(store, sample.ACME, act, "session_locked");
        assert.match(`${details.holder}`, new RegExp(`first.*${process.pid}`));
      }
      const events = sample.events(1, 1);
      await value(store.commit(key, term, sample.commit({ events })));
    },
  ),

  inSession(
    "52: of many that open one session at once, one gets it",
    async ({ key, term }, store) => {
      await value(store.close(key, term));
      const labels = Array.from({ length: WRITERS }, (_, index) => `opener ${index}`);
      const results = await Promise.all(
        labels.map((label) => store.open(key, sample.holder(label), [])),
      );
      const winners = labels.filter((_, index) => results[index]?.ok);
      assert.equal(winners.length, 1);
      for (const result of results) {
        if (result.ok) continue;
        assert.equal(result.refusal.code, "session_locked");
        assert.match(`${result.refusal.details.holder}`, new RegExp(`^${winners[0]} `));
      }
      const record = await value(store.readRecord(key));
      assert.deepEqual([record.term, record.holder?.label], [term + 1, winners[0]]);
    },
  ),

  inStore("52: of many that make one session at once, one has made it", async (store) => {
    const key = sample.keyOf("s-1");
    const manifest = sample.manifest(key, store.contract.storeId);
    const hands = Array.from({ length: WRITERS }, (_, index) => index);
    const results = await Promise.all(
      hands.map((hand) =>
        store.create(
          key,
          sample.newSession(manifest, {
            holder: sample.holder(`hand ${hand}`),
            epoch: `epoch-${hand}`,
          }),
        ),
      ),
    );
    const makers = hands.filter((hand) => results[hand]?.ok);
    const told = `${makers.length} of ${WRITERS} were told that they have made it`;
    assert.equal(makers.length, 1, told);
    for (const result of results) {
      if (!result.ok) assert.equal(result.refusal.code, "session_id_conflict");
    }
    const [maker = 0] = makers;
    const made = results[maker];
    const { epoch, holder, term } = await value(store.readRecord(key));
    assert.deepEqual([epoch, holder?.label], [`epoch-${maker}`, `hand ${maker}`]);
    assert.equal(made?.ok && made.value.term, term);
  }),

  check(
    "52: a second instance over the same place is refused what the first one holds",
    async (stage) => {
      const first = await stage.start();
      const writer = await stage.session(first, "s-1", { holder: sample.holder("first") });
      const second = await stage.start();
      const act = () => second.open(writer.key, sample.holder("second"), []);
      const { details } = await refused(act(), "session_locked");
      assert.match(`${details.holder}`, /first/);
      await value(writer.append(1));
      await value(writer.close());
      const opened = await value(act());
      assert.equal(opened.record.lastEventId, 1);
      await refused(writer.commit({ events: events(2, 1) }), "writer_lost");
      await value(second.commit(writer.key, opened.term, sample.commit({ events: events(2, 1) })));
      assert.deepEqual(await allEvents(first, writer.key), events(1, 2));
    },
    forgetful,
  ),

  inSession(
    "56: a snapshot based on another revision is refused, and both are named",
    async (writer, store) => {
      await value(writer.snapshot({}));
      await value(writer.snapshot({}));
      for (const expected of [0, 1, 3, -1, 1.5, Number.NaN]) {
        const act = () =>
          writer.commit({ events: events(1, 1), snapshot: writer.snapshotOf(expected) });
        const { details } = await leavesNoTrace(
          store,
          sample.ACME,
          act,
          "stale_revision",
          ...(Number.isSafeInteger(expected) ? [] : (["invalid_store_input"] as const)),
        );
        if (expected === 1) assert.deepEqual(details, { revision: 2, expected: 1 });
      }
      await value(writer.commit({ events: events(1, 1), snapshot: writer.snapshotOf(2) }));
    },
  ),
];

function handCommit(writer: Writer, hand: number) {
  return {
    events: [sample.event(1, `hand ${hand}`)],
    snapshot: sample.snapshot(writer.manifest({ updatedAt: hand }), 0, {
      messages: [message(`hand ${hand}`)],
      slots: [slot(`hand ${hand}`, "x")],
    }),
  };
}

async function sessions(
  store: SessionStore,
  name: string,
  make: (store: SessionStore, id: string) => Promise<Writer>,
): Promise<readonly Writer[]> {
  const writers: Writer[] = [];
  for (let index = 0; index < WRITERS; index += 1) {
    writers.push(await make(store, `${name}-${index}`));
  }
  return writers;
}

/** A commit that is refused, each time for another reason. */
function badCommit(writer: Writer | undefined, index: number) {
  assert.ok(writer);
  const good = { events: events(1, 1), journal: [sample.entry(`bad ${index}`)] };
  const taken = [sample.entry(`bad ${index}`), sample.entry("taken", { text: "other" })];
  const faults = [
    () => writer.commit(good, writer.term + 1),
    () => writer.commit({ ...good, events: events(2, 1) }),
    () => writer.commit({ ...good, snapshot: writer.snapshotOf(1) }),
    () => writer.commit({ ...good, journal: taken }),
    () => writer.commit({ ...good, snapshot: writer.snapshotOf(0, { slots: [slot("", "x")] }) }),
    () => writer.commit({ ...good, snapshot: writer.snapshotOf(0, { turn: sample.turn(1, 9) }) }),
    () => writer.commit({ ...good, snapshot: writer.snapshotOf(0, { trimThrough: Number.NaN }) }),
  ];
  return (faults[index % faults.length] ?? assert.fail())();
}
