import assert from "node:assert/strict";
import { SLOT_BYTES_MAX } from "../../core/limits.ts";
import type { Slot, StoredRecord } from "../store.ts";
import { allEvents, leavesNoTrace, refused, sessionState, value, wholeSlots } from "./expect.ts";
import {
  cannot,
  check,
  forgetful,
  inSession,
  type StoreCheck,
  whenFalse,
  whenTrue,
} from "./harness.ts";
import * as sample from "./sample.ts";
import { events, message, slot } from "./sample.ts";
import type { Writer } from "./stage.ts";

/** G. What a store declares is true, and what it does not declare it does not do. */
export const CAPABILITY: readonly StoreCheck[] = [
  inSession(
    "57: events appended between snapshots are there in order when it is opened again",
    async (writer, store, stage) => {
      await value(writer.commit({ events: events(1, 2), snapshot: writer.snapshotOf(0) }));
      for (const first of [3, 4, 6]) {
        await value(writer.commit({ events: events(first, first === 4 ? 2 : 1) }));
      }
      await value(writer.close());
      const next = stage.harness.persists ? await stage.restart(store) : store;
      const { record } = await value(next.open(writer.key, sample.holder(), []));
      assert.deepEqual([record.snapshotEventId, record.lastEventId], [2, 6]);
      const page = await value(next.readEvents(writer.key, { after: 2, limit: 100 }));
      assert.deepEqual(page.events, events(3, 4));
    },
    whenFalse("journaling"),
  ),

  inSession(
    "58: a last record that was cut short ends the log at the one before",
    async (writer, store, stage) => {
      await value(writer.commit({ events: events(1, 2), snapshot: writer.snapshotOf(0) }));
      await value(writer.append(1));
      await value(writer.append(1));
      await value(writer.close());
      await value(store.dispose());
      await stage.world("tearLastRecord")(stage.place);
      const next = await stage.start();
      const opened = await value(next.open(writer.key, sample.holder(), []));
      assert.deepEqual(await allEvents(next, writer.key), events(1, 3));
      const further = sample.commit({ events: events(4, 1) });
      await value(next.commit(writer.key, opened.term, further));
    },
    whenFalse("journaling"),
    forgetful,
    cannot("tearLastRecord"),
  ),

  inSession(
    "60: opening twice gives the same as opening once",
    async (writer, store, stage) => {
      await value(writer.commit({ events: events(1, 2), snapshot: writer.snapshotOf(0) }));
      await value(writer.append(3));
      await value(writer.close());
      const views = [];
      let current = store;
      for (const label of ["once", "twice"]) {
        if (stage.harness.persists) current = await stage.restart(current);
        const { term } = await value(current.open(writer.key, sample.holder(label), []));
        const { record, ...rest } = await sessionState(current, writer.key);
        views.push({ ...rest, lastEventId: record.lastEventId, revision: record.revision });
        await value(current.close(writer.key, term));
      }
      assert.deepEqual(views[1], views[0]);
      assert.deepEqual(views[0]?.events, events(1, 5));
    },
    whenFalse("journaling"),
  ),

  inSession(
    "61: events of a turn without its snapshot add nothing to the conversation",
    async (writer, store, stage) => {
      const slots = [slot("core", "whole turns only")];
      const messages = [message("a whole turn")];
      await value(
        writer.snapshot(
          { messages, slots, turn: sample.turn(1, 2) },
          {
            events: events(1, 2),
          },
        ),
      );
      const whole = await sessionState(store, writer.key);
      await value(writer.append(5));
      await value(writer.close());
      const next = stage.harness.persists ? await stage.restart(store) : store;
      const opened = await value(next.open(writer.key, sample.holder(), []));
      const state = await sessionState(next, writer.key);
      assert.deepEqual(state.messages, whole.messages);
      assert.deepEqual(state.slots, whole.slots);
      assert.deepEqual(state.turns, whole.turns);
      assert.deepEqual(opened.manifest, whole.manifest);
      const { revision, snapshotEventId, messageCount } = opened.record;
      assert.deepEqual([revision, snapshotEventId, messageCount], [1, 2, 1]);
    },
    whenFalse("journaling"),
  ),

  inSession(
    "62: events without a snapshot are refused",
    async (writer, store) => {
      const act = () => writer.commit({ events: events(1, 1) });
      await leavesNoTrace(store, sample.ACME, act, "invalid_store_input");
      await value(writer.commit({ events: events(1, 1), snapshot: writer.snapshotOf(0) }));
    },
    whenTrue("journaling"),
  ),

  inSession(
    "63: a commit of exactly the limit is taken, and of one byte more is not",
    async (writer, store) => {
      const limit = store.contract.capabilities.snapshotBytesLimit;
      const slotsOf = slicer(limit + 1);
      const over = await refused(
        writer.snapshot({ slots: slotsOf(limit + 1) }),
        "snapshot_too_large",
      );
      assert.equal(over.details.limit, limit);
      // How much of a commit is not payload is the store's to say; what fits must follow from it.
      const rest = Number(over.details.bytes) - (limit + 1);
      const commit = (bytes: number) => ({
        events: events(1, 1),
        journal: [sample.entry("full")],
        snapshot: writer.snapshotOf(0, { slots: slotsOf(bytes) }),
      });
      const probe = await refused(writer.commit(commit(limit + 1)), "snapshot_too_large");
      assert.ok(rest >= 0 && Number(probe.details.bytes) > limit + 1 + rest, "texts weigh nothing");
      const fitting = limit - (Number(probe.details.bytes) - (limit + 1));
      const act = () => writer.commit(commit(fitting + 1));
      const { details } = await leavesNoTrace(store, sample.ACME, act, "snapshot_too_large");
      assert.deepEqual(details, { bytes: limit + 1, limit });
      assert.deepEqual(await value(writer.commit(commit(fitting))), {
        revision: 1,
        lastEventId: 1,
      });
      const stored = await wholeSlots(store, writer.key);
      assert.equal(
        stored.reduce((sum, { payload }) => sum + payload.byteLength, 0),
        fitting,
      );
    },
  ),

  inSession(
    "63: a slot of exactly the limit is taken, and of one byte more is not",
    async (writer, store) => {
      const large = slot("large", new Uint8Array(SLOT_BYTES_MAX + 1).fill(7));
      const act = () => writer.snapshot({ messages: [message("never")], slots: [large] });
      const { details } = await leavesNoTrace(store, sample.ACME, act, "snapshot_too_large");
      assert.deepEqual(details, {
        slot: "large",
        bytes: SLOT_BYTES_MAX + 1,
        limit: SLOT_BYTES_MAX,
      });
      const whole = slot("large", new Uint8Array(SLOT_BYTES_MAX).fill(7));
      await value(writer.snapshot({ slots: [whole] }));
      const [stored] = await wholeSlots(store, writer.key);
      assert.ok(stored && Buffer.from(whole.payload).equals(stored.payload));
    },
    ({ contract }) =>
      contract.capabilities.snapshotBytesLimit > SLOT_BYTES_MAX + 4_096
        ? null
        : "snapshotBytesLimit is below the limit of a slot",
  ),

  inSession("64: a slot of 100 MB is refused, and so is a stream of one", async (writer, store) => {
    const huge = slot("huge", new Uint8Array(100 * 1_024 * 1_024));
    const act = () => writer.snapshot({ messages: [message("never")], slots: [huge] });
    await leavesNoTrace(store, sample.ACME, act, "snapshot_too_large");
    for (const payload of [new Blob(["x"]).stream(), ["x"].values(), "x", [120], null]) {
      const streamed = { ...slot("streamed", "x"), payload } as unknown as Slot;
      const attempt = () => writer.snapshot({ slots: [streamed] });
      await leavesNoTrace(store, sample.ACME, attempt, "invalid_store_input");
    }
  }),

  check(
    "65: it declares no streams, of which this version of the contract has none",
    async (stage) => {
      assert.equal(stage.store().contract.capabilities.largeSlotStreaming, false);
    },
  ),

  inSession(
    "66: whoever reads during writes sees whole commits, and never waits",
    async (writer, store) => {
      await readWhileWriting(writer, store);
    },
    whenFalse("concurrentReaders"),
  ),

  check(
    "66: another instance that reads during writes sees whole commits",
    async (stage) => {
      const writer = await stage.session(await stage.start());
      await readWhileWriting(writer, await stage.start());
    },
    whenFalse("concurrentReaders"),
    forgetful,
  ),

  check(
    "66: reads from elsewhere are refused while there is an owner",
    async (stage) => {
      const writer = await stage.session(await stage.start());
      const other = await stage.start();
      await refused(other.readRecord(writer.key), "session_locked");
      await value(writer.close());
      await value(other.readRecord(writer.key));
    },
    whenTrue("concurrentReaders"),
    forgetful,
  ),
];

