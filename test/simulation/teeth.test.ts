import { describe, expect, it } from "vitest";
import { FLAWS } from "./flaws.ts";
import { liveMany, report } from "./lives.ts";

/** Rare troubles need many lives; a flaw that hides in so many would hide for ever. */
const LIVES_MAX = 6_000;

/**
 * Where flaws that hide long have shown once, or have broken their own promise before any other.
 * It saves time while lives stay as they are.
 */
const SHOWN_AT: ReadonlyMap<string, number> = new Map([
  ["P1: replies before it is durable", 2],
  ["P5: leaves unfinished forks", 1_254],
  ["P10: does not wait for the store", 601],
  ["P6: takes a slot of a version that its owner rejects", 2_086],
]);

describe("a server with a flaw", () => {
  it.each(Object.entries(FLAWS))(
    "is found out: %s",
    async (name, flaw) => {
      const { failure } = await liveMany(SHOWN_AT.get(name) ?? 1, LIVES_MAX, flaw);
      const promises = name.slice(0, name.indexOf(":")).split(", ");
      const sentence = failure?.broken[0] ?? "nothing";
      expect(promises, failure === null ? name : report(failure)).toContain(
        sentence.slice(0, sentence.indexOf(":")),
      );
    },
    600_000,
  );
});
