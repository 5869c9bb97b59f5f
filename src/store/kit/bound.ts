import assert from "node:assert/strict";
import {
  RECORD_TEXT_CHARS_MAX,
  SLOT_BYTES_MAX,
  SLOTS_BYTES_MAX,
  STORE_BYTES_WAITING_MAX,
  STORE_ROW_BYTES,
} from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { JournalQuery, SessionStore } from "../store.ts";
import { type Check, check } from "./check.ts";
import { allEvents, entryKeys, leavesNoTrace, refused, value, wholeSlots } from "./expect.ts";
import * as sample from "./sample.ts";
import type { Writer } from "./stage.ts";

const { ACME, entry, event, slot } = sample;

/** T. What has no bound by itself is bounded in sum, and what is no question has no answer. */
export const BOUND: readonly Check[] = [
  check("T1: all slots together are bounded, those of earlier snapshots too", async (stage) => {
    const store = await stage.start();
    const writer = await stage.session(store);
    const revision = await fillSlots(writer);
    const act = () => writer.snapshot({ slots: [slot("one more", "x")] });
    const { details } = await refused(act(), "snapshot_too_large");
    assert.deepEqual(details, { bytes: SLOTS_BYTES_MAX + 1, limit: SLOTS_BYTES_MAX });
    assert.equal((await value(store.readRecord(writer.key))).revision, revision);
    // What goes makes room, and so does what shrinks.
    await value(writer.snapshot({ slots: [slot("one more", "x")], removedSlots: ["slot 0"] }));
    await value(writer.snapshot({ slots: [slot("slot 1", "")] }));
    await value(writer.snapshot({ slots: [slot("another", "x")] }));
    const owners = (await wholeSlots(store, writer.key)).map(({ owner }) => owner);
    assert.deepEqual([owners.includes("slot 0"), owners.includes("another")], [false, true]);
  }),

  check("T2: what is empty weighs something, too", async (stage) => {
    const store = await stage.start();
    const writer = await stage.session(store);
    const limit = store.contract.capabilities.snapshotBytesLimit;
    const empty = Array.from({ length: Math.floor(limit / STORE_ROW_BYTES) + 1 }, () => "");
    const { key, term } = writer;
    const heavy: readonly (() => Promise<Result<unknown>>)[] = [
      () => store.commit(key, term, { afterEventId: 0, events: empty, journal: [] }),
      () => writer.snapshot({ messages: empty }),
      () =>
        store.appendJournal(
          ACME,
          empty.map((text, index) => entry(`${index}`, { text })),
        ),
    ];
    for (const act of heavy) await leavesNoTrace(store, ACME, act, "snapshot_too_large");
  }),

  check("T3: thousands of empty events come back, each under its number", async (stage) => {
    const store = await stage.start();
    const writer = await stage.session(store);
    const log = Array.from({ length: 2_500 }, (_, index) => event(index + 1, ""));
    await value(writer.commit({ events: log }));
    assert.deepEqual(await allEvents(store, writer.key), log);
    const page = await value(store.readEvents(writer.key, { after: 2_400, limit: 3 }));
    assert.deepEqual(page.events, log.slice(2_400, 2_403));
  }),

  check("T4: texts of records, holders and filters are short", async (stage) => {
    const store = await stage.start();
    const writer = await stage.session(store);
    const longest = "x".repeat(RECORD_TEXT_CHARS_MAX);
    for (const field of ["workspaceCwd", "displayName", "sourceType", "sourceId"] as const) {
      const long = { record: sample.record({ [field]: `${longest}x` }) };
      await leavesNoTrace(store, ACME, () => writer.commit(long), "invalid_store_input");
      const record = sample.record({ [field]: longest });
      await value(writer.commit({ record }));
      assert.equal((await value(store.readRecord(writer.key)))[field], longest);
    }
    for (const field of ["host", "bootId", "startedAt", "label"] as const) {
      const holder = { ...sample.holder(), [field]: `${longest}x` };
      const act = () => store.open(writer.key, holder, []);
      await leavesNoTrace(store, ACME, act, "invalid_store_input");
    }
    for (const field of ["workspaceCwd", "sourceType", "sourceId", "text"] as const) {
      const listed = store.list(ACME, { [field]: `${longest}x` }, { limit: 9, cursor: null });
      await refused(listed, "invalid_store_input");
    }
  }),

  check("T5: journals that there are not cannot be read", async (stage) => {
    const store = await stage.start();
    await value(store.appendJournal(ACME, [entry("a")]));
    const faults: readonly Readonly<Record<string, unknown>>[] = [
      { journal: "diary" },
      { journal: "" },
      { journal: "__proto__" },
      { journal: undefined },
      { journal: ["audit"] },
      { key: "" },
      { key: "x".repeat(513) },
      { key: 7 },
      { sessionId: "../.." },
      { sessionId: null },
    ];
    for (const fault of faults) {
      const query = { journal: "audit", after: 0, limit: 9, ...fault } as unknown as JournalQuery;
      await refused(store.readJournal(ACME, query), "invalid_store_input");
    }
  }),

  check("T6: documents are asked for by names", async (stage) => {
    const store = await stage.start();
    for (const name of ["", "x".repeat(513), "half \ud800", 7, undefined, {}] as never[]) {
      await refused(store.readDocument(ACME, name, "a"), "invalid_store_input");
      await refused(store.readDocument(ACME, "token", name), "invalid_store_input");
      await refused(store.listDocuments(ACME, name, null), "invalid_store_input");
      if (name === undefined) continue;
      await refused(store.listDocuments(ACME, "token", name), "invalid_store_input");
    }
  }),

  check(
    "T7: when too much waits to be written, more is refused, and nothing else",
    async (stage) => {
      const store = await stage.start();
      const limit = store.contract.capabilities.snapshotBytesLimit;
      const text = "x".repeat(limit - 1_024);
      // The same entry every time, so that it is only the waiting that takes room.
      const calls = Math.ceil(STORE_BYTES_WAITING_MAX / text.length) + 2;
      const results = await Promise.all(
        Array.from({ length: calls }, () => store.appendJournal(ACME, [entry("a", { text })])),
      );
      const refusals = results.filter((result) => !result.ok);
      assert.ok(refusals.length > 0, "there is no end to what may wait");
      assert.ok(refusals.length < calls / 2, `${refusals.length} of ${calls} were refused`);
      for (const { refusal } of refusals) assert.equal(refusal.code, "store_unavailable");
      await value(store.appendJournal(ACME, [entry("b", { text })]));
      assert.deepEqual(await entryKeys(store, ACME), ["a", "b"]);
    },
  ),
];

/** Slots that are together exactly as large as they may be; the answer is the last revision. */
async function fillSlots(writer: Writer): Promise<number> {
  const part = Math.min(SLOT_BYTES_MAX, fitting(writer.store));
  let revision = 0;
  for (let filled = 0; filled < SLOTS_BYTES_MAX; filled += part) {
    const payload = new Uint8Array(Math.min(part, SLOTS_BYTES_MAX - filled));
    const slots = [slot(`slot ${revision}`, payload)];
    ({ revision } = await value(writer.snapshot({ slots })));
  }
  return revision;
}

const fitting = ({ contract }: SessionStore) => contract.capabilities.snapshotBytesLimit - 4_096;
