import assert from "node:assert/strict";
import {
  allEvents,
  allTurns,
  leavesNoTrace,
  refused,
  sessionState,
  tenantState,
  value,
} from "./expect.ts";
import { inSession, inStore, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { ACME, events, slot, turn } from "./sample.ts";
import type { Writer } from "./stage.ts";

/** K. The log: numbers without gaps, trimmed only where a snapshot has it. */
export const LOG: readonly StoreCheck[] = [
  inSession(
    "K1: event ids begin at 1 and have no gap; what does not continue is refused",
    async (writer, store) => {
      await refusesGaps(writer, [0, 2, 3, -1, 1.5, Number.NaN]);
      await value(writer.commit({ events: events(1, 2) }));
      await refusesGaps(writer, [1, 2, 4]);
      const { details } = await refused(writer.commit({ events: events(7, 1) }), "event_gap");
      assert.deepEqual(details, { id: 7, expected: 3 });
      assert.deepEqual(await value(writer.commit({ events: events(3, 2) })), {
        revision: 0,
        lastEventId: 4,
      });
      assert.deepEqual(await allEvents(store, writer.key), events(1, 4));
    },
  ),

  inStore(
    "K2: events are read in pages after an id, each page with where the log stands",
    async (store, stage) => {
      const writer = await stage.session(store, "s-1", { epoch: "epoch-7" });
      await value(writer.append(10));
      const at = { epoch: "epoch-7", earliestEventId: 1, lastEventId: 10 };
      const read = (after: number, limit: number) =>
        value(store.readEvents(writer.key, { after, limit }));
      assert.deepEqual(await read(0, 3), { events: events(1, 3), ...at });
      assert.deepEqual(await read(3, 4), { events: events(4, 4), ...at });
      assert.deepEqual(await read(7, 100), { events: events(8, 3), ...at });
      assert.deepEqual(await read(10, 100), { events: [], ...at });
      assert.deepEqual(await read(11, 100), { events: [], ...at });
      assert.deepEqual(await allEvents(store, writer.key, 3), events(1, 10));
    },
  ),

  inSession(
    "K3: a page of events, messages or turns is never larger than the largest",
    async (writer, store) => {
      await value(writer.append(1_001));
      for (const limit of [1_001, Number.MAX_SAFE_INTEGER]) {
        const page = await value(store.readEvents(writer.key, { after: 0, limit }));
        assert.equal(page.events.length, 1_000);
      }
      assert.equal((await allEvents(store, writer.key)).length, 1_001);
    },
  ),

  inSession("K4: a place that cannot be in a log is refused", async ({ key }, store) => {
    for (const place of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "0", null]) {
      const after = place as number;
      const range = { after, limit: 10 };
      await refused(store.readEvents(key, range), "invalid_store_input");
      await refused(store.readMessages(key, range), "invalid_store_input");
      await refused(store.readTurns(key, { before: after, limit: 10 }), "invalid_store_input");
      const query = { journal: "audit", ...range } as const;
      await refused(store.readJournal(ACME, query), "invalid_store_input");
    }
  }),

  inSession("K5: trimming takes raw events and leaves their numbers", async (writer, store) => {
    await value(writer.append(6));
    await value(writer.snapshot({ trimThrough: 4 }));
    const page = await value(store.readEvents(writer.key, { after: 0, limit: 100 }));
    assert.deepEqual(page, {
      events: events(5, 2),
      epoch: "epoch-1",
      earliestEventId: 5,
      lastEventId: 6,
    });
    assert.deepEqual(
      (await value(store.readEvents(writer.key, { after: 5, limit: 100 }))).events,
      events(6, 1),
    );
    const record = await value(store.readRecord(writer.key));
    assert.deepEqual([record.earliestEventId, record.lastEventId], [5, 6]);
    await refusesGaps(writer, [1, 5, 6]);
    await value(writer.commit({ events: events(7, 1) }));
    assert.deepEqual(await allEvents(store, writer.key), events(5, 3));
  }),

  inSession(
    "K6: trimming never passes the snapshot that has the events in it",
    async (writer, store) => {
      await value(writer.append(2));
      await value(writer.snapshot({ trimThrough: 100 }, { events: events(3, 1) }));
      const record = await value(store.readRecord(writer.key));
      assert.deepEqual(
        [record.earliestEventId, record.lastEventId, record.snapshotEventId],
        [4, 3, 3],
      );
      await value(writer.append(5));
      assert.deepEqual(await allEvents(store, writer.key), events(4, 5));
      const { earliestEventId } = await value(store.readRecord(writer.key));
      assert.equal(earliestEventId, 4);
    },
  ),

  inSession(
    "K7: what was trimmed does not come back, and a smaller trim takes nothing",
    async (writer, store) => {
      await value(writer.append(4));
      await value(writer.snapshot({ trimThrough: 3 }));
      await value(writer.snapshot({ trimThrough: 1 }));
      await value(writer.snapshot({ trimThrough: 0 }));
      assert.deepEqual(await allEvents(store, writer.key), events(4, 1));
      const record = await value(store.readRecord(writer.key));
      assert.deepEqual([record.earliestEventId, record.lastEventId], [4, 4]);
      await value(writer.commit({ events: events(5, 1) }));
      for (const trimThrough of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        const act = () => writer.snapshot({ trimThrough });
        await leavesNoTrace(store, ACME, act, "invalid_store_input");
      }
    },
  ),

  inSession(
    "K8: folded turns are read backwards, in pages, and outlive their raw events",
    async (writer, store) => {
      for (const first of [1, 3, 5, 7]) {
        const change = { turn: turn(first, first + 1), trimThrough: Math.max(0, first - 1) };
        await value(writer.snapshot(change, { events: events(first, 2) }));
      }
      const read = (before: number, limit: number) =>
        value(store.readTurns(writer.key, { before, limit }));
      assert.deepEqual(await read(100, 2), { rows: [turn(7, 8), turn(5, 6)], more: true });
      assert.deepEqual(await read(5, 2), { rows: [turn(3, 4), turn(1, 2)], more: false });
      assert.deepEqual(await read(8, 1), { rows: [turn(5, 6)], more: true });
      assert.deepEqual(await read(2, 9), { rows: [], more: false });
      const all = [turn(7, 8), turn(5, 6), turn(3, 4), turn(1, 2)];
      assert.deepEqual(await allTurns(store, writer.key, 1), all);
      assert.deepEqual(await allEvents(store, writer.key), events(7, 2));
    },
  ),

  inSession(
    "K9: a turn that is not of the events since the last snapshot is refused",
    async (writer, store) => {
      await value(writer.snapshot({ turn: turn(1, 2) }, { events: events(1, 2) }));
      const wrong = [
        [1, 2],
        [2, 2],
        [3, 5],
        [4, 3],
        [0, 3],
        [1.5, 3],
        [3, Number.NaN],
      ] as const;
      for (const [first, last] of wrong) {
        const act = () => writer.snapshot({ turn: turn(first, last) }, { events: events(3, 2) });
        await leavesNoTrace(store, ACME, act, "invalid_store_input");
      }
      await value(writer.snapshot({ turn: turn(3, 4) }, { events: events(3, 2) }));
    },
  ),

  inSession(
    "K10: a commit may change nothing but the record, or nothing at all",
    async (writer, store) => {
      const before = await sessionState(store, writer.key);
      assert.deepEqual(await value(writer.commit({})), { revision: 0, lastEventId: 0 });
      assert.deepEqual(await sessionState(store, writer.key), before);
      const record = sample.record({
        workspaceCwd: "/elsewhere",
        status: "running",
        displayName: "ein Name 𝄐",
        parentSessionId: sample.sessionId("parent"),
        sourceType: "github",
        sourceId: "42",
        closed: true,
        shared: true,
        pendingPrompts: 3,
        updatedAtMs: 12,
      });
      await value(writer.commit({ record }));
      const after = { ...before, record: { ...before.record, ...record } };
      assert.deepEqual(await sessionState(store, writer.key), after);
    },
  ),

  inSession("K11: a record that is none is refused", async (writer, store) => {
    const faults: readonly Readonly<Record<string, unknown>>[] = [
      { status: "sleeping" },
      { status: undefined },
      { workspaceCwd: 7 },
      { displayName: 7 },
      { displayName: undefined },
      { updatedAtMs: Number.NaN },
      { updatedAtMs: 1.5 },
      { updatedAtMs: "1" },
      { parentSessionId: "../.." },
      { sourceType: {} },
      { sourceId: 1 },
      { closed: 1 },
      { closed: undefined },
      { shared: "true" },
      { pendingPrompts: -1 },
      { pendingPrompts: 1.5 },
      { pendingPrompts: "1" },
    ];
    for (const fault of faults) {
      const record = { ...sample.record(), ...fault } as ReturnType<typeof sample.record>;
      const act = () => writer.commit({ events: events(1, 1), record });
      await leavesNoTrace(store, ACME, act, "invalid_store_input");
    }
  }),

  inSession(
    "K12: turns are counted, also when their events are gone",
    async (writer, store, stage) => {
      const counted = async () => (await value(store.readRecord(writer.key))).turnCount;
      assert.equal(await counted(), 0);
      for (const id of [1, 2, 3]) {
        const change = { turn: turn(id, id), trimThrough: id };
        await value(writer.snapshot(change, { events: events(id, 1) }));
        assert.equal(await counted(), id);
        await value(writer.snapshot({ messages: [sample.message("no turn")] }));
        assert.equal(await counted(), id);
      }
      const [listed] = (await value(store.list(ACME, {}, { limit: 1, cursor: null }))).sessions;
      assert.equal(listed?.turnCount, 3);
      await value(writer.close());
      const next = stage.harness.persists ? await stage.restart(store) : store;
      const { record } = await value(next.open(writer.key, sample.holder(), []));
      assert.deepEqual([record.turnCount, record.messageCount], [3, 3]);
    },
  ),
];

