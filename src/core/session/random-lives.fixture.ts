import fc from "fast-check";
import { anything, commandFor } from "./anything.fixture.ts";
import type { Decision } from "./draft.ts";
import { Life } from "./life.fixture.ts";
import type { Session } from "./state.ts";

/** On how many random lives each promise is tried; more with FERMATA_LIVES. */
const LIVES = Number(process.env.FERMATA_LIVES ?? 2_000);

type Step = { readonly before: Session | null; readonly decision: Decision };

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
    return { before, decision: life.submit(commandFor(life, intent, step + 2)) };
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

/** Goes through every random life and looks at each step of it; on a failure it looks for less. */
export function inEveryLife(look: (step: Step, life: Life) => void, end?: (life: Life) => void) {
  const goThrough = (steps: readonly Step[]) => {
    const life = begun();
    for (const step of steps) {
      life.session = step.decision.session;
      life.log.push(...step.decision.events);
      look(step, life);
    }
    end?.(life);
  };
  for (const { intents, steps } of randomLives()) {
    try {
      goThrough(steps);
    } catch (thrown) {
      const live = fc.property(anything, (fewer) => goThrough(lived(fewer)));
      fc.assert(live, { seed: SEED, examples: [[intents]], numRuns: 1 });
      throw thrown;
    }
  }
}
