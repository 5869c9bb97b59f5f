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
  ["P5: does not wait for shell commands", 145],
  ["Held: tells a verdict before its prompt is answered", 185],
  ["P3: shows a replay without its last turn", 141],
  ["P5: leaves unfinished forks", 634],
  ["P8: lists another tenant's sessions", 111],
  ["P8: finds another tenant's session", 206],
  ["P10: counts no sessions", 339],
  ["P5: keeps sessions that nobody knows of", 106],
  ["P10: does not wait for the store", 958],
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