/** What cannot be an id at all may be called so instead. */
async function refusesGaps({ store, key, term }: Writer, firsts: readonly number[]) {
  for (const first of firsts) {
    const log = [sample.event(first)];
    const act = () => store.commit(key, term, sample.commit({ events: log }));
    const isId = Number.isSafeInteger(first) && first >= 1;
    const faults = isId ? [] : (["invalid_store_input"] as const);
    await leavesNoTrace(store, ACME, act, "event_gap", ...faults);
  }
}

/** Texts that a store might be tempted to understand, trim, normalise or cut. */
const TEXTS: readonly string[] = [
  '{"role":"user","content":""}',
  '{"b":1,"a":2}',
  '{"n":9007199254740991,"huge":123456789012345678901234567890,"e":1e400}',
  '{"a":1,"a":2}',
  ' {"spaces" : "kept" }\n',
  '{"escaped":"\\ud800 half, \\u0000 nothing"}',
  '"raw \u0000 NUL, \u0001, \u007f, \u2028, \ufeff, \uffff"',
  '"e\u0301 is not \u00e9"',
  '"𝄐 🏳️‍🌈 ﷽ 漢字 עברית"',
  '{"__proto__":{"polluted":true},"constructor":{"prototype":{}}}',
  "'; DROP TABLE sessions; --",
  `[${"[".repeat(5_000)}${"]".repeat(5_000)}]`,
  `"${"long".repeat(25_000)}"`,
  "not JSON at all",
  "",
];

