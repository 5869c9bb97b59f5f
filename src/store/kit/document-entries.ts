import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import { STORE_ROW_BYTES } from "../../core/limits.ts";
import type { JournalEntry, SessionStore } from "../store.ts";
import { type Check, check, forgetful } from "./check.ts";
import { entryKeys, leavesNoTrace, refused, tenantState, unchanged, value } from "./expect.ts";
import * as sample from "./sample.ts";

const { ACME, entry } = sample;

/** N, continued. A document and the entries that tell of it are one commit. */
export const DOCUMENT_ENTRIES: readonly Check[] = [
  check("N12: a document and the entries that tell of it appear together", async (stage) => {
    const store = await stage.start();
    const paid = entry("paid", { journal: "ledger" });
    await value(write(store, 0, { n: 1 }, [entry("made"), paid]));
    assert.deepEqual(await view(store), [{ n: 1 }, ["made"], ["paid"]]);
    await value(write(store, 1, { n: 2 }, []));
    await value(write(store, 2, { n: 3 }, [entry("changed"), entry("twice")]));
    assert.deepEqual(await view(store), [{ n: 3 }, ["made", "changed", "twice"], ["paid"]]);
    await value(write(store, 3, null, [entry("deleted")]));
    const all = ["made", "changed", "twice", "deleted"];
    assert.deepEqual(await view(store), [null, all, ["paid"]]);
    const { audit } = await tenantState(store, ACME);
    assert.deepEqual(
      audit.map(({ seq }) => seq),
      [1, 2, 3, 4],
    );
  }),

  check("N13: a document that is not replaced leaves nothing of its entries", async (stage) => {
    const store = await stage.start();
    await value(write(store, 0, { n: 1 }, [entry("made")]));
    await value(write(store, 1, { n: 2 }, [entry("changed")]));
    const told = [entry("never"), entry("nor this", { journal: "ledger" })];
    for (const expected of [0, 1, 3]) {
      for (const replacement of [{ n: 3 }, null]) {
        const act = () => write(store, expected, replacement, told);
        await leavesNoTrace(store, ACME, act, "document_conflict");
      }
    }
    await value(write(store, 2, { n: 3 }, told));
    assert.deepEqual(await view(store), [{ n: 3 }, ["made", "changed", "never"], ["nor this"]]);
  }),

  check("N14: a document of which nothing can be told stays as it is", async (stage) => {
    const store = await stage.start();
    await value(write(store, 0, { n: 1 }, [entry("taken")]));
    const conflict = [entry("new"), entry("taken", { text: "another text" })];
    const twice = [entry("new"), entry("new", { text: "another text" })];
    for (const replacement of [{ n: 2 }, null]) {
      for (const entries of [conflict, twice]) {
        const act = () => write(store, 1, replacement, entries);
        await leavesNoTrace(store, ACME, act, "journal_conflict");
      }
      const nameless = () => write(store, 1, replacement, [entry("new"), entry("")]);
      await leavesNoTrace(store, ACME, nameless, "invalid_store_input");
      for (const entries of [null, 7, {}, [null], [7]]) {
        const act = () => write(store, 1, replacement, entries as never);
        await leavesNoTrace(store, ACME, act, "invalid_store_input");
      }
    }
    await value(write(store, 1, { n: 2 }, [entry("new")]));
  }),

  check(
    "N15: an entry that is there already is not told again, and hinders nobody",
    async (stage) => {
      const store = await stage.start();
      await value(store.appendJournal(ACME, [entry("there")]));
      await value(write(store, 0, { n: 1 }, [entry("there"), entry("new"), entry("new")]));
      assert.deepEqual(await view(store), [{ n: 1 }, ["there", "new"], []]);
    },
  ),

  check("N16: of many that write one version only the winner's entry is there", async (stage) => {
    const store = await stage.start();
    const hands = Array.from({ length: 16 }, (_, hand) => hand);
    const results = await Promise.all(
      hands.map((hand) => write(store, 0, { hand }, [entry(`by ${hand}`)])),
    );
    const winners = hands.filter((hand) => results[hand]?.ok);
    assert.equal(winners.length, 1);
    const [hand] = winners;
    assert.deepEqual(await view(store), [{ hand }, [`by ${hand}`], []]);
  }),

  check("N17: entries that come with a document are bounded like a commit", async (stage) => {
    const store = await stage.start();
    const limit = store.contract.capabilities.snapshotBytesLimit;
    const large = [entry("large", { text: "x".repeat(limit + 1) })];
    const many = Array.from({ length: Math.floor(limit / STORE_ROW_BYTES) + 1 }, (_, index) =>
      entry(`${index}`, { text: "" }),
    );
    for (const entries of [large, many]) {
      const act = () => write(store, 0, { n: 1 }, entries);
      await leavesNoTrace(store, ACME, act, "snapshot_too_large");
    }
  }),

  check("N18: to delete what is not there makes a tenant only to tell of it", async (stage) => {
    const store = await stage.start();
    await value(write(store, 0, null, []));
    await refused(write(store, 1, { n: 1 }, [entry("late")]), "document_conflict");
    await refused(write(store, 1, null, [entry("late")]), "document_conflict");
    assert.deepEqual(await value(store.tenants()), []);
    await value(write(store, 0, null, [entry("told")]));
    assert.deepEqual(await view(store), [null, ["told"], []]);
  }),

  check("N19: entries are copied when the call is made, as the document is", async (stage) => {
    const store = await stage.start();
    const handed = { ...entry("mine") };
    const entries = [handed];
    const writing = write(store, 0, { n: 1 }, entries);
    Object.assign(handed, { key: "scribbled", text: "scribbled" });
    entries.push(entry("one more"));
    await value(writing);
    const { audit } = await tenantState(store, ACME);
    assert.deepEqual(audit, [{ ...entry("mine"), seq: 1 }]);
  }),

  check(
    "N20: a document and what was told of it outlive a restart",
    async (stage) => {
      const store = await stage.start();
      await value(write(store, 0, { n: 1 }, [entry("made")]));
      const before = await tenantState(store, ACME);
      const next = await stage.restart(store);
      assert.deepEqual(await tenantState(next, ACME), before);
      const again = () => value(next.appendJournal(ACME, [entry("made")]));
      await unchanged(next, ACME, again);
      await value(write(next, 1, { n: 2 }, [entry("changed")]));
      assert.deepEqual(await view(next), [{ n: 2 }, ["made", "changed"], []]);
    },
    forgetful,
  ),
];

function write(
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
