import assert from "node:assert/strict";
import type { Result } from "../../core/result.ts";
import type { JournalEntry, JournalName, JournalQuery } from "../store.ts";
import { type Check, check, forgetful } from "./check.ts";
import { allEntries, entryKeys, leavesNoTrace, refused, unchanged, value } from "./expect.ts";
import * as sample from "./sample.ts";

const { ACME, entry, sessionId } = sample;

/** M. A tenant's journals: appended to, never changed, and there when the sessions are gone. */
export const JOURNAL: readonly Check[] = [
  check("M1: entries come back in their order, numbered from 1, as they were", async (stage) => {
    const store = await stage.start();
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

  check(
    "M2: a key comes once: the same text again is nothing, another one a conflict",
    async (stage) => {
      const store = await stage.start();
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

  check("M3: journals are read by session, by key, and in pages", async (stage) => {
    const store = await stage.start();
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

  check("M4: journals outlive the sessions they speak of", async (stage) => {
    const store = await stage.start();
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

  check(
    "M5: journals and their keys outlive a restart",
    async (stage) => {
      const store = await stage.start();
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

  check("M6: what is not an entry is refused, wherever one may be handed over", async (stage) => {
    const store = await stage.start();
    const { key, term } = await stage.session(store);
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
  }),

  check("M7: what is appended at once is bounded like a commit", async (stage) => {
    const store = await stage.start();
    const limit = store.contract.capabilities.snapshotBytesLimit;
    const large = [entry("large", { text: "x".repeat(limit + 1) })];
    const act = () => store.appendJournal(ACME, large);
    await leavesNoTrace(store, ACME, act, "snapshot_too_large");
  }),

  check("M8: each journal counts by itself, and leaves no number out", async (stage) => {
    const store = await stage.start();
    const writer = await stage.session(store);
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
  }),
];
