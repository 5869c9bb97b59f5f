import assert from "node:assert/strict";
import type { ListFilter, SessionRecord } from "../store.ts";
import { type Check, check } from "./check.ts";
import { allListed, listedIds, refused, value } from "./expect.ts";
import * as sample from "./sample.ts";
import type { Stage, Writer } from "./stage.ts";

const { ACME } = sample;

/** Each with what sets it apart; they were active at 10, 20, 30 and so on. */
const ROWS: Readonly<Record<string, Partial<SessionRecord>>> = {
  a: { shared: true },
  b: { closed: true, pendingPrompts: 1 },
  c: { pendingPrompts: 7, workspaceCwd: "/w" },
  d: { closed: true, shared: true },
  e: { shared: true, pendingPrompts: 2, workspaceCwd: "/w", status: "running" },
  f: {},
};

/** H, continued. What a server looks for when it starts, or when somebody comes back. */
export const FILTER: readonly Check[] = [
  check("H8: closed, shared, pending and times are found, each and together", async (stage) => {
    const store = await stage.start();
    await rows(stage, store);
    const expected: readonly (readonly [ListFilter, string])[] = [
      [{ closed: true }, "db"],
      [{ closed: false }, "feca"],
      [{ shared: true }, "eda"],
      [{ shared: false }, "fcb"],
      [{ hasPendingPrompts: true }, "ecb"],
      [{ hasPendingPrompts: false }, "fda"],
      [{ updatedFromMs: 30 }, "fedc"],
      [{ updatedFromMs: 31 }, "fed"],
      [{ updatedBeforeMs: 30 }, "ba"],
      [{ updatedBeforeMs: 31 }, "cba"],
      [{ updatedFromMs: 20, updatedBeforeMs: 50 }, "dcb"],
      [{ updatedFromMs: 50, updatedBeforeMs: 50 }, ""],
      [{ updatedFromMs: -1, updatedBeforeMs: 0 }, ""],
      [{ closed: false, hasPendingPrompts: true }, "ec"],
      [{ workspaceCwd: "/w", shared: true, closed: false }, "e"],
      [{ shared: true, hasPendingPrompts: false, updatedFromMs: 20 }, "d"],
      [{ hasPendingPrompts: true, statuses: ["running"], updatedBeforeMs: 60 }, "e"],
      [{ statuses: [] }, ""],
    ];
    for (const [filter, ids] of expected) {
      const what = JSON.stringify(filter);
      assert.equal((await listedIds(store, ACME, filter)).join(""), ids, what);
      for (const limit of [1, 2, 3]) {
        const paged = await allListed(store, ACME, filter, limit);
        assert.equal(paged.map(({ sessionId }) => sessionId).join(""), ids, `${what} by ${limit}`);
      }
    }
  }),

  check("H9: a filtered page ends where its filter does", async (stage) => {
    const store = await stage.start();
    await rows(stage, store);
    const filter = { shared: true };
    const first = await value(store.list(ACME, filter, { limit: 2, cursor: null }));
    assert.deepEqual(ids(first.sessions), ["e", "d"]);
    const second = await value(store.list(ACME, filter, { limit: 2, cursor: first.nextCursor }));
    assert.deepEqual([ids(second.sessions), second.nextCursor], [["a"], null]);
    const whole = await value(store.list(ACME, filter, { limit: 3, cursor: null }));
    assert.equal(whole.nextCursor, null, "it leads to a page of what was not asked for");
  }),

  check("H10: a session is found by what it is now, and not by what it was", async (stage) => {
    const store = await stage.start();
    const writers = await rows(stage, store);
    const waiting = () => listedIds(store, ACME, { hasPendingPrompts: true });
    const change = (id: string, record: Partial<SessionRecord>) => {
      const own = sample.record({ updatedAtMs: 5, ...record });
      return value(writers.get(id)?.commit({ record: own }) ?? assert.fail());
    };
    await change("c", {});
    assert.deepEqual(await waiting(), ["e", "b"]);
    await change("f", { pendingPrompts: 1, closed: true });
    assert.deepEqual(await waiting(), ["e", "b", "f"]);
    assert.deepEqual(await listedIds(store, ACME, { closed: true }), ["d", "b", "f"]);
    assert.deepEqual(await listedIds(store, ACME, { updatedBeforeMs: 6 }), ["c", "f"]);
    const [found] = await allListed(store, ACME, { closed: true, hasPendingPrompts: true });
    assert.deepEqual([found?.closed, found?.shared, found?.pendingPrompts], [true, false, 1]);
  }),

  check("H11: filters that are none of their kind are refused", async (stage) => {
    const store = await stage.start();
    await stage.session(store);
    const faults: readonly unknown[] = [
      { closed: 1 },
      { shared: "true" },
      { hasPendingPrompts: null },
      { pendingPrompts: 1 },
      { updatedFromMs: Number.NaN },
      { updatedFromMs: 1.5 },
      { updatedBeforeMs: "7" },
      { updatedBeforeMs: Number.POSITIVE_INFINITY },
      { statuses: Array.from({ length: 8 }, () => "running") },
      { statuses: Array.from({ length: 100_000 }, () => "running") },
      { statuses: [["running"]] },
    ];
    for (const filter of faults) {
      const listed = store.list(ACME, filter as ListFilter, { limit: 10, cursor: null });
      await refused(listed, "invalid_store_input");
    }
  }),
];

const ids = (sessions: readonly { readonly sessionId: string }[]) =>
  sessions.map(({ sessionId }) => sessionId);

async function rows(stage: Stage, store: Writer["store"]): Promise<ReadonlyMap<string, Writer>> {
  const writers = new Map<string, Writer>();
  for (const [index, [id, change]] of Object.entries(ROWS).entries()) {
    const record = sample.record({ updatedAtMs: (index + 1) * 10, ...change });
    writers.set(id, await stage.session(store, id, { record }));
  }
  return writers;
}
