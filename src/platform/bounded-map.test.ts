import { describe, expect, it } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

describe("a bounded map", () => {
  it("P10: evicts the oldest entry when it has more than its limit", () => {
    const map = new BoundedMap<string, number>(2).set("a", 1).set("b", 2).set("c", 3);
    expect([...map]).toEqual([
      ["b", 2],
      ["c", 3],
    ]);
  });

  it("makes an entry that is set again the newest, and evicts nothing for it", () => {
    const map = new BoundedMap<string, number>(2).set("a", 1).set("b", 2).set("a", 3);
    expect([...map.keys()]).toEqual(["b", "a"]);
    expect(map.set("c", 4).has("b")).toBe(false);
  });

  it("leaves the order alone when an entry is read by `get`", () => {
    const map = new BoundedMap<string, number>(2).set("a", 1).set("b", 2);
    expect(map.get("a")).toBe(1);
    expect(map.set("c", 3).has("a")).toBe(false);
  });

  it("makes an entry that is read by `use` the newest", () => {
    const map = new BoundedMap<string, number>(2).set("a", 1).set("b", 2);
    expect(map.use("a")).toBe(1);
    expect([...map.set("c", 3).keys()]).toEqual(["a", "c"]);
    expect(map.use("b")).toBeUndefined();
    expect(map.size).toBe(2);
  });

  it("reports an evicted entry after it is gone, but not a deleted one", () => {
    const evicted: unknown[] = [];
    const map = new BoundedMap<string, number>(1, (value, key) => {
      evicted.push([key, value, map.has(key)]);
    });
    map.set("a", 1).delete("a");
    map.set("b", 2).set("c", 3).clear();
    expect(evicted).toEqual([["b", 2, false]]);
  });
});
