import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import { DOCUMENT_BYTES_MAX, STORE_ROW_BYTES } from "../../core/limits.ts";
import type { JournalEntry, SessionStore } from "../store.ts";
import {
  allDocuments,
  entryKeys,
  leavesNoTrace,
  refused,
  tenantState,
  unchanged,
  value,
} from "./expect.ts";
import { forgetful, inStore, type StoreCheck } from "./harness.ts";
import * as sample from "./sample.ts";
import { ACME, entry } from "./sample.ts";

/** N. A tenant's documents: small, keyed, each with a version. */
export const DOCUMENT: readonly StoreCheck[] = [
  inStore(
    "N1: a document is written on the version it replaces, and read as it is",
    async (store) => {
      assert.equal(await value(store.readDocument(ACME, "token", "a")), null);
      for (const version of [1, 2, 3]) {
        const written = write(store, "a", version - 1, { n: version });
        const expected = { kind: "token", key: "a", version, value: { n: version } };
        assert.deepEqual(await value(written), expected);
        assert.deepEqual(await value(store.readDocument(ACME, "token", "a")), expected);
      }
    },
  ),

  inStore(
    "N2: a document of another version is not replaced, and both versions are named",
    async (store) => {
      await value(write(store, "a", 0, { n: 1 }));
      await value(write(store, "a", 1, { n: 2 }));
      for (const expected of [0, 1, 3, -1, Number.NaN, 1.5]) {
        for (const replacement of [{ n: 3 }, null]) {
          const act = () => write(store, "a", expected, replacement);
          const { details } = await leavesNoTrace(
            store,
            ACME,
            act,
            "document_conflict",
            ...(Number.isSafeInteger(expected) ? [] : (["invalid_store_input"] as const)),
          );
          if (expected === 1) assert.deepEqual(details, { version: 2, expected: 1 });
        }
      }
    },
  ),

  inStore("N3: of many that write one version one succeeds", async (store) => {
    const hands = Array.from({ length: 16 }, (_, hand) => hand);
    const results = await Promise.all(hands.map((hand) => write(store, "a", 0, { hand })));
    const winners = hands.filter((hand) => results[hand]?.ok);
    assert.equal(winners.length, 1);
    const stored = await value(store.readDocument(ACME, "token", "a"));
    assert.deepEqual([stored?.version, stored?.value], [1, { hand: winners[0] }]);
  }),

  inStore("N4: a deleted document is gone, and may be written again", async (store) => {
    await value(write(store, "a", 0, { n: 1 }));
    await value(write(store, "b", 0, { n: 1 }));
    await value(write(store, "a", 1, null));
    assert.equal(await value(store.readDocument(ACME, "token", "a")), null);
    assert.deepEqual(await keys(store), ["b"]);
    await refused(write(store, "a", 1, { n: 2 }), "document_conflict");
    const again = await value(write(store, "a", 0, { n: 2 }));
    assert.ok(again.version > 1, "a version is not used again");
    await refused(write(store, "a", 1, { n: 3 }), "document_conflict");
    assert.deepEqual(await keys(store), ["a", "b"]);
  }),

  inStore("N11: documents are listed by key, from after the one that is named", async (store) => {
    for (const key of ["c", "a", "b"]) await value(write(store, key, 0, { n: 1 }));
    const after = async (key: string | null) => {
      const page = await value(store.listDocuments(ACME, "token", key));
      return page.rows.map((document) => document.key);
    };
    assert.deepEqual(await after(null), ["a", "b", "c"]);
    assert.deepEqual(await after("a"), ["b", "c"]);
    assert.deepEqual(await after("c"), []);
  }),

  inStore("N21: documents are in the order of their keys' bytes in UTF-8", async (store) => {
    // In UTF-16 the last two would change places: U+1F600 begins with a surrogate.
    const sorted = ["A", "a", "\u00e9", "\uff5e", "\u{1f600}"];
    for (const key of [...sorted].reverse()) await value(write(store, key, 0, { n: 1 }));
    for (const [index, after] of [null, ...sorted].entries()) {
      const page = await value(store.listDocuments(ACME, "token", after));
      assert.deepEqual(
        page.rows.map(({ key }) => key),
        sorted.slice(index),
        `after ${after}`,
      );
    }
  }),

  inStore("N5: kinds and keys are kept apart, whatever they are called", async (store) => {
    // Some are pairs that would be one text if kind and key were joined by a space, slash or NUL.
    const names = [
      "a",
      "b",
      "a a",
      "b/a",
      "b\0a",
      "A",
      "a b",
      "a/b",
      "..",
      "__proto__",
      "constructor",
      "ä",
      "a\u0308",
      "a\0b",
    ];
    for (const kind of names) {
      for (const key of names) {
        const document = { kind, key, expectedVersion: 0, value: { of: `${kind} ${key}` } };
        assert.equal((await value(store.writeDocument(ACME, document))).version, 1);
      }
    }
    for (const kind of names) {
      const listed = await allDocuments(store, ACME, kind);
      assert.deepEqual(listed.map(({ key }) => key).sort(), [...names].sort());
      for (const { key, value: stored } of listed)
        assert.deepEqual(stored, { of: `${kind} ${key}` });
    }
  }),

  inStore("N6: a value comes back as it was, prototype keys included", async (store) => {
    const values = [
      "{}",
      '{"b":1,"a":[1,[],{},null,true,"",0.1,-1.5e-300,9007199254740991]}',
      '{"__proto__":{"polluted":true},"constructor":{"prototype":1},"":0}',
      '{"text":"\\u0000 \u2028 \ufeff 𝄐 \\u0007"}',
    ];
    for (const [index, text] of values.entries()) {
      const given: JsonObject = JSON.parse(text);
      await value(write(store, `v-${index}`, 0, given));
      const stored = await value(store.readDocument(ACME, "token", `v-${index}`));
      assert.equal(JSON.stringify(stored?.value), JSON.stringify(given));
    }
    assert.equal(Reflect.get({}, "polluted"), undefined);
  }),

  inStore(
    "N7: a value that would not come back as it was is refused, with its path",
    async (store) => {
      await value(write(store, "a", 0, { n: 1 }));
      for (const [path, given] of unfaithful()) {
        const act = () => write(store, "a", 1, given);
        const { details } = await leavesNoTrace(store, ACME, act, "invalid_store_input");
        assert.equal(details.path, path);
      }
      for (const given of [[], [1], "text", 7, true, undefined, () => 1]) {
        const act = () => write(store, "a", 1, given as never);
        await leavesNoTrace(store, ACME, act, "invalid_store_input");
      }
    },
  ),

  inStore("N8: names are short, and made of whole characters", async (store) => {
    for (const name of ["", "x".repeat(513), "x".repeat(10_000), "half \ud800", 7, null, {}]) {
      for (const names of [{ kind: name }, { key: name }]) {
        const document = { kind: "token", key: "a", expectedVersion: 0, value: {}, ...names };
        const act = () => store.writeDocument(ACME, document as never);
        await leavesNoTrace(store, ACME, act, "invalid_store_input");
      }
    }
    const longest = { kind: "k".repeat(512), key: "x".repeat(512), expectedVersion: 0, value: {} };
    await value(store.writeDocument(ACME, longest));
  }),

  inStore(
    "N9: a document of exactly the limit is taken, and of one byte more is not",
    async (store) => {
      // The JSON text around the content is `{"text":""}`: eleven bytes.
      const sized = (bytes: number) => ({ text: "x".repeat(bytes - 11) });
      const act = () => write(store, "a", 0, sized(DOCUMENT_BYTES_MAX + 1));
      const { details } = await leavesNoTrace(store, ACME, act, "snapshot_too_large");
      assert.deepEqual(details, { bytes: DOCUMENT_BYTES_MAX + 1, limit: DOCUMENT_BYTES_MAX });
      await value(write(store, "a", 0, sized(DOCUMENT_BYTES_MAX)));
      const stored = await value(store.readDocument(ACME, "token", "a"));
      assert.deepEqual(stored?.value, sized(DOCUMENT_BYTES_MAX));
    },
  ),

  inStore(
    "N10: documents and their versions outlive a restart",
    async (store, stage) => {
      await value(write(store, "a", 0, { n: 1 }));
      await value(write(store, "a", 1, { n: 2 }));
      const next = await stage.restart(store);
      const expected = { kind: "token", key: "a", version: 2, value: { n: 2 } };
      assert.deepEqual(await value(next.readDocument(ACME, "token", "a")), expected);
      assert.deepEqual(await allDocuments(next, ACME, "token"), [expected]);
      await refused(write(next, "a", 1, { n: 3 }), "document_conflict");
    },
    forgetful,
  ),
];

