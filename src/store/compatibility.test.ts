import { describe, expect, it } from "vitest";
import { CONTRACT_VERSION, checkStore, isInRange } from "./compatibility.ts";
import { memoryStore } from "./memory/store.ts";

describe("a range of versions", () => {
  it.each([
    [">=0.1.0", ["0.1.0", "0.1.1", "3.0.0"], ["0.0.9"]],
    [">0.1.0", ["0.1.1"], ["0.1.0"]],
    [">1.2", ["1.3.0"], ["1.2.9"]],
    ["<2", ["1.9.9"], ["2.0.0"]],
    ["<=1.2", ["1.2.9"], ["1.3.0"]],
    ["^1.2.3", ["1.2.3", "1.9.0"], ["1.2.2", "2.0.0"]],
    ["^0.1.2", ["0.1.9"], ["0.2.0"]],
    ["^0.0.3", ["0.0.3"], ["0.0.4"]],
    ["~1.2.3", ["1.2.9"], ["1.3.0"]],
    ["~1", ["1.9.0"], ["2.0.0"]],
    ["1.x", ["1.0.0", "1.9.9"], ["2.0.0"]],
    ["*", ["0.0.0", "9.9.9"], []],
    ["0.1.0", ["0.1.0"], ["0.1.1"]],
    [">=1.0 <3 || 5.0.0", ["2.9.9", "5.0.0"], ["3.0.0", "5.0.1"]],
    [">= 1.0.0", ["1.0.0"], ["0.9.0"]],
  ])("%s has what it says, and no more", (range, inside, outside) => {
    expect(inside.filter((version) => isInRange(version, range) !== true)).toEqual([]);
    expect(outside.filter((version) => isInRange(version, range) !== false)).toEqual([]);
  });

  it.each(["", "latest", ">=", "1.2.3.4", "1 - 2", "x".repeat(1_000)])("is not %j", (range) => {
    expect(isInRange("1.0.0", range)).toBe(null);
  });
});

/** A store whose contract has been changed so. */
function storeWith(change: object) {
  const store = memoryStore();
  return Object.assign(store, { contract: { ...store.contract, ...change } });
}

function pathOf(store: unknown): unknown {
  const checked = checkStore(store, "0.1.0");
  return checked.ok ? null : checked.refusal.details.path;
}

describe("a store that is picked", () => {
  it("fits if it is for this contract and this Fermata", () => {
    expect(pathOf(memoryStore())).toBe(null);
    expect(pathOf(storeWith({ requiredCoreVersion: "^0.1" }))).toBe(null);
  });

  it.each([
    ["contractVersion", { contractVersion: "2.0.0" }],
    ["contractVersion", { contractVersion: "1.1.0" }],
    ["contractVersion", { contractVersion: "one" }],
    ["requiredCoreVersion", { requiredCoreVersion: ">=0.2.0" }],
    ["requiredCoreVersion", { requiredCoreVersion: undefined }],
    ["storeId", { storeId: "../.." }],
    ["storeId", { storeId: "" }],
    ["kind", { kind: "Store" }],
    ["configSchema", { configSchema: null }],
    ["capabilities", { capabilities: null }],
  ])("does not fit by its %s: %j", (path, change) => {
    expect(pathOf(storeWith(change))).toBe(path);
  });

  it.each([
    ["journaling", false],
    ["largeSlotStreaming", true],
    ["snapshotBytesLimit", 0],
  ])("does not fit if its capability %s is %j", (name, value) => {
    const { capabilities } = memoryStore().contract;
    const store = storeWith({ capabilities: { ...capabilities, [name]: value } });
    expect(pathOf(store)).toBe(`capabilities.${name}`);
  });

  it("must have every function, and what is no store has none", () => {
    expect(pathOf(Object.assign(memoryStore(), { commit: undefined }))).toBe("commit");
    for (const none of [null, undefined, 7, {}, () => 1]) expect(pathOf(none)).toBe("init");
  });

  it("is told which versions there are", () => {
    const checked = checkStore(storeWith({ contractVersion: "2.0.0" }), "0.1.0");
    expect(checked).toMatchObject({
      refusal: { details: { reason: expect.stringContaining(`2.0.0 of the contract`) } },
    });
    expect(JSON.stringify(checked)).toContain(CONTRACT_VERSION);
  });
});
