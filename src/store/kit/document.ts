import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import { DOCUMENT_BYTES_MAX } from "../../core/limits.ts";
import type { SessionStore } from "../store.ts";
import { type Check, check, forgetful } from "./check.ts";
import { allDocuments, leavesNoTrace, refused, value } from "./expect.ts";
import * as sample from "./sample.ts";

const { ACME } = sample;

/** N. A tenant's documents: small, keyed, each with a version. */
export const DOCUMENT: readonly Check[] = [
  check(
    "N1: a document is written on the version it replaces, and read as it is",
    async (stage) => {
      const store = await stage.start();
      assert.equal(await value(store.readDocument(ACME, "token", "a")), null);
      for (const version of [1, 2, 3]) {
        const written = write(store, "a", version - 1, { n: version });
        const expected = { kind: "token", key: "a", version, value: { n: version } };
        assert.deepEqual(await value(written), expected);
        assert.deepEqual(await value(store.readDocument(ACME, "token", "a")), expected);
      }
    },
  ),

  check(
    "N2: a document of another version is not replaced, and both versions are named",
    async (stage) => {
      const store = await stage.start();
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

  check("N3: of many that write one version one succeeds", async (stage) => {
    const store = await stage.start();
    const hands = Array.from({ length: 16 }, (_, hand) => hand);
    const results = await Promise.all(hands.map((hand) => write(store, "a", 0, { hand })));
    const winners = hands.filter((hand) => results[hand]?.ok);
    assert.equal(winners.length, 1);
    const stored = await value(store.readDocument(ACME, "token", "a"));
    assert.deepEqual([stored?.version, stored?.value], [1, { hand: winners[0] }]);
  }),

  check("N4: a deleted document is gone, and may be written again", async (stage) => {
    const store = await stage.start();
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

  check("N11: documents are listed by key, from after the one that is named", async (stage) => {
    const store = await stage.start();
    for (const key of ["c", "a", "b"]) await value(write(store, key, 0, { n: 1 }));
    const after = async (key: string | null) => {
      const page = await value(store.listDocuments(ACME, "token", key));
      return page.rows.map((document) => document.key);
    };
    assert.deepEqual(await after(null), ["a", "b", "c"]);
    assert.deepEqual(await after("a"), ["b", "c"]);
    assert.deepEqual(await after("c"), []);
  }),

  check("N5: kinds and keys are kept apart, whatever they are called", async (stage) => {
    const store = await stage.start();
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

  check("N6: a value comes back as it was, prototype keys included", async (stage) => {
    const store = await stage.start();
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

  check(
    "N7: a value that would not come back as it was is refused, with its path",
    async (stage) => {
      const store = await stage.start();
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

  check("N8: names are short, and made of whole characters", async (stage) => {
    const store = await stage.start();
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

  check(
    "N9: a document of exactly the limit is taken, and of one byte more is not",
    async (stage) => {
      const store = await stage.start();
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

  check(
    "N10: documents and their versions outlive a restart",
    async (stage) => {
      const store = await stage.start();
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