/**
 * Payloads of so many bytes in all, in slots that are each within their own limit. There are
 * always as many of them, so that the number of payload bytes alone decides the weight.
 */
function slicer(bytesMax: number) {
  const parts = Array.from({ length: Math.ceil(bytesMax / SLOT_BYTES_MAX) }, (_, part) => part);
  return (bytes: number): readonly Slot[] =>
    parts.map((part) => {
      const left = Math.max(0, bytes - part * SLOT_BYTES_MAX);
      return slot(`part-${part + 10}`, new Uint8Array(Math.min(left, SLOT_BYTES_MAX)).fill(part));
    });
}

const TURNS = 60;

/** One hand commits turns of two events and one message; the other looks all the time. */
async function readWhileWriting(writer: Writer, reader: Writer["store"]) {
  let writing = true;
  const seen: StoredRecord[] = [];
  const reading = async () => {
    while (writing) seen.push(await look(writer, reader));
  };
  const done = write(writer).finally(() => {
    writing = false;
  });
  // Both have to have ended before the store under them is taken away.
  for (const outcome of await Promise.allSettled([reading(), done])) {
    if (outcome.status === "rejected") throw outcome.reason;
  }
  const revisions = seen.map(({ revision }) => revision);
  assert.deepEqual(
    revisions,
    [...revisions].sort((a, b) => a - b),
    "a revision went back",
  );
  assert.equal((await look(writer, reader)).revision, TURNS);
}

