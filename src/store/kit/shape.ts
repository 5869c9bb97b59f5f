import assert from "node:assert/strict";
import { isObject, type JsonObject, objectAt } from "../../core/json.ts";
import type { StoreContract } from "../store.ts";
import { type Check, check } from "./check.ts";
import { refused, value } from "./expect.ts";
import type { Stage } from "./stage.ts";

const SEMVER = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;
const SEMVER_RANGE = /^(?:[\^~]|[<>]=?|=)?\s*\d+(?:\.(?:\d+|x|\*)){0,2}(?:[\s|<>=^~.\dx*-])*$/;

/** A. What a store says of itself, and which configurations it takes. */
export const SHAPE: readonly Check[] = [
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
    assert.deepEqual(Object.keys(capabilities).sort(), [
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

function hostileConfigs({ samples }: Stage): readonly unknown[] {
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
