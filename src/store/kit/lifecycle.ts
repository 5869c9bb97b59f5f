import assert from "node:assert/strict";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isObject, type JsonObject, objectAt } from "../../core/json.ts";
import { isInRange } from "../../core/version.ts";
import type { SessionStore, StoreContract } from "../store.ts";
import { listedIds, refused, sessionState, value } from "./expect.ts";
import { cannot, check, forgetful, inSession, inStore, type StoreCheck } from "./harness.ts";
import { operations, sessionReads, tenantReads, tenantRemoval, writes } from "./operation.ts";
import { openFilesUnder, resourceCounts } from "./removal.ts";
import * as sample from "./sample.ts";
import type { CheckStage } from "./stage.ts";

/** B. From init to dispose. */
export const LIFECYCLE: readonly StoreCheck[] = [
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

  inStore("14: it can be disposed of twice", async (store) => {
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

  inStore("18: every operation is refused after deactivate", async (store, stage) => {
    await stage.session(store);
    await readAll(store);
    await value(store.deactivate());
    await allUnavailable(store);
  }),

  inStore("18: every operation is refused after dispose", async (store, stage) => {
    await stage.session(store);
    await readAll(store);
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
      assert.ok(!result.ok, name);
      // Where it is made of reads and commits it finds before any commit that there is no session.
      const isAbsent = name === "copyPast" && result.refusal.code === "session_not_found";
      assert.ok(isAbsent || result.refusal.code === "store_unavailable", name);
    }
    assert.deepEqual(await listedIds(store, sample.ACME), []);
    assert.deepEqual(await value(store.tenants()), []);
  }),

  inSession(
    "20: deactivate waits for a write that has begun, and it is kept",
    async (writer, store, stage) => {
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
    },
  ),

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

  inStore(
    "21: no file is held open after dispose",
    async (store, stage) => {
      await value((await stage.session(store)).append(1));
      await value(store.dispose());
      await canSeeOpenFiles();
      assert.deepEqual(await openFilesUnder(stage.root), []);
    },
    cannot("root"),
    () => (process.platform === "linux" ? null : "only Linux lists open files"),
  ),

  inSession(
    "21: what it had open can be opened by the next one after dispose",
    async ({ key, term }, store, stage) => {
      const next = await stage.restart(store);
      const opened = await value(next.open(key, sample.holder("next"), []));
      assert.ok(opened.term > term);
      assert.equal(opened.replaced, null, "it was not given up in good order");
    },
    forgetful,
  ),

  inStore("22: it can be initialised again after dispose", async (store, stage) => {
    await value(store.deactivate());
    await value(store.dispose());
    await value(store.init(stage.host, stage.samples.valid));
    await value(store.activate());
    await stage.session(store, "s-2");
  }),

  inSession(
    "22: a restart finds everything as it was",
    async (writer, store, stage) => {
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

/** What was read before might be remembered, and answered when it must not be. */
async function readAll(store: SessionStore) {
  const key = sample.keyOf("s-1");
  for (const { act } of [...sessionReads(store, key), ...tenantReads(store, key)]) await act();
}

async function allUnavailable(store: SessionStore) {
  const key = sample.keyOf("s-1");
  for (const { name, act } of [...operations(store, key), tenantRemoval(store, key)]) {
    const result = await act();
    const answer = result.ok ? "accepted" : result.refusal.code;
    assert.equal(answer, "store_unavailable", name);
  }
}

/** A store may hold no file at all, so the check is tried on a file of its own. */
async function canSeeOpenFiles() {
  const folder = await mkdtemp(join(tmpdir(), "fermata-open-files-"));
  const file = await open(join(folder, "open"), "w");
  try {
    assert.equal((await openFilesUnder(folder)).length, 1, "the check sees no open file at all");
  } finally {
    await file.close();
    await rm(folder, { recursive: true });
  }
}

async function keptThrough(stage: CheckStage, store: SessionStore, lastEventId: number) {
  if (!stage.harness.persists) return;
  const next = await stage.restart(store);
  const record = await value(next.readRecord(sample.keyOf("s-1")));
  assert.equal(record.lastEventId, lastEventId);
}

const SEMVER = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;
const SEMVER_RANGE = /^(?:[\^~]|[<>]=?|=)?\s*\d+(?:\.(?:\d+|x|\*)){0,2}(?:[\s|<>=^~.\dx*-])*$/;

/** A. What a store says of itself, and which configurations it takes. */
export const SHAPE: readonly StoreCheck[] = [
  check("1: every field of the contract is there, with the right type", async (stage) => {
    const expected: Record<keyof StoreContract, readonly string[]> = {
      kind: ["string"],
      contractVersion: ["string"],
      requiredCoreVersion: ["string"],
      configSchema: ["object"],
      loadedCardinality: ["string"],
      activeCardinality: ["string"],
      stateSlot: ["string", "null"],
      discoveryRules: ["object"],
      reloadBehavior: ["string"],
      capabilities: ["object"],
      storeId: ["string"],
    };
    const { contract } = stage.store();
    for (const [field, kinds] of Object.entries(expected)) {
      const found: unknown = Reflect.get(contract, field);
      const kind = found === null ? "null" : typeof found;
      assert.ok(kinds.includes(kind), `${field} is of type ${kind}, not ${kinds.join(" or ")}`);
    }
    assert.equal(contract.discoveryRules.folder, "session-stores");
    assert.match(contract.discoveryRules.key, /^[\w.-]+$/);
  }),

  check("2: its kind is SessionStore", async (stage) => {
    assert.equal(stage.store().contract.kind, "SessionStore");
  }),

  check("3: its versions are semantic versions", async (stage) => {
    const { contractVersion, requiredCoreVersion } = stage.store().contract;
    assert.match(contractVersion, SEMVER);
    assert.match(requiredCoreVersion, SEMVER_RANGE);
    assert.notEqual(isInRange("0.0.0", requiredCoreVersion), null, "Fermata cannot read the range");
  }),

  check("4: any number may be loaded, one may be active", async (stage) => {
    const { loadedCardinality, activeCardinality } = stage.store().contract;
    assert.deepEqual([loadedCardinality, activeCardinality], ["unlimited", "one"]);
  }),

  check("5: it is never reloaded", async (stage) => {
    assert.equal(stage.store().contract.reloadBehavior, "never");
  }),

  check("6: it has the four capabilities, and a positive limit", async (stage) => {
    const { capabilities } = stage.store().contract;
    // A store of before search was there says nothing of it.
    const { search: _, ...declared } = capabilities;
    assert.deepEqual(Object.keys(declared).sort(), [
      "concurrentReaders",
      "journaling",
      "largeSlotStreaming",
      "snapshotBytesLimit",
    ]);
    const { snapshotBytesLimit, ...flags } = capabilities;
    assert.ok(Number.isSafeInteger(snapshotBytesLimit) && snapshotBytesLimit > 0);
    assert.deepEqual([...new Set(Object.values(flags).map((flag) => typeof flag))], ["boolean"]);
  }),

  check("7: its id is not blank, and the same in every instance", async (stage) => {
    const first = stage.store().contract.storeId;
    assert.notEqual(first.trim(), "");
    const second = await stage.start();
    assert.equal(second.contract.storeId, first);
    await value(second.dispose());
    assert.equal((await stage.start()).contract.storeId, first);
  }),

  check("8: unknown options are refused, by the schema and by init", async (stage) => {
    const store = stage.store();
    assert.equal(store.contract.configSchema.additionalProperties, false);
    const config = { ...stage.samples.valid, unheardOf: 1 };
    const { details } = await refused(store.init(stage.host, config), "invalid_store_config");
    assert.equal(details.path, "unheardOf");
  }),

  check("9: `enabled` and `active` are options, and are switches", async (stage) => {
    const properties = objectAt(stage.store().contract.configSchema, "properties");
    for (const name of ["enabled", "active"]) {
      assert.deepEqual(properties?.[name], { type: "boolean" });
      const wrong = { ...stage.samples.valid, [name]: "yes" };
      const { details } = await refused(
        stage.store().init(stage.host, wrong),
        "invalid_store_config",
      );
      assert.equal(details.path, name);
    }
    await value(stage.store().init(stage.host, { ...stage.samples.valid, enabled: true }));
  }),

  check("10: the valid sample is accepted", async (stage) => {
    await value(stage.store().init(stage.host, stage.samples.valid));
  }),

  check("11: the invalid sample is refused, and the option at fault is named", async (stage) => {
    const { config, path } = stage.samples.invalid;
    const { details } = await refused(
      stage.store().init(stage.host, config),
      "invalid_store_config",
    );
    assert.equal(details.path, path);
  }),

  check("12: hostile configurations are refused, and harm nobody", async (stage) => {
    for (const config of hostileConfigs(stage)) {
      const { details } = await refused(
        stage.store().init(stage.host, config),
        "invalid_store_config",
      );
      assert.ok(JSON.stringify(details).length < 1_024, "the refusal repeats what it refuses");
    }
    assert.equal(Reflect.get({}, "polluted"), undefined);
    await value(stage.store().init(stage.host, stage.samples.valid));
  }),
];

function hostileConfigs({ samples }: CheckStage): readonly unknown[] {
  const huge = "x".repeat(1_000_000);
  const withKey = (name: string): JsonObject => ({ ...samples.valid, [name]: 1 });
  const proto: unknown = JSON.parse('{"__proto__":{"polluted":true,"active":true}}');
  assert.ok(isObject(proto));
  return [
    null,
    undefined,
    "active",
    [],
    [samples.valid],
    42,
    { ...samples.valid, active: nested(100_000) },
    { ...samples.valid, active: huge },
    withKey(huge),
    withKey("constructor"),
    withKey("toString"),
    Object.defineProperty({ ...samples.valid }, "__proto__", { value: proto, enumerable: true }),
    ...samples.hostile,
  ];
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}
