import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect } from "vitest";
import { anything, commandFor } from "./anything.fixture.ts";
import type { Command } from "./command.ts";
import type { Decision } from "./draft.ts";
import { Life } from "./life.fixture.ts";
import type { Session } from "./state.ts";

/** On how many random lives each promise is tried; more with FERMATA_LIVES. */
export const LIVES = Number(process.env.FERMATA_LIVES ?? 2_000);

type Step = {
  readonly before: Session | null;
  readonly command: Command;
  readonly decision: Decision;
};

type Intents = Parameters<Parameters<typeof anything.map>[0]>[0];
type LivedLife = { readonly intents: Intents; readonly steps: readonly Step[] };

/** Another for each run; a failure names it. */
export const SEED = Number(process.env.FERMATA_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Of so many the steps are kept for all promises; more would not fit into memory. */
const LIVES_KEPT_MAX = 2_000;

const begun = () => new Life().created();

/** Lives a random life, which takes far longer than to look at one. */
function lived(intents: Intents): readonly Step[] {
  const life = begun();
  return intents.map((intent, step) => {
    const before = life.session;
    const command = commandFor(life, intent, step + 2);
    return { before, command, decision: life.submit(command) };
  });
}

let kept: readonly LivedLife[] | null = null;

/** Each random life is lived once, and every promise looks at it. */
function* randomLives(): Generator<LivedLife> {
  const alive = (intents: Intents) => ({ intents, steps: lived(intents) });
  const numRuns = Math.min(LIVES, LIVES_KEPT_MAX);
  kept ??= fc.sample(anything, { numRuns, seed: SEED }).map(alive);
  yield* kept;
  for (let done = numRuns; done < LIVES; done += numRuns) {
    const more = { numRuns: Math.min(numRuns, LIVES - done), seed: SEED + done };
    for (const intents of fc.sample(anything, more)) yield alive(intents);
  }
}

/** What is drawn for each life besides, by its number. */
export function drawn<T>(from: fc.Arbitrary<T>): readonly T[] {
  return fc.sample(from, { numRuns: LIVES, seed: SEED });
}

/** An `expect` takes longer than what it looks at here, so it is only asked what differs. */
export function is(one: unknown, other: unknown) {
  if (!Object.is(one, other)) expect(one).toBe(other);
}

export function equals(one: unknown, other: unknown) {
  if (!isDeepStrictEqual(one, other)) expect(one).toEqual(other);
}

/** Goes through every random life and looks at each step of it; on a failure it looks for less. */
export function inEveryLife(
  look: (step: Step, life: Life) => void,
  end?: (life: Life, number: number) => void,
) {
  const goThrough = (steps: readonly Step[], number: number) => {
    const life = begun();
    for (const step of steps) {
      life.session = step.decision.session;
      life.log.push(...step.decision.events);
      look(step, life);
    }
    end?.(life, number);
  };
  let lives = 0;
  for (const { intents, steps } of randomLives()) {
    const number = lives;
    lives += 1;
    try {
      goThrough(steps, number);
    } catch (thrown) {
      const live = fc.property(anything, (fewer) => goThrough(lived(fewer), number));
      fc.assert(live, { seed: SEED, examples: [[intents]], numRuns: 1 });
      throw thrown;
    }
  }
}
