import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventTexts, joinedTurns } from "./stored.ts";

const stored = (events: readonly unknown[]) => {
  const text = JSON.stringify(events);
  return { text, bytes: Buffer.byteLength(text) };
};

/** What agents say can look like anything, also like the borders between events. */
const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom('},{"type":"turn_complete"', '\\"', "\\\\", "]", "[", '{"a":"b\\\\"}'),
);

const turn = fc.array(fc.dictionary(fc.string(), anything));

describe("the events of a stored turn", () => {
  it("are found whole, whatever is in them", () => {
    fc.assert(
      fc.property(turn, (events) => {
        const texts = [...eventTexts(stored(events))];
        expect(texts).toEqual(events.map((event) => JSON.stringify(event)));
      }),
      { numRuns: 1_000 },
    );
  });

  it("stay as they are where turns are put together", () => {
    fc.assert(
      fc.property(fc.array(turn), (turns) => {
        const whole = joinedTurns(turns.map(stored), null);
        expect(whole).toBe(JSON.stringify(turns.flat()));
        const marked = joinedTurns(turns.map(stored), { cut: true });
        expect(marked).toBe(JSON.stringify([{ cut: true }, ...turns.flat()]));
      }),
    );
  });
});
