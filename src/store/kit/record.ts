import assert from "node:assert/strict";
import type { SessionRecord, SessionStore } from "../store.ts";
import { allListed, listedIds, value } from "./expect.ts";
import { inSession, inStore, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { ACME, CREATED_AT_MS, events, keyOf } from "./sample.ts";
import { Writer } from "./stage.ts";

/**
 * Each time of a session differs from the others, so that a store that takes one for another is
 * found out.
 */
const TIMES = { created: CREATED_AT_MS, manifest: CREATED_AT_MS + 100, record: CREATED_AT_MS + 7 };

/** V. The record of a session: the row of lists, its own times, and what a commit is answered. */
export const RECORD: readonly StoreCheck[] = [
  inStore(
    "V1: after any commit the list has the record as it is, and filters find it by that",
    async (store) => {
      const writer = await timedSession(store);
      await isListedAsRead(writer);
      const running = timedRecord({ status: "running", pendingPrompts: 2 });
      await value(writer.commit({ afterEventId: 0, record: running }));
      await isListedAsRead(writer);
      assert.deepEqual(await listedIds(store, ACME, { statuses: ["running"] }), ["s-1"]);
      assert.deepEqual(await listedIds(store, ACME, { statuses: ["inactive"] }), []);
      assert.deepEqual(await listedIds(store, ACME, { hasPendingPrompts: true }), ["s-1"]);
      await value(writer.append(2));
      await isListedAsRead(writer);
      await value(writer.snapshot({ manifest: timedManifest(writer) }));
      await isListedAsRead(writer);
      const closed = timedRecord({ closed: true, displayName: "renamed" });
      await value(writer.commit({ afterEventId: 2, record: closed }));
      await isListedAsRead(writer);
      assert.deepEqual(await listedIds(store, ACME, { closed: true }), ["s-1"]);
      assert.deepEqual(await listedIds(store, ACME, { text: "renamed" }), ["s-1"]);
      await value(writer.close());
      await isListedAsRead(writer);
    },
  ),

  inStore("V2: the times of a record are its own, whatever the manifest's are", async (store) => {
    const writer = await timedSession(store);
    await hasTimes(writer, TIMES.record);
    for (const [revision, updatedAtMs] of [TIMES.record + 1, TIMES.record - 1].entries()) {
      const snapshot = sample.snapshot(timedManifest(writer), revision);
      await value(
        writer.commit({ afterEventId: 0, record: timedRecord({ updatedAtMs }), snapshot }),
      );
      await hasTimes(writer, updatedAtMs);
    }
    await value(writer.snapshot({ manifest: timedManifest(writer) }));
    await hasTimes(writer, TIMES.record - 1);
    assert.equal((await value(store.readManifest(writer.key))).updatedAt, TIMES.manifest);
  }),

  inSession(
    "V3: every commit is answered with where the log ends, also one without events",
    async (writer, store) => {
      const last = async (change: sample.CommitChange) =>
        (await value(writer.commit(change))).lastEventId;
      const answers = [
        await last({ events: events(1, 3) }),
        await last({ afterEventId: 3 }),
        await last({ afterEventId: 3, record: sample.record({ displayName: "a" }) }),
        await last({ afterEventId: 3, journal: [sample.entry("a")] }),
        await last({ afterEventId: 3, snapshot: writer.snapshotOf(0, { trimThrough: 3 }) }),
        await last({ afterEventId: 3 }),
      ];
      const lastEventId = answers.find((answer) => answer !== 3) ?? 3;
      assert.equal(lastEventId, 3, `a commit was answered with the lastEventId ${lastEventId}`);
      assert.equal((await value(store.readRecord(writer.key))).lastEventId, 3);
    },
  ),
];

function timedRecord(change: Partial<SessionRecord> = {}): SessionRecord {
  return sample.record({ updatedAtMs: TIMES.record, ...change });
}

function timedManifest(writer: Writer) {
  return writer.manifest({ createdAt: TIMES.created, updatedAt: TIMES.manifest });
}

async function timedSession(store: SessionStore): Promise<Writer> {
  const key = keyOf("s-1");
  const times = { createdAt: TIMES.created, updatedAt: TIMES.manifest };
  const manifest = sample.manifest(key, store.contract.storeId, times);
  const made = sample.newSession(manifest, { record: timedRecord() });
  const { term } = await value(store.create(key, made));
  return new Writer(store, key, term);
}

async function isListedAsRead({ store, key }: Writer) {
  assert.deepEqual(await allListed(store, ACME), [await value(store.readRecord(key))]);
}

async function hasTimes({ store, key }: Writer, updatedAtMs: number) {
  const read = await value(store.readRecord(key));
  for (const record of [read, ...(await allListed(store, ACME))]) {
    const { createdAtMs, updatedAtMs: updated } = record;
    const expected = { createdAtMs: TIMES.created, updatedAtMs };
    assert.deepEqual({ createdAtMs, updatedAtMs: updated }, expected);
  }
}
