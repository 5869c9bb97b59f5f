import assert from "node:assert/strict";
import type { StoredText } from "../store.ts";
import {
  allEvents,
  entryKeys,
  leavesNoTrace,
  refused,
  sessionState,
  unchanged,
  value,
} from "./expect.ts";
import { check, forgetful, inSession, inStore, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { ACME, entry, event, events, message, slot, turn } from "./sample.ts";
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

/** R. A log that cannot go on gets a new identity, and perhaps an earlier end. */
export const CUT: readonly StoreCheck[] = [
  inSession("R1: events written in one commit are cut in their middle", async (writer) => {
    const texts = ["", "𝄐", "b\0c", "", "ein Öl", "x".repeat(70_000), "z", "漢字", ""];
    const log = texts.map((text, index) => event(index + 1, text));
    await value(writer.commit({ events: log }));
    for (const lastEventId of [8, 6, 5, 3, 1]) {
      await value(cut(writer, lastEventId));
      await endsAt(writer, log.slice(0, lastEventId), `epoch of ${lastEventId}`);
    }
    const more = [event(2, "new"), event(3, "newer")];
    assert.equal((await value(writer.commit({ events: more }))).lastEventId, 3);
    await endsAt(writer, [event(1, ""), ...more], "epoch of 1");
  }),

  inSession(
    "R2: a log is cut between two commits, and goes on from there",
    async (writer, store) => {
      for (const first of [1, 3, 5]) await value(writer.commit({ events: events(first, 2) }));
      await value(cut(writer, 4, [entry("cut")]));
      await endsAt(writer, events(1, 4), "epoch of 4");
      assert.deepEqual(await entryKeys(store, ACME), ["cut"]);
      await refused(writer.commit({ events: events(7, 1) }), "event_gap");
      await refused(writer.commit({ afterEventId: 6 }), "event_gap");
      const other = [event(5, "another fifth")];
      await value(writer.commit({ events: other }));
      await endsAt(writer, [...events(1, 4), ...other], "epoch of 4");
    },
  ),

  inSession("R3: a cut at the end takes no event, and still renews the epoch", async (writer) => {
    await value(cut(writer, 0));
    await endsAt(writer, [], "epoch of 0");
    await value(writer.append(3));
    await value(cut(writer, 3));
    await endsAt(writer, events(1, 3), "epoch of 3");
  }),

  inSession(
    "R4: a cut changes nothing of the snapshot, nor of who owns it",
    async (writer, store) => {
      const full = { messages: [message("a")], slots: [slot("core", "x")], turn: turn(1, 2) };
      await value(writer.snapshot(full, { events: events(1, 2) }));
      const before = await sessionState(store, writer.key);
      await value(writer.append(3));
      await value(cut(writer, 2));
      const record = { ...before.record, epoch: "epoch of 2" };
      assert.deepEqual(await sessionState(store, writer.key), { ...before, record });
      assert.deepEqual(await value(writer.append(1)), { revision: 1, lastEventId: 3 });
    },
  ),

  inSession("R5: no cut goes behind the last snapshot, or past the end", async (writer, store) => {
    await value(writer.snapshot({}, { events: events(1, 3) }));
    await value(writer.append(3));
    for (const lastEventId of [0, 2, 7, 100, -1, 3.5, Number.NaN, "4" as never, null as never]) {
      const act = () => cut(writer, lastEventId, [entry("never")]);
      await leavesNoTrace(store, ACME, act, "invalid_store_input");
    }
    for (const epoch of ["", "x".repeat(513), "half \ud800", 7 as never, undefined as never]) {
      const change = { lastEventId: 4, epoch, audit: [] };
      const act = () => store.cutLog(writer.key, writer.term, change);
      await leavesNoTrace(store, ACME, act, "invalid_store_input");
    }
    await value(cut(writer, 3));
  }),

  inSession("R6: only its owner cuts a log", async (writer, store) => {
    await value(writer.append(3));
    const change = { lastEventId: 1, epoch: "never", audit: [entry("never")] };
    for (const term of [writer.term + 1, writer.term - 1, 0, Number.NaN]) {
      const act = () => store.cutLog(writer.key, term, change);
      await leavesNoTrace(store, ACME, act, "writer_lost");
    }
    await value(writer.close());
    const act = () => store.cutLog(writer.key, writer.term, change);
    await leavesNoTrace(store, ACME, act, "writer_lost");
  }),

  inSession("R7: a log that was trimmed is cut like any other", async (writer) => {
    await value(writer.append(6));
    await value(writer.snapshot({ trimThrough: 4 }));
    await value(writer.append(3));
    await value(cut(writer, 7));
    await endsAt(writer, events(5, 3), "epoch of 7");
    await value(cut(writer, 6));
    await endsAt(writer, events(5, 2), "epoch of 6");
    await value(writer.snapshot({ trimThrough: 6 }));
    await value(cut(writer, 6));
    await endsAt(writer, [], "epoch of 6");
    await value(writer.commit({ events: events(7, 1) }));
    await endsAt(writer, events(7, 1), "epoch of 6");
  }),

  inSession("R8: a cut has its place among commits that do not wait for it", async (writer) => {
    const results = await Promise.all([
      writer.commit({ events: events(1, 5) }),
      cut(writer, 3),
      writer.commit({ events: events(6, 1) }),
      writer.commit({ events: [event(4, "another"), event(5, "and one more")] }),
      cut(writer, 4),
      writer.commit({ events: events(5, 2) }),
    ]);
    assert.deepEqual(
      results.map(({ ok }) => ok),
      [true, true, false, true, true, true],
    );
    await endsAt(writer, [...events(1, 3), event(4, "another"), ...events(5, 2)], "epoch of 4");
  }),

  inSession(
    "R9: what was cut stays cut through a restart",
    async (writer, store, stage) => {
      await value(writer.append(9));
      await value(cut(writer, 4));
      await value(writer.commit({ events: [event(5, "another")] }));
      await value(writer.close());
      const before = await sessionState(store, writer.key);
      const next = await stage.restart(store);
      assert.deepEqual(await sessionState(next, writer.key), before);
      assert.deepEqual(before.events, [...events(1, 4), event(5, "another")]);
      const { term, record } = await value(next.open(writer.key, sample.holder(), []));
      assert.deepEqual([record.epoch, record.lastEventId], ["epoch of 4", 5]);
      await value(next.commit(writer.key, term, sample.commit({ events: events(6, 1) })));
    },
    forgetful,
  ),
];

function cut({ store, key, term }: Writer, lastEventId: number, audit = [entry("cut")]) {
  return store.cutLog(key, term, { lastEventId, epoch: `epoch of ${lastEventId}`, audit });
}

/** The log has these events and no others, by every way of asking. */
async function endsAt({ store, key }: Writer, log: readonly StoredText[], epoch: string) {
  assert.deepEqual(await allEvents(store, key), log);
  assert.deepEqual(await allEvents(store, key, 1), log);
  const record = await value(store.readRecord(key));
  const page = await value(store.readEvents(key, { after: 0, limit: 1_000 }));
  const { earliestEventId } = page;
  const lastEventId = earliestEventId + log.length - 1;
  assert.deepEqual(page, { events: log, epoch, earliestEventId, lastEventId });
  assert.equal(log[0]?.id ?? earliestEventId, earliestEventId);
  const { epoch: own, lastEventId: end, earliestEventId: first } = record;
  assert.deepEqual([own, first, end], [epoch, earliestEventId, lastEventId]);
}