async function look({ key }: Writer, reader: Writer["store"]): Promise<StoredRecord> {
  const record = await value(reader.readRecord(key));
  isWhole(record);
  const page = await value(reader.readEvents(key, { after: 0, limit: 1_000 }));
  assert.deepEqual(page.events, events(1, page.lastEventId), "a page and its end differ");
  assert.equal(page.lastEventId % 2, 0, "half a commit was seen");
  assert.ok(page.lastEventId >= record.lastEventId, "what was seen is gone");
  return record;
}

async function write(writer: Writer) {
  for (let turn = 0; turn < TURNS; turn += 1) {
    const manifest = writer.manifest({ updatedAt: turn + 1 });
    const messages = [message(`turn ${turn + 1}`)];
    const slots = [slot("core", `turn ${turn + 1}`)];
    const snapshot = sample.snapshot(manifest, turn, { messages, slots });
    const record = sample.record({ displayName: `turn ${turn + 1}` });
    await value(writer.commit({ events: events(turn * 2 + 1, 2), snapshot, record }));
  }
}

function isWhole({
  revision,
  lastEventId,
  snapshotEventId,
  messageCount,
  displayName,
}: StoredRecord) {
  const name = revision === 0 ? null : `turn ${revision}`;
  assert.deepEqual(
    [lastEventId, snapshotEventId, messageCount, displayName],
    [revision * 2, revision * 2, revision, name],
  );
}
