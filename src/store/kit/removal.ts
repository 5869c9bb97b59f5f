import assert from "node:assert/strict";
import { readdir, readlink, realpath } from "node:fs/promises";
import type { SessionStore } from "../store.ts";
import {
  entryKeys,
  leavesNoTrace,
  listedIds,
  refused,
  tenantState,
  unchanged,
  value,
} from "./expect.ts";
import { cannot, check, forgetful, inSession, inStore, type StoreCheck } from "./harness.ts";
import { sessionReads, sessionWrites, tenantReads } from "./operation.ts";
import * as sample from "./sample.ts";
import { ACME, entry, events, GLOBEX, keyOf } from "./sample.ts";
import type { CheckStage } from "./stage.ts";

/** Q. A holder that could open a session may delete it, and no other. */
export const REMOVAL: readonly StoreCheck[] = [
  inStore(
    "Q1: what somebody else holds is not deleted, and who that is is said",
    async (store, stage) => {
      for (const holder of [sample.holder("living"), sample.remoteHolder()]) {
        const writer = await stage.session(store, holder.label, { holder });
        for (const label of ["other", "kit"]) {
          const act = () => store.delete(writer.key, sample.holder(label), [entry("never")]);
          const { details } = await leavesNoTrace(store, ACME, act, "session_locked");
          assert.match(`${details.holder}`, new RegExp(`^${holder.label} `));
        }
        await value(writer.append(1));
      }
    },
  ),

  inStore(
    "Q2: its holder deletes a session, whether or not it can be proved",
    async (store, stage) => {
      for (const holder of [sample.holder("living"), sample.remoteHolder()]) {
        const { key } = await stage.session(store, holder.label, { holder });
        await value(store.delete(key, holder, [entry(holder.label)]));
        await refused(store.readRecord(key), "session_not_found");
      }
      assert.deepEqual(await entryKeys(store, ACME), ["living", "remote"]);
    },
  ),

  inStore("Q3: anybody deletes what nobody holds, or one who is gone", async (store, stage) => {
    const closed = await stage.session(store, "closed", { holder: sample.remoteHolder() });
    await value(closed.close());
    const gone = await stage.session(store, "gone", { holder: sample.goneHolder() });
    for (const { key } of [closed, gone]) {
      await value(store.delete(key, sample.holder("anybody"), []));
      await refused(store.readRecord(key), "session_not_found");
    }
    assert.deepEqual(await listedIds(store, ACME), []);
  }),

  inStore("Q4: a seized session can be deleted by whoever has seized it", async (store, stage) => {
    const writer = await stage.session(store, "s-1", { holder: sample.remoteHolder() });
    await value(store.seize(writer.key, sample.holder(), [entry("seized")]));
    const act = () => store.delete(writer.key, sample.remoteHolder(), []);
    await leavesNoTrace(store, ACME, act, "session_locked");
    await value(store.delete(writer.key, sample.holder(), []));
    await refused(store.readRecord(writer.key), "session_not_found");
  }),

  inSession(
    "Q5: a damaged session can be deleted, and its id used again",
    async ({ key, term }, store, stage) => {
      await stage.session(store, "well");
      await value(store.close(key, term));
      await value(store.dispose());
      await stage.world("forgeManifest")(stage.place, key, () => ({ nonsense: true }));
      const next = await stage.start();
      await refused(next.open(key, sample.holder(), []), "session_corrupt", "resume_mismatch");
      await value(next.delete(key, sample.holder(), [entry("deleted")]));
      await refused(next.readRecord(key), "session_not_found");
      const { sessions, damaged } = await value(next.list(ACME, {}, { limit: 9, cursor: null }));
      assert.deepEqual([sessions.map(({ sessionId }) => sessionId), damaged], [["well"], []]);
      assert.deepEqual(await entryKeys(next, ACME), ["deleted"]);
      const again = await stage.session(next);
      await value(again.append(1));
      assert.ok(again.term > term, "a term was used again");
    },
    forgetful,
    cannot("forgeManifest"),
  ),

  inSession(
    "Q6: a session of another store is not deleted",
    async ({ key, term }, store, stage) => {
      await value(store.close(key, term));
      await value(store.dispose());
      const forge = stage.world("forgeManifest");
      await forge(stage.place, key, (manifest) => ({ ...manifest, storeId: "elsewhere" }));
      const next = await stage.start();
      const act = () => next.delete(key, sample.holder(), [entry("never")]);
      await refused(act(), "resume_mismatch");
      assert.deepEqual(await entryKeys(next, ACME), []);
      const { damaged } = await value(next.list(ACME, {}, { limit: 9, cursor: null }));
      assert.equal(damaged.length, 1, "it is not there any more");
    },
    forgetful,
    cannot("forgeManifest"),
  ),
];

