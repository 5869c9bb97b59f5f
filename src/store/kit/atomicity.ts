import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import type { ErrorCode, Refusal } from "../../core/error.ts";
import { SLOT_BYTES_MAX, SLOTS_MAX } from "../../core/limits.ts";
import type { NewSession, SessionStore } from "../store.ts";
import {
  entryKeys,
  leavesNoTrace,
  listedIds,
  refused,
  sessionState,
  tenantState,
  value,
} from "./expect.ts";
import { cannot, forgetful, inSession, inStore, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { events, keyOf, message, slot } from "./sample.ts";
import type { Writer } from "./stage.ts";

/** E. All or nothing, and once it is said to be there, there. What needs a crash is elsewhere. */
export const ATOMICITY: readonly StoreCheck[] = [
  inSession(
    "43: events, messages, slots, turn, record and journal of a commit appear together",
    async (writer, store) => {
      const { key } = writer;
      for (const revision of [1, 2, 3]) {
        const committed = await value(writer.commit(wholeCommit(writer, revision)));
        assert.deepEqual(committed, { revision, lastEventId: revision * 2 });
        await isWhole(writer, revision);
      }
      await value(writer.close());
      const opened = await value(store.open(key, sample.holder(), []));
      assert.equal(opened.record.revision, 3);
      assert.equal(opened.manifest.updatedAt, sample.CREATED_AT_MS + 3);
      assert.deepEqual(
        opened.slots.map(({ version }) => version),
        ["3.0.0"],
      );
    },
  ),

  inSession(
    "43: a commit that is refused for any one reason leaves no part of itself",
    async (writer, store) => {
      await value(writer.commit(wholeCommit(writer, 1)));
      const good = wholeCommit(writer, 2);
      for (const { code, change, term } of faultyCommits(good)) {
        const act = () => writer.commit({ ...good, ...change }, term ?? writer.term);
        await leavesNoTrace(store, sample.ACME, act, code);
      }
      await value(writer.commit(good));
      await isWhole(writer, 2);
    },
  ),

  inStore("43: a session whose first commit is refused was never made", async (store) => {
    const key = keyOf("s-1");
    await value(store.appendJournal(key.tenantId, [sample.entry("taken")]));
    const good = sample.newSession(sample.manifest(key, store.contract.storeId));
    for (const { code, commit } of faultyBeginnings(good)) {
      const act = () => store.create(key, { ...good, commit });
      await leavesNoTrace(store, key.tenantId, act, code);
      await refused(store.readRecord(key), "session_not_found");
    }
    await value(store.create(key, good));
  }),

  inSession(
    "43: making a session that is there already changes neither it nor the journal",
    async (writer, store) => {
      await value(writer.append(1));
      const again = sample.newSession(writer.manifest(), {
        epoch: "another",
        commit: sample.commit({ events: events(1, 3), journal: [sample.entry("made again")] }),
      });
      const act = () => store.create(writer.key, again);
      await leavesNoTrace(store, sample.ACME, act, "session_id_conflict");
      assert.deepEqual(await value(writer.append(1)), { revision: 0, lastEventId: 2 });
    },
  ),

  inStore(
    "43: the first commit of a session may be a snapshot, with all that it holds",
    async (store) => {
      const key = keyOf("s-1");
      const manifest = sample.manifest(key, store.contract.storeId, { updatedAt: 7 });
      const snapshot = sample.snapshot(manifest, 0, {
        messages: [message("first")],
        slots: [slot("core", "x")],
      });
      const journal = [sample.entry("made")];
      const commit = sample.commit({ events: events(1, 2), journal, snapshot });
      const owned = await value(store.create(key, sample.newSession(manifest, { commit })));
      assert.equal(owned.revision, 1);
      const { record, messages, events: log } = await sessionState(store, key);
      assert.deepEqual([record.revision, record.lastEventId, record.snapshotEventId], [1, 2, 2]);
      assert.deepEqual(messages, [{ id: 1, text: message("first") }]);
      assert.deepEqual(log, events(1, 2));
      assert.deepEqual(await entryKeys(store, sample.ACME), ["made"]);
    },
  ),

  inSession(
    "46: a full disk refuses with a type, and what was there stays",
    async (writer, store, stage) => {
      await value(writer.commit(wholeCommit(writer, 1)));
      const before = await tenantState(store, sample.ACME);
      const undo = await stage.world("fillUp")(stage.place);
      try {
        const refusal = await untilFull(store);
        assert.equal(refusal.code, "store_unavailable");
        assert.notEqual(refusal.details.reason ?? "", "");
        const after = await tenantState(store, sample.ACME);
        assert.deepEqual({ ...after, audit: after.audit.slice(0, before.audit.length) }, before);
      } finally {
        await undo();
      }
      await value(writer.commit(wholeCommit(writer, 2)));
      assert.equal((await value(store.readRecord(writer.key))).revision, 2);
    },
    cannot("fillUp"),
  ),

  inSession(
    "47: what a crash left lying about is not seen, and is cleared away",
    async (writer, store, stage) => {
      await value(writer.commit(wholeCommit(writer, 1)));
      await value(writer.close());
      const before = await sessionState(store, writer.key);
      await value(store.dispose());
      const left = await stage.world("leaveTemporary")(stage.place);
      const next = await stage.start();
      assert.deepEqual(await sessionState(next, writer.key), before);
      assert.deepEqual(await listedIds(next, sample.ACME), ["s-1"]);
      await value(next.open(writer.key, sample.holder(), []));
      assert.deepEqual(left.filter(existsSync), [], "what was left is there still");
    },
    forgetful,
    cannot("leaveTemporary"),
  ),
];

const FILLINGS_MAX = 4_096;

/** Writes until nothing fits any more; what was taken must be whole. */
async function untilFull(store: SessionStore): Promise<Refusal> {
  const text = "x".repeat(Math.min(1_000_000, store.contract.capabilities.snapshotBytesLimit / 2));
  for (let filled = 0; filled < FILLINGS_MAX; filled += 1) {
    const entries = [sample.entry(`a ${filled}`, { text }), sample.entry(`b ${filled}`)];
    const result = await store.appendJournal(sample.ACME, entries);
    if (result.ok) continue;
    const keys = await entryKeys(store, sample.ACME);
    if (filled > 0) assert.deepEqual(keys.slice(-2), [`a ${filled - 1}`, `b ${filled - 1}`]);
    return result.refusal;
  }
  return assert.fail("the place is never full");
}

/** A commit with something of everything, numbered so that a mixture would show. */
function wholeCommit(writer: Writer, revision: number) {
  const first = revision * 2 - 1;
  const updatedAt = sample.CREATED_AT_MS + revision;
  return {
    events: events(first, 2),
    journal: [sample.entry(`turn ${revision}`)],
    record: sample.record({ displayName: `turn ${revision}`, updatedAtMs: updatedAt }),
    snapshot: sample.snapshot(writer.manifest({ updatedAt }), revision - 1, {
      messages: [message(`turn ${revision}`)],
      slots: [slot("core", `turn ${revision}`, `${revision}.0.0`)],
      turn: sample.turn(first, first + 1),
    }),
  };
}

async function isWhole({ store, key }: Writer, revision: number) {
  const { record, manifest, messages, slots, turns, events: log } = await sessionState(store, key);
  assert.equal(record.revision, revision);
  assert.deepEqual([record.lastEventId, record.snapshotEventId], [revision * 2, revision * 2]);
  assert.equal(record.messageCount, revision);
  assert.equal(record.displayName, `turn ${revision}`);
  assert.equal(record.updatedAtMs, sample.CREATED_AT_MS + revision);
  assert.equal(manifest.updatedAt, sample.CREATED_AT_MS + revision);
  assert.deepEqual(
    slots.map(({ version }) => version),
    [`${revision}.0.0`],
  );
  assert.equal(messages.at(-1)?.text, message(`turn ${revision}`));
  assert.equal(messages.length, revision);
  assert.deepEqual(turns[0], sample.turn(revision * 2 - 1, revision * 2));
  assert.deepEqual(log, events(1, revision * 2));
  const keys = await entryKeys(store, key.tenantId);
  assert.equal(keys.at(-1), `turn ${revision}`);
}

interface Faulty {
  readonly code: ErrorCode;
  readonly change: sample.CommitChange;
  readonly term?: number;
}

/** One good commit with one fault each, so that even the last check comes in time. */
function faultyCommits({ snapshot }: ReturnType<typeof wholeCommit>): readonly Faulty[] {
  const withSlots = (slots: typeof snapshot.slots) => ({ snapshot: { ...snapshot, slots } });
  const many = Array.from({ length: SLOTS_MAX + 1 }, (_, index) => slot(`o${index}`, "x"));
  const large = slot("large", new Uint8Array(SLOT_BYTES_MAX + 1));
  return [
    { code: "writer_lost", change: {}, term: 99 },
    { code: "event_gap", change: { events: events(4, 1) } },
    { code: "event_gap", change: { events: [], afterEventId: 3 } },
    { code: "stale_revision", change: { snapshot: { ...snapshot, expectedRevision: 0 } } },
    { code: "stale_revision", change: { snapshot: { ...snapshot, expectedRevision: 2 } } },
    { code: "snapshot_too_large", change: withSlots([large]) },
    { code: "invalid_store_input", change: withSlots(many) },
    { code: "invalid_store_input", change: withSlots([slot("", "nobody's")]) },
    { code: "invalid_store_input", change: withSlots([slot("core", "x", "")]) },
    { code: "invalid_store_input", change: { journal: [sample.entry("")] } },
    {
      code: "journal_conflict",
      change: { journal: [sample.entry("new"), sample.entry("turn 1", { text: "other" })] },
    },
  ];
}

function faultyBeginnings(good: NewSession) {
  const { manifest } = good;
  const journal = [sample.entry("made"), sample.entry("taken", { text: "other" })];
  const snapshot = sample.snapshot(manifest, 1);
  return [
    { code: "journal_conflict", commit: sample.commit({ journal }) },
    { code: "event_gap", commit: sample.commit({ events: events(2, 1), journal }) },
    { code: "event_gap", commit: sample.commit({ afterEventId: 1, journal }) },
    { code: "stale_revision", commit: sample.commit({ events: events(1, 1), snapshot }) },
  ] as const;
}
