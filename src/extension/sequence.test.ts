import { describe, expect, it } from "vitest";
import { startSequence } from "./sequence.ts";

/** Extensions by what they depend on, all of version 1.0.0. */
function orderOf(needs: Readonly<Record<string, readonly string[]>>, range = "^1.0.0") {
  const items = Object.entries(needs).map(([id, others]) => {
    const dependsOn = Object.fromEntries(others.map((name) => [name, range]));
    return { id, version: "1.0.0", dependsOn };
  });
  const { order, refused } = startSequence(items);
  return {
    order: order.map(({ id }) => id).join(" "),
    refused: Object.fromEntries(
      [...refused].map(([id, { code, details }]) => {
        return [id, `${code.slice("extension_dependency_".length)}: ${details.path}`];
      }),
    ),
  };
}

describe("the order in which extensions come up", () => {
  it.each<[string, Readonly<Record<string, readonly string[]>>, string]>([
    ["nothing", {}, ""],
    ["ties by name, however they were found", { c: [], a: [], b: [] }, "a b c"],
    ["what others depend on first", { a: ["z"], m: [], z: [] }, "m z a"],
    ["a chain", { a: ["b"], b: ["c"], c: ["d"], d: [] }, "d c b a"],
    [
      "a diamond",
      { top: ["left", "right"], left: ["base"], right: ["base"], base: [] },
      "base left right top",
    ],
  ])("is %s", (_, needs, order) => {
    expect(orderOf(needs)).toEqual({ order, refused: {} });
  });

  it("leaves out what depends in a circle, naming the way round, and what depends on that", () => {
    expect(orderOf({ a: ["b"], b: ["c"], c: ["a"], d: ["c"], e: [] })).toEqual({
      order: "e",
      refused: {
        a: "cycle: a -> b -> c -> a",
        b: "cycle: b -> c -> a -> b",
        c: "cycle: c -> a -> b -> c",
        d: "cycle: d -> c -> a -> b -> c",
      },
    });
  });

  it("leaves out what depends on nothing there, naming the way to it", () => {
    expect(orderOf({ a: ["b"], b: ["gone"], c: [] })).toEqual({
      order: "c",
      refused: { a: "missing: a -> b -> gone", b: "missing: b -> gone" },
    });
  });

  it("leaves out what needs another version than there is", () => {
    const { order, refused } = startSequence([
      { id: "a", version: "1.0.0", dependsOn: { b: "^2.0.0" } },
      { id: "b", version: "1.9.0", dependsOn: {} },
    ]);
    expect(order.map(({ id }) => id)).toEqual(["b"]);
    expect(refused.get("a")).toEqual({
      code: "extension_dependency_missing",
      details: { extension: "a", path: "a -> b", reason: "b is 1.9.0, not ^2.0.0" },
    });
  });
});