const NOTHING = { sessions: {}, documents: [], audit: [], ledger: [] };

/** U. Removing a tenant: all of it, nothing else, and for good. */
export const TENANT_REMOVAL: readonly StoreCheck[] = [
  inStore("U1: all of a removed tenant is gone, and nothing of another", async (store, stage) => {
    const hash = await furnish(stage, store, ACME);
    await furnish(stage, store, GLOBEX);
    await unchanged(store, GLOBEX, () => value(store.removeTenant(ACME, sample.holder())));
    assert.deepEqual(await value(store.tenants()), [GLOBEX]);
    assert.deepEqual(await tenantState(store, ACME), NOTHING);
    await refused(store.readBlob(ACME, hash), "blob_not_found");
    assert.ok((await value(store.readBlob(GLOBEX, hash))).length > 0);
    await value(store.commit(keyOf("s-1", GLOBEX), await termOf(store, GLOBEX), nextEvent(2)));
  }),

  inStore(
    "U2: a tenant is not removed from under whoever holds a session of it",
    async (store, stage) => {
      await furnish(stage, store, ACME);
      for (const holder of [sample.holder("living"), sample.remoteHolder()]) {
        const { key } = await stage.session(store, holder.label, { holder });
        const act = () => store.removeTenant(ACME, sample.holder());
        const { details } = await leavesNoTrace(store, ACME, act, "session_locked");
        assert.match(`${details.holder}`, new RegExp(`^${holder.label} `));
        await value(store.delete(key, holder, []));
      }
      await value(store.removeTenant(ACME, sample.holder()));
      assert.deepEqual(await value(store.tenants()), []);
    },
  ),

  inStore("U3: what nobody holds, or one who is gone, keeps no tenant", async (store, stage) => {
    const closed = await stage.session(store, "closed", { holder: sample.remoteHolder() });
    await value(closed.close());
    await stage.session(store, "gone", { holder: sample.goneHolder() });
    await value(store.removeTenant(ACME, sample.holder("anybody")));
    assert.deepEqual(await tenantState(store, ACME), NOTHING);
  }),

  inStore(
    "U4: one that is not there is removed already, and is not made by that",
    async (store, stage) => {
      await value(store.removeTenant(ACME, sample.holder()));
      await furnish(stage, store, ACME);
      for (let time = 0; time < 2; time += 1)
        await value(store.removeTenant(ACME, sample.holder()));
      assert.deepEqual(await value(store.tenants()), []);
    },
  ),

  inStore(
    "U5: a tenant made anew begins with nothing, out of reach of the old",
    async (store, stage) => {
      await furnish(stage, store, ACME);
      const old = await stage.session(store, "s-2");
      const terms = [old.term, await termOf(store, ACME)];
      await value(store.removeTenant(ACME, sample.holder()));
      await furnish(stage, store, ACME);
      const young = await stage.session(store, "s-2");
      const { audit, ledger, documents } = await tenantState(store, ACME);
      assert.deepEqual(
        [...audit, ...ledger].map(({ seq }) => seq),
        [1, 1],
      );
      assert.deepEqual(
        documents.map(({ version }) => version),
        [1],
      );
      for (const term of terms) {
        for (const key of [young.key, keyOf("s-1")]) {
          const act = () => store.commit(key, term, nextEvent(1));
          await leavesNoTrace(store, ACME, act, "writer_lost");
          await unchanged(store, ACME, () => value(store.close(key, term)));
        }
      }
      await value(young.commit({ events: events(1, 1) }));
    },
  ),

  inStore(
    "U6: whatever comes late for a removed tenant does not bring it back",
    async (store, stage) => {
      await furnish(stage, store, ACME);
      const key = keyOf("s-1");
      await value(store.removeTenant(ACME, sample.holder()));
      for (const { name, act } of [...sessionReads(store, key), ...sessionWrites(store, key)]) {
        const answer = await act();
        assert.equal(answer.ok ? "accepted" : answer.refusal.code, "session_not_found", name);
      }
      for (const { act } of tenantReads(store, key)) await act();
      await value(store.close(key, 1));
      const late = { kind: "token", key: "a", expectedVersion: 1, value: { late: true } };
      const { details } = await refused(store.writeDocument(ACME, late), "document_conflict");
      assert.equal(details.version, 0);
      const told = { ...late, entries: [entry("late")] };
      await refused(store.writeDocument(ACME, told), "document_conflict");
      await refused(store.writeDocument(ACME, { ...told, value: null }), "document_conflict");
      await refused(store.writeDocument(ACME, { ...late, value: null }), "document_conflict");
      await value(store.writeDocument(ACME, { ...late, expectedVersion: 0, value: null }));
      await value(store.appendJournal(ACME, []));
      assert.deepEqual(await value(store.tenants()), []);
    },
  ),

  inSession(
    "U7: what was sent before a removal is in it, and what comes after is not",
    async (writer, store) => {
      const [before, removed, late, made] = await Promise.all([
        writer.commit({ events: events(1, 1) }),
        store.removeTenant(ACME, sample.holder()),
        writer.commit({ events: events(2, 1) }),
        store.appendJournal(ACME, [entry("anew")]),
      ]);
      assert.deepEqual([before.ok, removed.ok, late.ok, made.ok], [true, true, false, true]);
      if (!late.ok) assert.equal(late.refusal.code, "session_not_found");
      const { sessions, audit } = await tenantState(store, ACME);
      assert.deepEqual([sessions, audit.map(({ key }) => key)], [{}, ["anew"]]);
    },
  ),

  inStore(
    "U8: a removed tenant is still gone after a restart, and one made anew is there",
    async (store, stage) => {
      for (const tenant of [ACME, GLOBEX]) {
        await furnish(stage, store, tenant);
        await value(store.removeTenant(tenant, sample.holder()));
      }
      await value(store.appendJournal(GLOBEX, [entry("anew")]));
      const next = await stage.restart(store);
      assert.deepEqual(await value(next.tenants()), [GLOBEX]);
      assert.deepEqual(await tenantState(next, ACME), NOTHING);
      const { sessions, audit } = await tenantState(next, GLOBEX);
      assert.deepEqual([sessions, audit.map(({ key }) => key)], [{}, ["anew"]]);
    },
    forgetful,
  ),

  check(
    "U9: another store that had the tenant open loses nothing that it says it has written",
    async (stage) => {
      const [one, other] = [await stage.start(), await stage.start()];
      await furnish(stage, other, ACME);
      const held = () => one.removeTenant(ACME, sample.holder("elsewhere"));
      await leavesNoTrace(other, ACME, held, "session_locked");
      const term = await termOf(other, ACME);
      await value(other.close(keyOf("s-1"), term));
      await value(one.removeTenant(ACME, sample.holder("elsewhere")));
      assert.deepEqual(await tenantState(other, ACME), NOTHING);
      await refused(other.commit(keyOf("s-1"), term, nextEvent(2)), "session_not_found");
      await value(other.appendJournal(ACME, [entry("anew")]));
      assert.deepEqual(
        (await tenantState(one, ACME)).audit.map(({ key }) => key),
        ["anew"],
      );
      await value(one.removeTenant(ACME, sample.holder("elsewhere")));
      await furnish(stage, one, ACME);
      assert.deepEqual(await tenantState(other, ACME), await tenantState(one, ACME));
    },
    forgetful,
  ),
];

