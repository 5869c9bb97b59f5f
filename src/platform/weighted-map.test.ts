import { describe, expect, it } from "vitest";
import { WeightedMap } from "./weighted-map.ts";

describe("P10: a weighted map", () => {
  it("evicts what was used least recently, until the rest is light enough", () => {
    const map = new WeightedMap<string, string>(10);
    for (const key of ["a", "b", "c"]) map.set(key, key, 3);
    expect(map.use("a")).toBe("a");
    map.set("d", "d", 4);
    expect([...map.keys()]).toEqual(["c", "a", "d"]);
    map.set("e", "e", 10);
    expect([...map.keys()]).toEqual(["e"]);
  });

  it("keeps nothing that is too heavy by itself, and no earlier value under its key", () => {
    const map = new WeightedMap<string, number>(10);
    map.set("a", 1, 5);
    map.set("a", 2, 11);
    expect(map.use("a")).toBeUndefined();
    map.set("b", 3, 10);
    expect(map.size).toBe(1);
  });

  it("counts a value that is replaced or deleted no more", () => {
    const map = new WeightedMap<string, number>(10);
    map.set("a", 1, 9);
    map.set("a", 2, 2);
    map.set("b", 3, 8);
    map.delete("b");
    map.set("c", 4, 8);
    expect([...map.keys()]).toEqual(["a", "c"]);
  });
});
