import { describe, expect, it } from "vitest";
import { live } from "./life.ts";
import { liveMany, report } from "./lives.ts";
import { newSeed } from "./new-seed.ts";

/** Half of them are the same every time; the others are new, so that the search goes on. */
const LIVES = Number(process.env.FERMATA_SIMS ?? 1_200);
const NEW_SEED = newSeed();

describe("the simulation", () => {
  it.each([1, NEW_SEED])(
    "P1 to P11: are kept in every life from seed %i on",
    async (first) => {
      const { failure } = await liveMany(first, Math.ceil(LIVES / 2));
      expect(failure === null ? "" : report(failure)).toBe("");
    },
    60_000 + LIVES * 100,
  );

  it("lives the same life again from the same seed", async () => {
    for (const seed of [1, 2, 3, NEW_SEED]) {
      const once: string[] = [];
      const twice: string[] = [];
      await live(seed, undefined, (line) => once.push(line));
      await live(seed, undefined, (line) => twice.push(line));
      expect(twice).toEqual(once);
      expect(once.length).toBeGreaterThan(10);
    }
  });
});
