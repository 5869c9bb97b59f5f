import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { listedIds, sessionState, unchanged, value } from "./expect.ts";
import { cannot, check, inStore, type StoreCheck } from "./harness.ts";
import { keyed, tenantReads, tenantRemoval, tenantWrites } from "./operation.ts";
import * as sample from "./sample.ts";
import { keyOf, tenantId } from "./sample.ts";

/** What is not an id: most of them are paths to somewhere, or to nowhere. */
const HOSTILE: readonly string[] = [
  "",
  ".",
  "..",
  "a/b",
  "../outside",
  "..\\outside",
  "/absolute",
  "/etc/passwd",
  "C:\\absolute",
  "a\0b",
  "\0",
  "a\nb",
  "a b",
  " a",
  "a%2f",
  "ä",
  "\ud800",
  "a'; DROP TABLE sessions; --",
  "x".repeat(129),
  "x".repeat(10_000),
];

/** Ids that are different, and that one careless rule or another would take for the same. */
const DISTINCT: readonly string[] = [
  "alpha",
  "Alpha",
  "ALPHA",
  "alpha.",
  "alpha..",
  "alpha-",
  "alpha:",
  ".alpha",
  "...",
  "....",
  "alpha.db",
  "con",
  "__proto__",
  "constructor",
  "toString",
  "0",
  "00",
  "1e1",
  "10",
  "x".repeat(127),
  "x".repeat(128),
];

/** D, continued. Ids become keys and perhaps paths. */
export const HOSTILE_IDS: readonly StoreCheck[] = [
  inStore("39: what is not a session id is refused by every operation", async (store, stage) => {
    await stage.session(store);
    await unchanged(store, sample.ACME, async () => {
      for (const id of [...HOSTILE, ...NO_TEXT]) {
        for (const { name, act } of keyed(store, keyOf(id as string))) {
          const result = await act();
          const answer = result.ok ? "accepted" : result.refusal.code;
          assert.equal(answer, "invalid_store_input", `${name} of ${shown(id)}`);
        }
      }
    });
  }),

  inStore("39: what is not a tenant id is refused by every operation", async (store, stage) => {
    await stage.session(store);
    for (const id of [...HOSTILE, ...NO_TEXT]) {
      const key = { ...keyOf("s-1"), tenantId: tenantId(id as string) };
      const ofTenant = [...tenantReads(store, key), ...tenantWrites(store, key)];
      const all = [...keyed(store, key), ...ofTenant, tenantRemoval(store, key)];
      for (const { name, act } of all) {
        const result = await act();
        const answer = result.ok ? "accepted" : result.refusal.code;
        assert.equal(answer, "invalid_store_input", `${name} of ${shown(id)}`);
      }
    }
    assert.deepEqual(await value(store.tenants()), [sample.ACME]);
  }),

  inStore("39: different session ids never share a place", async (store, stage) => {
    for (const [index, id] of DISTINCT.entries()) {
      const writer = await stage.session(store, id, { epoch: `epoch-${index}` });
      await value(writer.append(1, { events: [sample.event(1, id)] }));
      await value(writer.snapshot({ messages: [id], slots: [sample.slot("core", id)] }));
    }
    for (const [index, id] of DISTINCT.entries()) {
      const state = await sessionState(store, keyOf(id));
      assert.equal(state.record.epoch, `epoch-${index}`);
      assert.deepEqual(state.messages, [{ id: 1, text: id }]);
      assert.equal(state.manifest.sessionId, id);
    }
    assert.deepEqual([...(await listedIds(store, sample.ACME))].sort(), [...DISTINCT].sort());
  }),

  inStore("39: different tenant ids never share a place", async (store, stage) => {
    for (const id of DISTINCT) {
      const writer = await stage.session(store, "s-1", { epoch: id }, tenantId(id));
      await value(writer.snapshot({ messages: [id] }));
      await value(store.appendJournal(tenantId(id), [sample.entry("same", { text: id })]));
    }
    for (const id of DISTINCT) {
      const state = await sessionState(store, keyOf("s-1", tenantId(id)));
      assert.equal(state.record.epoch, id);
      assert.deepEqual(state.messages, [{ id: 1, text: id }]);
    }
    assert.deepEqual([...(await value(store.tenants()))].sort(), [...DISTINCT].sort());
  }),

  check(
    "39: nothing is written outside the store's own directory",
    async (stage) => {
      const around = await readdir(stage.aroundRoot);
      const store = await stage.start();
      const inside = await readdir(stage.aroundRoot);
      for (const id of [...HOSTILE, ...DISTINCT]) {
        for (const key of [keyOf(id), keyOf("s-1", tenantId(id))]) {
          for (const { act } of [...keyed(store, key), ...tenantWrites(store, key)]) await act();
          await tenantRemoval(store, key).act();
        }
      }
      assert.deepEqual(await readdir(stage.aroundRoot), inside);
      assert.ok(inside.length <= Math.max(1, around.length), `${inside} beside the root`);
    },
    cannot("root"),
  ),
];

/** Values that are not even texts. */
const NO_TEXT: readonly unknown[] = [null, undefined, 7, {}, ["a"]];

function shown(id: unknown): string {
  return `${JSON.stringify(id)}`.slice(0, 40);
}
