import assert from "node:assert/strict";
import { type Check, cannot, check, forgetful } from "./check.ts";
import { entryKeys, leavesNoTrace, listedIds, refused, value } from "./expect.ts";
import * as sample from "./sample.ts";

const { ACME, entry } = sample;

/** Q. Whoever could open a session may delete it, and nobody else. */
export const REMOVAL: readonly Check[] = [
  check("Q1: what somebody else holds is not deleted, and who that is is said", async (stage) => {
    const store = await stage.start();
    for (const holder of [sample.holder("living"), sample.remoteHolder()]) {
      const writer = await stage.session(store, holder.label, { holder });
      for (const label of ["other", "kit"]) {
        const act = () => store.delete(writer.key, sample.holder(label), [entry("never")]);
        const { details } = await leavesNoTrace(store, ACME, act, "session_locked");
        assert.match(`${details.holder}`, new RegExp(`^${holder.label} `));
      }
      await value(writer.append(1));
    }
  }),

  check("Q2: its holder deletes a session, whether or not it can be proved", async (stage) => {
    const store = await stage.start();
    for (const holder of [sample.holder("living"), sample.remoteHolder()]) {
      const { key } = await stage.session(store, holder.label, { holder });
      await value(store.delete(key, holder, [entry(holder.label)]));
      await refused(store.readRecord(key), "session_not_found");
    }
    assert.deepEqual(await entryKeys(store, ACME), ["living", "remote"]);
  }),

  check("Q3: anybody deletes what nobody holds, or one who is gone", async (stage) => {
    const store = await stage.start();
    const closed = await stage.session(store, "closed", { holder: sample.remoteHolder() });
    await value(closed.close());
    const gone = await stage.session(store, "gone", { holder: sample.goneHolder() });
    for (const { key } of [closed, gone]) {
      await value(store.delete(key, sample.holder("anybody"), []));
      await refused(store.readRecord(key), "session_not_found");
    }
    assert.deepEqual(await listedIds(store, ACME), []);
  }),

  check("Q4: a seized session can be deleted by whoever has seized it", async (stage) => {
    const store = await stage.start();
    const writer = await stage.session(store, "s-1", { holder: sample.remoteHolder() });
    await value(store.seize(writer.key, sample.holder(), [entry("seized")]));
    const act = () => store.delete(writer.key, sample.remoteHolder(), []);
    await leavesNoTrace(store, ACME, act, "session_locked");
    await value(store.delete(writer.key, sample.holder(), []));
    await refused(store.readRecord(writer.key), "session_not_found");
  }),

  check(
    "Q5: a damaged session can be deleted, and its id used again",
    async (stage) => {
      const store = await stage.start();
      const { key, term } = await stage.session(store);
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

  check(
    "Q6: a session of another store is not deleted",
    async (stage) => {
      const store = await stage.start();
      const { key, term } = await stage.session(store);
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