const HALF = "half a character: \ud800";

/** C, continued. Texts come back to the character, or are refused. */
export const TEXT: readonly StoreCheck[] = [
  inSession(
    "24: texts of messages, events, turns and journals come back to the character",
    async (writer, store) => {
      const log = TEXTS.map((text, index) => sample.event(index + 1, text));
      const journal = TEXTS.map((text, index) => sample.entry(`k${index}`, { text }));
      const turn = { firstId: 1, lastId: log.length, text: TEXTS.join("") };
      await value(
        writer.commit({
          events: log,
          journal,
          snapshot: writer.snapshotOf(0, { messages: TEXTS, turn }),
        }),
      );
      const { key } = writer;
      const state = await sessionState(store, key);
      assert.deepEqual(
        state.messages.map(({ text }) => text),
        TEXTS,
      );
      assert.deepEqual(state.events, log);
      assert.deepEqual(state.turns, [turn]);
      const { audit } = await tenantState(store, key.tenantId);
      assert.deepEqual(
        audit.map(({ text }) => text),
        TEXTS,
      );
    },
  ),

  inSession(
    "24: half a character, which no encoding can carry, is refused wherever it is",
    async (writer, store) => {
      const { key, term } = writer;
      const snapshots = [
        { messages: [HALF] },
        { turn: { firstId: 1, lastId: 1, text: HALF } },
        { slots: [slot(HALF, "x")] },
        { slots: [slot("core", "x", HALF)] },
        { removedSlots: [HALF] },
        { manifest: writer.manifest({ projectRoot: `/${HALF}` }) },
        { manifest: writer.manifest({ smState: { smExtId: HALF, stateSlotRef: "x" } }) },
      ];
      const commits = [
        { events: [sample.event(1, HALF)] },
        { journal: [sample.entry("a", { text: HALF })] },
        { journal: [sample.entry(HALF)] },
        { record: sample.record({ displayName: HALF }) },
        { record: sample.record({ workspaceCwd: HALF }) },
        { record: sample.record({ sourceId: HALF }) },
        ...snapshots.map((change) => ({
          events: events(1, 1),
          snapshot: writer.snapshotOf(0, change),
        })),
      ];
      for (const change of commits) {
        const act = () => store.commit(key, term, sample.commit(change));
        await leavesNoTrace(store, key.tenantId, act, "invalid_store_input", "invalid_manifest");
      }
      const audit = [sample.entry("a", { text: HALF })];
      await refused(store.appendJournal(key.tenantId, audit), "invalid_store_input");
      await refused(store.delete(key, sample.holder(), audit), "invalid_store_input");
      assert.deepEqual(await value(store.readRecord(key)).then(({ term: now }) => now), term);
    },
  ),
];
