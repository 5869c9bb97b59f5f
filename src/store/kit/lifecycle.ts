import assert from "node:assert/strict";
import type { SessionStore } from "../store.ts";
import { type Check, cannot, check, forgetful } from "./check.ts";
import { listedIds, refused, sessionState, value } from "./expect.ts";
import { openFilesUnder, resourceCounts } from "./leftover.ts";
import { operations, tenantRemoval, writes } from "./operation.ts";
import * as sample from "./sample.ts";
import type { Stage } from "./stage.ts";

/** B. From init to dispose. */
export const LIFECYCLE: readonly Check[] = [
  check("13: the four phases run in order; only activation announces the store", async (stage) => {
    const store = stage.store();
    await value(store.init(stage.host, stage.samples.valid));
    assert.deepEqual(stage.announced, []);
    await value(store.activate());
    assert.deepEqual(stage.announced, [store.contract.storeId]);
    await value(store.deactivate());
    await value(store.dispose());
    assert.deepEqual(stage.announced, [store.contract.storeId]);
  }),

  check("14: it can be disposed of twice", async (stage) => {
    const store = await stage.start();
    await value(store.dispose());
    await value(store.dispose());
  }),

  check("15: it can be disposed of without having been initialised", async (stage) => {
    const store = stage.store();
    await value(store.dispose());
    await refused(store.activate(), "store_unavailable");
  }),

  check(
    "16: init fails where its backend cannot be reached",
    async (stage) => {
      for (const config of stage.samples.unreachable) {
        const store = stage.store();
        const { details } = await refused(store.init(stage.host, config), "store_unavailable");
        assert.notEqual(details.reason ?? "", "", "the refusal has no reason");
        await refused(store.activate(), "store_unavailable");
      }
    },
    ({ harness }) =>
      harness.samples("").unreachable.length > 0 ? null : "every configuration can be reached",
  ),

  check(
    "17: init fails where its backend cannot be written",
    async (stage) => {
      await value((await stage.start()).dispose());
      const undo = await stage.world("makeReadOnly")(stage.place);
      try {
        await refused(stage.store().init(stage.host, stage.samples.valid), "store_unavailable");
      } finally {
        await undo();
      }
      await stage.start();
    },
    cannot("makeReadOnly"),
  ),

  check("18: every operation is refused before init", async (stage) => {
    await allUnavailable(stage.store());
  }),

  check("18: every operation is refused after deactivate", async (stage) => {
    const store = await stage.start();
    await stage.session(store);
    await value(store.deactivate());
    await allUnavailable(store);
  }),

  check("18: every operation is refused after dispose", async (stage) => {
    const store = await stage.start();
    await stage.session(store);
    await value(store.dispose());
    await allUnavailable(store);
  }),

  check("19: a store that is not the active one announces and writes nothing", async (stage) => {
    const store = stage.store();
    await value(store.init(stage.host, { ...stage.samples.valid, active: false }));
    await refused(store.activate(), "store_unavailable");
    assert.deepEqual(stage.announced, []);
    const key = sample.keyOf("s-1");
    for (const { name, act } of [...writes(store, key), tenantRemoval(store, key)]) {
      const result = await act();
      assert.ok(!result.ok && result.refusal.code === "store_unavailable", name);
    }
    assert.deepEqual(await listedIds(store, sample.ACME), []);
    assert.deepEqual(await value(store.tenants()), []);
  }),

  check("20: deactivate waits for a write that has begun, and it is kept", async (stage) => {
    const store = await stage.start();
    const writer = await stage.session(store);
    const answers: string[] = [];
    const first = writer.commit({ events: sample.events(1, 100) });
    const second = writer.commit({ events: sample.events(101, 1) });
    const watched = Promise.all([first, second]).then(() => answers.push("written"));
    await value(store.deactivate());
    answers.push("deactivated");
    await watched;
    assert.deepEqual(answers, ["written", "deactivated"]);
    assert.deepEqual(await value(second), { revision: 0, lastEventId: 101 });
    await keptThrough(stage, store, 101);
  }),

  check("21: nothing that could keep a process alive is left after dispose", async (stage) => {
    const live = async (id: string) => {
      const store = await stage.start();
      await value((await stage.session(store, id)).append(1));
      await value(store.dispose());
    };
    // The first life may open what belongs to the process, such as its standard output.
    await live("first");
    const before = resourceCounts();
    await live("second");
    const after = resourceCounts();
    for (const [kind, count] of after) {
      assert.ok(count <= (before.get(kind) ?? 0), `${count} of ${kind} are left`);
    }
  }),

  check(
    "21: no file is held open after dispose",
    async (stage) => {
      const store = await stage.start();
      await value((await stage.session(store)).append(1));
      assert.ok(
        (await openFilesUnder(stage.root)).length > 0,
        "the check sees no open file at all",
      );
      await value(store.dispose());
      assert.deepEqual(await openFilesUnder(stage.root), []);
    },
    cannot("root"),
    () => (process.platform === "linux" ? null : "only Linux lists open files"),
  ),

  check(
    "21: what it had open can be opened by the next one after dispose",
    async (stage) => {
      const store = await stage.start();
      const { key, term } = await stage.session(store);
      const next = await stage.restart(store);
      const opened = await value(next.open(key, sample.holder("next"), []));
      assert.ok(opened.term > term);
      assert.equal(opened.replaced, null, "it was not given up in good order");
    },
    forgetful,
  ),

  check("22: it can be initialised again after dispose", async (stage) => {
    const store = await stage.start();
    await value(store.deactivate());
    await value(store.dispose());
    await value(store.init(stage.host, stage.samples.valid));
    await value(store.activate());
    await stage.session(store, "s-2");
  }),

  check(
    "22: a restart finds everything as it was",
    async (stage) => {
      const store = await stage.start();
      const writer = await stage.session(store);
      await value(writer.append(3, { journal: [sample.entry("a")] }));
      const slots = [sample.slot("core", "x")];
      await value(writer.snapshot({ messages: [sample.message("hi")], slots }));
      await value(writer.close());
      const before = await sessionState(store, writer.key);
      const next = await stage.restart(store);
      assert.deepEqual(await sessionState(next, writer.key), before);
      assert.deepEqual(await value(next.tenants()), [sample.ACME]);
    },
    forgetful,
  ),
];

async function allUnavailable(store: SessionStore) {
  const key = sample.keyOf("s-1");
  for (const { name, act } of [...operations(store, key), tenantRemoval(store, key)]) {
    const result = await act();
    const answer = result.ok ? "accepted" : result.refusal.code;
    assert.equal(answer, "store_unavailable", name);
  }
}

async function keptThrough(stage: Stage, store: SessionStore, lastEventId: number) {
  if (!stage.harness.persists) return;
  const next = await stage.restart(store);
  const record = await value(next.readRecord(sample.keyOf("s-1")));
  assert.equal(record.lastEventId, lastEventId);
}