function write(
  store: SessionStore,
  key: string,
  expectedVersion: number,
  given: JsonObject | null,
) {
  return store.writeDocument(ACME, { kind: "token", key, expectedVersion, value: given });
}

async function keys(store: SessionStore): Promise<readonly string[]> {
  return (await allDocuments(store, ACME, "token")).map(({ key }) => key).sort();
}

/** What JSON would change without a word, and where it is. */
function unfaithful(): readonly (readonly [string, JsonObject])[] {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const list: unknown[] = [];
  list.push([list]);
  return [
    ["value.self", cyclic],
    ["value.list.0.0", { list }],
    ["value.n", { n: Number.NaN }],
    ["value.n", { n: Number.POSITIVE_INFINITY }],
    ["value.n", { n: -0 }],
    ["value.a.1", { a: [1, undefined] }],
    ["value.f", { f: () => 1 }],
    ["value.s", { s: Symbol("s") }],
    ["value.b", { b: 1n }],
    ["value.d", { d: new Date(0) }],
    ["value.m", { m: new Map() }],
    ["value.u", { u: new Uint8Array(2) }],
    ["value.half", { half: "\ud800" }],
    ["value", { "\udc00": 1 }],
    ["value.holes", { holes: Array(3) }],
    ["value.tagged", { tagged: Object.assign([1], { tag: 1 }) }],
    ["value.o.toJSON", { o: { toJSON: () => 1 } }],
  ];
}