const nextEvent = (id: number) => sample.commit({ events: events(id, 1) });

async function termOf(store: SessionStore, tenantId: typeof ACME): Promise<number> {
  return (await value(store.readRecord(keyOf("s-1", tenantId)))).term;
}

/** Something of everything for one tenant; the answer is the name of its blob. */
async function furnish(stage: CheckStage, store: SessionStore, tenantId: typeof ACME) {
  const journal = [entry("made"), entry("paid", { journal: "ledger" })];
  const commit = sample.commit({ events: events(1, 1), journal });
  const writer = await stage.session(store, "s-1", { commit }, tenantId);
  const slots = [sample.slot("core", "x")];
  await value(writer.snapshot({ messages: [sample.message("hello")], slots }));
  const document = { kind: "token", key: "a", expectedVersion: 0, value: { of: tenantId } };
  await value(store.writeDocument(tenantId, document));
  return value(store.writeBlob(tenantId, sample.bytes("a blob")));
}

/** What keeps this process alive, counted by kind. */
export function resourceCounts(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** The files below a directory that this process has open, as Linux lists them. */
export async function openFilesUnder(root: string): Promise<readonly string[]> {
  const real = await realpath(root);
  const handles = await readdir("/proc/self/fd");
  const targets = await Promise.all(
    // A handle may be gone by the time it is looked at, such as that of the listing itself.
    handles.map((handle) => readlink(`/proc/self/fd/${handle}`).catch(() => "")),
  );
  return targets.filter((target) => target.startsWith(`${real}/`));
}
