import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventTexts, joinedTurns, verdictTexts } from "./stored.ts";

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

  it("are looked through for verdicts, and what only looks like one is none", () => {
    const verdict = { id: 7, v: 1, type: "turn_complete", data: { said: '"type":"turn_' } };
    const event = fc.oneof(
      fc.dictionary(fc.string(), anything),
      fc.constant(verdict),
      fc.constant({ id: 6, v: 1, type: "session_update", data: { update: verdict } }),
      fc.constant({ id: 5, v: 1, type: "session_update", data: [[verdict], verdict, "]"] }),
      fc.constant({ type: "turn_error", v: 1, id: 8 }),
      fc.constant({ id: 9, v: 1, type: "credits_settled", data: {} }),
    );
    const isExact = (events: readonly { readonly type?: unknown }[]) => {
      const isVerdict = ({ type }: { readonly type?: unknown }) => `${type}`.startsWith("turn_");
      const found = verdictTexts(stored(events)).filter((text) => isVerdict(JSON.parse(text)));
      const verdicts = events.filter(isVerdict).map((one) => JSON.stringify(one));
      return found.join() === verdicts.join();
    };
    fc.assert(fc.property(fc.array(event), isExact), { numRuns: 1_000 });
  });

  it("stay as they are where turns are put together", () => {
    fc.assert(
      fc.property(fc.array(turn), (turns) => {
        const whole = joinedTurns(turns.map(stored), null).join("");
        expect(whole).toBe(JSON.stringify(turns.flat()));
        const marked = joinedTurns(turns.map(stored), { cut: true }).join("");
        expect(marked).toBe(JSON.stringify([{ cut: true }, ...turns.flat()]));
      }),
    );
  });
});