/** N, continued. A document and the entries that tell of it are one commit. */
export const DOCUMENT_ENTRIES: readonly StoreCheck[] = [
  inStore("N12: a document and the entries that tell of it appear together", async (store) => {
    const paid = entry("paid", { journal: "ledger" });
    await value(writeWithEntries(store, 0, { n: 1 }, [entry("made"), paid]));
    assert.deepEqual(await view(store), [{ n: 1 }, ["made"], ["paid"]]);
    await value(writeWithEntries(store, 1, { n: 2 }, []));
    await value(writeWithEntries(store, 2, { n: 3 }, [entry("changed"), entry("twice")]));
    assert.deepEqual(await view(store), [{ n: 3 }, ["made", "changed", "twice"], ["paid"]]);
    await value(writeWithEntries(store, 3, null, [entry("deleted")]));
    const all = ["made", "changed", "twice", "deleted"];
    assert.deepEqual(await view(store), [null, all, ["paid"]]);
    const { audit } = await tenantState(store, ACME);
    assert.deepEqual(
      audit.map(({ seq }) => seq),
      [1, 2, 3, 4],
    );
  }),

  inStore("N13: a document that is not replaced leaves nothing of its entries", async (store) => {
    await value(writeWithEntries(store, 0, { n: 1 }, [entry("made")]));
    await value(writeWithEntries(store, 1, { n: 2 }, [entry("changed")]));
    const told = [entry("never"), entry("nor this", { journal: "ledger" })];
    for (const expected of [0, 1, 3]) {
      for (const replacement of [{ n: 3 }, null]) {
        const act = () => writeWithEntries(store, expected, replacement, told);
        await leavesNoTrace(store, ACME, act, "document_conflict");
      }
    }
    await value(writeWithEntries(store, 2, { n: 3 }, told));
    assert.deepEqual(await view(store), [{ n: 3 }, ["made", "changed", "never"], ["nor this"]]);
  }),

  inStore("N14: a document of which nothing can be told stays as it is", async (store) => {
    await value(writeWithEntries(store, 0, { n: 1 }, [entry("taken")]));
    const conflict = [entry("new"), entry("taken", { text: "another text" })];
    const twice = [entry("new"), entry("new", { text: "another text" })];
    for (const replacement of [{ n: 2 }, null]) {
      for (const entries of [conflict, twice]) {
        const act = () => writeWithEntries(store, 1, replacement, entries);
        await leavesNoTrace(store, ACME, act, "journal_conflict");
      }
      const nameless = () => writeWithEntries(store, 1, replacement, [entry("new"), entry("")]);
      await leavesNoTrace(store, ACME, nameless, "invalid_store_input");
      for (const entries of [null, 7, {}, [null], [7]]) {
        const act = () => writeWithEntries(store, 1, replacement, entries as never);
        await leavesNoTrace(store, ACME, act, "invalid_store_input");
      }
    }
    await value(writeWithEntries(store, 1, { n: 2 }, [entry("new")]));
  }),

  inStore(
    "N15: an entry that is there already is not told again, and hinders nobody",
    async (store) => {
      await value(store.appendJournal(ACME, [entry("there")]));
      await value(
        writeWithEntries(store, 0, { n: 1 }, [entry("there"), entry("new"), entry("new")]),
      );
      assert.deepEqual(await view(store), [{ n: 1 }, ["there", "new"], []]);
    },
  ),

  inStore("N16: of many that write one version only the winner's entry is there", async (store) => {
    const hands = Array.from({ length: 16 }, (_, hand) => hand);
    const results = await Promise.all(
      hands.map((hand) => writeWithEntries(store, 0, { hand }, [entry(`by ${hand}`)])),
    );
    const winners = hands.filter((hand) => results[hand]?.ok);
    assert.equal(winners.length, 1);
    const [hand] = winners;
    assert.deepEqual(await view(store), [{ hand }, [`by ${hand}`], []]);
  }),

  inStore("N17: entries that come with a document are bounded like a commit", async (store) => {
    const limit = store.contract.capabilities.snapshotBytesLimit;
    const large = [entry("large", { text: "x".repeat(limit + 1) })];
    const many = Array.from({ length: Math.floor(limit / STORE_ROW_BYTES) + 1 }, (_, index) =>
      entry(`${index}`, { text: "" }),
    );
    for (const entries of [large, many]) {
      const act = () => writeWithEntries(store, 0, { n: 1 }, entries);
      await leavesNoTrace(store, ACME, act, "snapshot_too_large");
    }
  }),

  inStore("N18: to delete what is not there makes a tenant only to tell of it", async (store) => {
    await value(writeWithEntries(store, 0, null, []));
    await refused(writeWithEntries(store, 1, { n: 1 }, [entry("late")]), "document_conflict");
    await refused(writeWithEntries(store, 1, null, [entry("late")]), "document_conflict");
    assert.deepEqual(await value(store.tenants()), []);
    await value(writeWithEntries(store, 0, null, [entry("told")]));
    assert.deepEqual(await view(store), [null, ["told"], []]);
  }),

  inStore("N19: entries are copied when the call is made, as the document is", async (store) => {
    const handed = { ...entry("mine") };
    const entries = [handed];
    const writing = writeWithEntries(store, 0, { n: 1 }, entries);
    Object.assign(handed, { key: "scribbled", text: "scribbled" });
    entries.push(entry("one more"));
    await value(writing);
    const { audit } = await tenantState(store, ACME);
    assert.deepEqual(audit, [{ ...entry("mine"), seq: 1 }]);
  }),

  inStore(
    "N20: a document and what was told of it outlive a restart",
    async (store, stage) => {
      await value(writeWithEntries(store, 0, { n: 1 }, [entry("made")]));
      const before = await tenantState(store, ACME);
      const next = await stage.restart(store);
      assert.deepEqual(await tenantState(next, ACME), before);
      const again = () => value(next.appendJournal(ACME, [entry("made")]));
      await unchanged(next, ACME, again);
      await value(writeWithEntries(next, 1, { n: 2 }, [entry("changed")]));
      assert.deepEqual(await view(next), [{ n: 2 }, ["made", "changed"], []]);
    },
    forgetful,
  ),
];

function writeWithEntries(
  store: SessionStore,
  expectedVersion: number,
  given: JsonObject | null,
  entries: readonly JournalEntry[],
) {
  const document = { ...sample.DOCUMENT, expectedVersion, value: given, entries };
  return store.writeDocument(ACME, document);
}

/** What the document is, and what both journals have been told. */
async function view(store: SessionStore) {
  const document = await value(store.readDocument(ACME, "token", "a"));
  const told = [await entryKeys(store, ACME), await entryKeys(store, ACME, "ledger")];
  return [document?.value ?? null, ...told];
}
