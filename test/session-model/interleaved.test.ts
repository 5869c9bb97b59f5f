import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Outcomes, type Play, perform } from "./play.fixture.ts";

const SESSIONS = [0, 1, 2];
const ACTS = 3;
const LINES_MAX = 9;
const RUNS = 5;

/** Turns, commands that look, commands that change, and bad ones. */
const LINES = [
  "say something",
  "tool t1 kind=read text=found status=completed",
  "recall",
  "/skills",
  "/help deploy",
  "/skill deploy recall",
  "/ship recall",
  "/skill look note.txt",
  "/skill only-1 say briefly",
  "/skill nowhere",
  "/agent",
  "/agent second",
  "/agent echo",
  "/model",
  "/model echo-large",
  "/model melon",
  "/reload_skills",
  "/reload_persona",
  "/reload_skills now",
];

const step = fc.record({
  session: fc.constantFrom(...SESSIONS),
  line: fc.constantFrom(...LINES),
});

const play: fc.Arbitrary<Play> = fc.record({
  acts: fc.array(fc.array(step, { maxLength: LINES_MAX }), { minLength: ACTS, maxLength: ACTS }),
  restartBefore: fc.integer({ min: 1, max: ACTS - 1 }),
});

describe("sessions side by side", () => {
  it("P8: are each as if it were alone", { timeout: 120_000 }, async () => {
    const holds = async (one: Play) => {
      const [together, ...alone] = await Promise.all([
        perform(one, SESSIONS),
        ...SESSIONS.map((session) => perform(one, [session])),
      ]);
      const solo: Outcomes = new Map(alone.flatMap((outcomes) => [...outcomes]));
      expect(together).toEqual(solo);
    };
    await fc.assert(fc.asyncProperty(play, holds), { numRuns: RUNS, endOnFailure: true });
  });

  it("are seen to differ where they do: by a line, by files", { timeout: 60_000 }, async () => {
    const said = (line: string, act: number): Play => {
      const acts = Array.from({ length: ACTS }, () => [{ session: 0, line: "/skills" }]);
      return { acts: acts.with(act, [{ session: 0, line }]), restartBefore: 1 };
    };
    const [first, second, third, again] = await Promise.all([
      perform(said("/reload_skills", 1), [0]),
      perform(said("/reload_skills", 2), [0]),
      perform(said("say something", 1), [0]),
      perform(said("/reload_skills", 1), [0]),
    ]);
    expect(first).toEqual(again);
    expect(first).not.toEqual(second);
    expect(first).not.toEqual(third);
  });
});
