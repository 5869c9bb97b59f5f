import { Chance } from "./chance.ts";
import { Director } from "./director.ts";
import { Disk } from "./disk.ts";
import { ExtensionJudge } from "./extension-judge.ts";
import { finale } from "./finale.ts";
import { type Flaw, NO_FLAW } from "./flaws.ts";
import { CountedIds } from "./fresh-ids.ts";
import { Judge } from "./judge.ts";
import { Scene } from "./scene.ts";
import { Schedule, settled, type Tell } from "./schedule.ts";
import { temperOf } from "./temper.ts";
import { Words } from "./words.ts";

export interface Life {
  readonly seed: number;
  /** Sentences that begin with the promise; a good life has none. */
  readonly broken: readonly string[];
  readonly steps: number;
}

/** Lives one life. Everything in it follows from its seed, and the same seed is the same life. */
export async function live(seed: number, flaw: Flaw = NO_FLAW, tell: Tell = null): Promise<Life> {
  const chance = new Chance(seed);
  const schedule = new Schedule(chance, tell);
  const judge = new Judge(tell);
  const temper = temperOf(chance);
  const ids = new CountedIds();
  const words = new Words(chance, ids);
  const disk = await Disk.open(judge, words);
  const extensions = extensionsOf(seed, judge);
  const children = childrenOf(seed);
  const parts = { chance, schedule, judge, disk, ids, words, temper, extensions, children };
  const scene = new Scene(parts);
  const director = new Director(scene, flaw);
  const runOut = async () => {
    await settled();
    while (judge.isContent && stepped(schedule, judge)) {
      await settled();
      director.witness.look(director.live, director.server);
      const { steps } = schedule;
      judge.holds(steps < STEPS_MAX, "Hang", () => `it does not come to rest in ${steps} steps`);
    }
  };
  void director.play(chance.between(5, 40));
  await runOut();
  if (judge.isContent) await finale(director, runOut);
  return { seed, broken: judge.broken, steps: schedule.steps };
}

/** Lives without extensions are as they would be if there were none in others. */
function extensionsOf(seed: number, judge: Judge): Scene["extensions"] {
  const chance = new Chance(seed + EXTENSION_SEEDS);
  return chance.happens(0.3) ? { chance, judge: new ExtensionJudge(judge) } : null;
}

/** The same holds for lives without children. */
function childrenOf(seed: number): Scene["children"] {
  const chance = new Chance(seed + CHILD_SEEDS);
  return chance.happens(0.4) ? chance : null;
}

/** Far from the seeds of lives, and from each other. */
const EXTENSION_SEEDS = 2 ** 40;
const CHILD_SEEDS = 2 ** 41;

/** What is thrown in the middle of a step would be thrown at the world's mercy. */
function stepped(schedule: Schedule, judge: Judge): boolean {
  try {
    return schedule.step();
  } catch (thrown) {
    judge.holds(false, "Thrown", () => `${thrown instanceof Error ? thrown.stack : thrown}`);
    return false;
  }
}

/** Far more than any life has needed; a life that needs more goes round in circles. */
const STEPS_MAX = 20_000;
