import assert from "node:assert/strict";
import { type Check, check } from "./check.ts";
import { leavesNoTrace, refused, sessionState, tenantState, value } from "./expect.ts";
import * as sample from "./sample.ts";

const { slot, events } = sample;

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
export const TEXT: readonly Check[] = [
  check(
    "24: texts of messages, events, turns and journals come back to the character",
    async (stage) => {
      const store = await stage.start();
      const writer = await stage.session(store);
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

  check(
    "24: half a character, which no encoding can carry, is refused wherever it is",
    async (stage) => {
      const store = await stage.start();
      const writer = await stage.session(store);
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
