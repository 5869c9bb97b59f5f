import assert from "node:assert/strict";
import { BLOB_BYTES_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { JournalEntry, JournalName, JournalQuery, SessionStore } from "../store.ts";
import {
  allEntries,
  entryKeys,
  leavesNoTrace,
  listedIds,
  refused,
  sessionState,
  tenantState,
  unchanged,
  value,
} from "./expect.ts";
import { forgetful, inSession, inStore, type StoreCheck } from "./harness.ts";
import { sessionReads, sessionWrites } from "./operation.ts";
import * as sample from "./sample.ts";
import { ACME, bytes, entry, GLOBEX, keyOf, sessionId } from "./sample.ts";

/** L. Tenants: what belongs to one does not exist for the other. */
export const TENANT: readonly StoreCheck[] = [
  inStore("L1: one session id in two tenants is two sessions", async (store, stage) => {
    const ours = await stage.session(store, "s-1", { epoch: "ours" }, ACME);
    const theirs = await stage.session(store, "s-1", { epoch: "theirs" }, GLOBEX);
    await value(ours.append(3));
    await value(ours.snapshot({ messages: ["ours"], slots: [sample.slot("core", "ours")] }));
    await value(theirs.snapshot({ messages: ["theirs"] }));
    const state = await sessionState(store, theirs.key);
    assert.deepEqual([state.record.epoch, state.record.lastEventId], ["theirs", 0]);
    assert.deepEqual([state.messages, state.slots], [[{ id: 1, text: "theirs" }], []]);
    await value(store.delete(ours.key, sample.holder(), []));
    assert.deepEqual(await sessionState(store, theirs.key), state);
    await refused(store.readRecord(ours.key), "session_not_found");
  }),

  inStore(
    "L2: another tenant's session is not found, whatever one knows of it",
    async (store, stage) => {
      await stage.session(store, "theirs", {}, GLOBEX);
      await stage.session(store, "ours", {}, ACME);
      assert.deepEqual(await listedIds(store, ACME), ["ours"]);
      assert.deepEqual(await listedIds(store, GLOBEX), ["theirs"]);
      const key = keyOf("theirs", ACME);
      await unchanged(store, GLOBEX, async () => {
        for (const { name, act } of [...sessionReads(store, key), ...sessionWrites(store, key)]) {
          const result = await act();
          assert.equal(result.ok ? "accepted" : result.refusal.code, "session_not_found", name);
        }
        await value(store.close(key, 1));
      });
    },
  ),

  inStore(
    "L3: journals, documents and blobs of one tenant are not those of another",
    async (store) => {
      const hash = await furnish(store);
      assert.deepEqual(await tenantState(store, GLOBEX), {
        sessions: {},
        documents: [],
        audit: [],
        ledger: [],
      });
      await refused(store.readBlob(GLOBEX, hash), "blob_not_found");
      assert.equal(await value(store.readDocument(GLOBEX, "token", "a")), null);
      await unchanged(store, ACME, async () => {
        const document = { kind: "token", key: "a", expectedVersion: 0, value: { of: "globex" } };
        assert.equal((await value(store.writeDocument(GLOBEX, document))).version, 1);
        await value(store.appendJournal(GLOBEX, [entry("same key", { text: "another text" })]));
      });
    },
  ),

  inStore(
    "L4: each tenant that has written is named once, and one that only asked is not",
    async (store, stage) => {
      await stage.session(store, "s-1", {}, GLOBEX);
      await stage.session(store, "s-2", {}, GLOBEX);
      await value(store.appendJournal(ACME, [entry("a")]));
      const document = { kind: "token", key: "a", expectedVersion: 0, value: {} };
      await value(store.writeDocument(sample.tenantId("initech"), document));
      await tenantState(store, sample.tenantId("curious"));
      await refused(
        store.open(keyOf("s-1", sample.tenantId("curious")), sample.holder(), []),
        "session_not_found",
      );
      const tenants = [...(await value(store.tenants()))].sort();
      assert.deepEqual(tenants, ["acme", "globex", "initech"]);
    },
  ),

  inStore(
    "L5: tenants are there again after a restart, each with its own",
    async (store, stage) => {
      const ours = await stage.session(store, "s-1", { epoch: "ours" }, ACME);
      const theirs = await stage.session(store, "s-1", { epoch: "theirs" }, GLOBEX);
      await value(ours.close());
      await value(theirs.close());
      const before = [await tenantState(store, ACME), await tenantState(store, GLOBEX)];
      const next = await stage.restart(store);
      assert.deepEqual([await tenantState(next, ACME), await tenantState(next, GLOBEX)], before);
      assert.deepEqual([...(await value(next.tenants()))].sort(), ["acme", "globex"]);
    },
    forgetful,
  ),
];

/** Something of everything for one tenant; the answer is the name of its blob. */
async function furnish(store: SessionStore): Promise<string> {
  const key = keyOf("s-1");
  const manifest = sample.manifest(key, store.contract.storeId);
  const ledger = entry("same key", { journal: "ledger" });
  const journal = [entry("same key"), ledger];
  const commit = sample.commit({ events: sample.events(1, 1), journal });
  await value(store.create(key, sample.newSession(manifest, { commit })));
  const document = { kind: "token", key: "a", expectedVersion: 0, value: { of: "acme" } };
  await value(store.writeDocument(ACME, document));
  return value(store.writeBlob(ACME, sample.bytes("of acme")));
}

/** M. A tenant's journals: appended to, never changed, and there when the sessions are gone. */
export const JOURNAL: readonly StoreCheck[] = [
  inStore("M1: entries come back in their order, numbered from 1, as they were", async (store) => {
    const entries = [
      entry("a", { sessionId: sessionId("s-1"), atMs: 7 }),
      entry("b", { journal: "ledger", atMs: 6 }),
      entry("c", { atMs: 5 }),
    ];
    await value(store.appendJournal(ACME, entries.slice(0, 2)));
    await value(store.appendJournal(ACME, entries.slice(2)));
    const audit = await allEntries(store, ACME, "audit");
    assert.deepEqual(
      audit.map(({ seq: _, ...rest }) => rest),
      [entries[0], entries[2]],
    );
    const ledger = await allEntries(store, ACME, "ledger");
    assert.deepEqual(
      ledger.map(({ seq: _, ...rest }) => rest),
      [entries[1]],
    );
    assert.deepEqual(
      [...audit, ...ledger].map(({ seq }) => seq),
      [1, 2, 1],
    );
  }),

  inStore(
    "M2: a key comes once: the same text again is nothing, another one a conflict",
    async (store) => {
      await value(store.appendJournal(ACME, [entry("a"), entry("a")]));
      await unchanged(store, ACME, () => value(store.appendJournal(ACME, [entry("a")])));
      const other = entry("a", { text: "another text" });
      for (const entries of [[other], [entry("b"), other], [other, entry("b")]]) {
        const act = () => store.appendJournal(ACME, entries);
        const { details } = await leavesNoTrace(store, ACME, act, "journal_conflict");
        assert.deepEqual(details, { journal: "audit", key: "a" });
      }
      const twice = [entry("c"), entry("c", { text: "another text" })];
      const act = () => store.appendJournal(ACME, twice);
      await leavesNoTrace(store, ACME, act, "journal_conflict");
      const ledger = entry("a", { journal: "ledger", text: "another text" });
      await value(store.appendJournal(ACME, [ledger, entry("d")]));
      assert.deepEqual(await entryKeys(store, ACME), ["a", "d"]);
      assert.deepEqual(await entryKeys(store, ACME, "ledger"), ["a"]);
    },
  ),

  inStore("M3: journals are read by session, by key, and in pages", async (store) => {
    const entries = ["a", "b", "c", "d", "e"].map((key, index) =>
      entry(key, { sessionId: index % 2 === 0 ? sessionId("even") : null }),
    );
    await value(store.appendJournal(ACME, entries));
    const keys = async (query: Partial<JournalQuery>) => {
      const whole = { journal: "audit", after: 0, limit: 100, ...query } as const;
      return (await value(store.readJournal(ACME, whole))).rows.map(({ key }) => key);
    };
    assert.deepEqual(await keys({ sessionId: sessionId("even") }), ["a", "c", "e"]);
    assert.deepEqual(await keys({ sessionId: sessionId("even"), after: 1, limit: 1 }), ["c"]);
    assert.deepEqual(await keys({ sessionId: sessionId("odd") }), []);
    assert.deepEqual(await keys({ key: "d" }), ["d"]);
    assert.deepEqual(await keys({ key: "D" }), []);
    assert.deepEqual(await keys({ key: "d", sessionId: sessionId("even") }), []);
    assert.deepEqual(await keys({ limit: 2 }), ["a", "b"]);
    assert.deepEqual(await keys({ after: 2, limit: 2 }), ["c", "d"]);
    assert.deepEqual(await keys({ journal: "ledger" }), []);
  }),

  inStore("M4: journals outlive the sessions they speak of", async (store, stage) => {
    const journal = [entry("made", { sessionId: sessionId("s-1") })];
    const writer = await stage.session(store, "s-1", { commit: sample.commit({ journal }) });
    await value(writer.append(1, { journal: [entry("paid", { journal: "ledger" })] }));
    await value(store.delete(writer.key, sample.holder(), [entry("deleted")]));
    assert.deepEqual(await entryKeys(store, ACME), ["made", "deleted"]);
    assert.deepEqual(await entryKeys(store, ACME, "ledger"), ["paid"]);
    const query = { journal: "audit", sessionId: sessionId("s-1"), after: 0, limit: 9 } as const;
    const [made] = (await value(store.readJournal(ACME, query))).rows;
    assert.deepEqual([made?.key, made?.seq], ["made", 1]);
  }),

  inStore(
    "M5: journals and their keys outlive a restart",
    async (store, stage) => {
      await value(store.appendJournal(ACME, [entry("a"), entry("b")]));
      const before = await allEntries(store, ACME, "audit");
      const next = await stage.restart(store);
      assert.deepEqual(await allEntries(next, ACME, "audit"), before);
      const other = [entry("a", { text: "another text" })];
      await refused(next.appendJournal(ACME, other), "journal_conflict");
      await value(next.appendJournal(ACME, [entry("a"), entry("c")]));
      assert.deepEqual((await allEntries(next, ACME, "audit")).at(-1)?.seq, 3);
    },
    forgetful,
  ),

  inSession(
    "M6: what is not an entry is refused, wherever one may be handed over",
    async ({ key, term }, store) => {
      const faults: readonly Readonly<Record<string, unknown>>[] = [
        { key: "" },
        { key: "x".repeat(513) },
        { key: 7 },
        { key: "half \ud800" },
        { journal: "diary" },
        { journal: "__proto__" },
        { text: 7 },
        { text: "half \udc00" },
        { atMs: Number.NaN },
        { atMs: 1.5 },
        { sessionId: "../.." },
        { sessionId: 7 },
      ];
      for (const fault of faults) {
        const wrong = [{ ...entry("a"), ...fault }] as readonly JournalEntry[];
        const acts: readonly (() => Promise<Result<unknown>>)[] = [
          () => store.appendJournal(ACME, wrong),
          () => store.commit(key, term, sample.commit({ journal: wrong })),
          () => store.delete(key, sample.holder(), wrong),
          () => store.open(key, sample.holder(), wrong),
          () => store.seize(key, sample.holder(), [entry("seized"), ...wrong]),
          () => store.cutLog(key, term, { lastEventId: 0, epoch: "e", audit: wrong }),
          () => store.writeDocument(ACME, { ...sample.DOCUMENT, entries: wrong }),
        ];
        for (const act of acts) {
          await leavesNoTrace(store, ACME, act, "invalid_store_input");
        }
      }
      await value(store.appendJournal(ACME, [entry("x".repeat(512)), entry("__proto__")]));
    },
  ),

  inStore("M7: what is appended at once is bounded like a commit", async (store) => {
    const limit = store.contract.capabilities.snapshotBytesLimit;
    const large = [entry("large", { text: "x".repeat(limit + 1) })];
    const act = () => store.appendJournal(ACME, large);
    await leavesNoTrace(store, ACME, act, "snapshot_too_large");
  }),

  inSession(
    "M8: each journal counts by itself, and leaves no number out",
    async (writer, store, stage) => {
      const paid = (key: string) => entry(key, { journal: "ledger" });
      const other = (key: string) => entry(key, { text: "another text" });
      const [, , conflict] = await Promise.all([
        store.appendJournal(ACME, [entry("a"), paid("a"), entry("b")]),
        writer.commit({ afterEventId: 0, journal: [paid("b"), entry("a"), entry("c")] }),
        store.appendJournal(ACME, [entry("never"), paid("never"), other("a")]),
        store.appendJournal(ACME, [entry("c"), entry("d"), paid("b"), paid("c")]),
      ]);
      assert.equal(conflict.ok, false);
      await value(store.delete(writer.key, sample.holder(), [entry("e")]));
      const next = stage.harness.persists ? await stage.restart(store) : store;
      await value(next.appendJournal(ACME, [paid("d"), entry("f")]));
      const numbers = async (journal: JournalName) =>
        (await allEntries(next, ACME, journal)).map(({ key, seq }) => `${key}${seq}`).join(" ");
      assert.equal(await numbers("audit"), "a1 b2 c3 d4 e5 f6");
      assert.equal(await numbers("ledger"), "a1 b2 c3 d4");
    },
  ),

  inSession(
    "M9: keys that differ in a single byte are different, however entries come in",
    async (writer, store) => {
      const keys = [
        "a",
        "A",
        "\u00e4",
        "a\u0308",
        "\u00c4",
        " a",
        "a ",
        "a\0",
        "stra\u00dfe",
        "strasse",
      ];
      const told = (by: string) =>
        keys.map((key) => entry(`${by} ${key}`, { text: `${by} ${key}!` }));
      await value(store.appendJournal(ACME, told("appended")));
      await value(writer.commit({ afterEventId: 0, journal: told("committed") }));
      await value(store.writeDocument(ACME, { ...sample.DOCUMENT, entries: told("set") }));
      const all = [...told("appended"), ...told("committed"), ...told("set")];
      const stored = await allEntries(store, ACME, "audit");
      assert.deepEqual(
        stored.map(({ key, text }) => [key, text]),
        all.map(({ key, text }) => [key, text]),
      );
      for (const { key, text } of all) {
        const query = { journal: "audit", key, after: 0, limit: 9 } as const;
        const { rows } = await value(store.readJournal(ACME, query));
        assert.deepEqual(
          rows.map((row) => row.text),
          [text],
        );
      }
    },
  ),
];

/** The names of known contents, from the standard that defines the hash. */
const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** O. Blobs: bytes under the name that they give themselves. */
export const BLOB: readonly StoreCheck[] = [
  inStore(
    "O1: a blob's name is the SHA-256 of its content, and it comes back as it was",
    async (store) => {
      assert.equal(await value(store.writeBlob(ACME, bytes("abc"))), ABC);
      assert.equal(await value(store.writeBlob(ACME, new Uint8Array(0))), EMPTY);
      assert.equal(Buffer.from(await value(store.readBlob(ACME, ABC))).toString(), "abc");
      assert.equal((await value(store.readBlob(ACME, EMPTY))).byteLength, 0);
      const every = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
      const part = await value(store.writeBlob(ACME, every.subarray(100, 400)));
      const read = await value(store.readBlob(ACME, part));
      assert.deepEqual([...read], [...every.subarray(100, 400)]);
    },
  ),

  inStore("O2: the same content again changes nothing", async (store) => {
    const writing = Array.from({ length: 8 }, () => store.writeBlob(ACME, bytes("abc")));
    const names = await Promise.all(writing.map((one) => value(one)));
    assert.deepEqual([...new Set(names)], [ABC]);
    assert.equal(await value(store.writeBlob(GLOBEX, bytes("abc"))), ABC);
    assert.equal(Buffer.from(await value(store.readBlob(ACME, ABC))).toString(), "abc");
  }),

  inStore("O3: what is not there is not found, whatever it is called", async (store) => {
    await value(store.writeBlob(GLOBEX, bytes("abc")));
    const { details } = await refused(store.readBlob(ACME, ABC), "blob_not_found");
    assert.equal(details.hash, ABC);
    await value(store.writeBlob(ACME, bytes("abc")));
    const names = ["", "..", "../../x", "/etc/passwd", "\0", "x".repeat(10_000), ABC.toUpperCase()];
    for (const hash of [...names, ABC.slice(0, 63), `${ABC} `, "%"]) {
      await refused(store.readBlob(ACME, hash), "blob_not_found", "invalid_store_input");
    }
  }),

  inStore("O4: bytes are copied, on their way in and out", async (store) => {
    const given = bytes("abc");
    const writing = store.writeBlob(ACME, given);
    given.fill(0);
    assert.equal(await value(writing), ABC);
    (await value(store.readBlob(ACME, ABC))).fill(0);
    assert.equal(Buffer.from(await value(store.readBlob(ACME, ABC))).toString(), "abc");
  }),

  inStore(
    "O5: a blob of exactly the limit is taken, and of one byte more is not",
    async (store) => {
      const large = new Uint8Array(BLOB_BYTES_MAX + 1).fill(7);
      const { details } = await refused(store.writeBlob(ACME, large), "snapshot_too_large");
      assert.deepEqual(details, { bytes: BLOB_BYTES_MAX + 1, limit: BLOB_BYTES_MAX });
      const hash = await value(store.writeBlob(ACME, large.subarray(1)));
      assert.equal((await value(store.readBlob(ACME, hash))).byteLength, BLOB_BYTES_MAX);
    },
  ),

  inSession(
    "O6: blobs outlive their sessions and a restart",
    async ({ key }, store, stage) => {
      await value(store.writeBlob(ACME, bytes("abc")));
      await value(store.delete(key, sample.holder(), []));
      const next = await stage.restart(store);
      assert.equal(Buffer.from(await value(next.readBlob(ACME, ABC))).toString(), "abc");
    },
    forgetful,
  ),
];
