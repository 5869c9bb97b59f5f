import { describe, expect, it } from "vitest";
import { CONTRACT_VERSION, checkStore } from "./compatibility.ts";
import { memoryStore } from "./memory/store.ts";

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
