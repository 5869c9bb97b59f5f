import assert from "node:assert/strict";
import type { SessionStore } from "../store.ts";
import { type Check, check, forgetful } from "./check.ts";
import { listedIds, refused, sessionState, tenantState, unchanged, value } from "./expect.ts";
import { sessionReads, sessionWrites } from "./operation.ts";
import * as sample from "./sample.ts";

const { ACME, GLOBEX, entry, keyOf } = sample;

/** L. Tenants: what belongs to one does not exist for the other. */
export const TENANT: readonly Check[] = [
  check("L1: one session id in two tenants is two sessions", async (stage) => {
    const store = await stage.start();
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

  check("L2: another tenant's session is not found, whatever one knows of it", async (stage) => {
    const store = await stage.start();
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
  }),

  check(
    "L3: journals, documents and blobs of one tenant are not those of another",
    async (stage) => {
      const store = await stage.start();
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

  check(
    "L4: each tenant that has written is named once, and one that only asked is not",
    async (stage) => {
      const store = await stage.start();
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

  check(
    "L5: tenants are there again after a restart, each with its own",
    async (stage) => {
      const store = await stage.start();
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
