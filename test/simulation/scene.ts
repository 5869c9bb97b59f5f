import type { Chance } from "./chance.ts";
import type { Disk } from "./disk.ts";
import type { ExtensionJudge } from "./extension-judge.ts";
import type { CountedIds } from "./fresh-ids.ts";
import type { Judge } from "./judge.ts";
import type { Schedule } from "./schedule.ts";
import { CALM, type Temper } from "./temper.ts";
import type { Words } from "./words.ts";

type Parts =
  | "chance"
  | "schedule"
  | "judge"
  | "disk"
  | "ids"
  | "words"
  | "temper"
  | "extensions"
  | "children";

/** What all parts of a life share. */
export class Scene {
  readonly chance: Chance;
  readonly schedule: Schedule;
  readonly judge: Judge;
  readonly disk: Disk;
  readonly ids: CountedIds;
  readonly words: Words;
  temper: Temper;
  /** Whether this life's store does all that it says, and its servers live until their end. */
  readonly isReliable: boolean;
  /** Whether it does all that it says, also when servers crash. */
  readonly hasGoodStore: boolean;
  /** Both, and there is one server only. */
  readonly isUndisturbed: boolean;
  /** Sessions whose creation was refused, and why, by their names on the disk. */
  readonly refused = new Map<string, string>();
  /** Where clients wanted their sessions to be, by their names on the disk. */
  readonly wanted = new Map<string, string>();
  /** Sessions that some client has spoken of, by their names on the disk. */
  readonly known = new Set<string>();
  /** The mode in which agents left their sessions, which some remember. */
  readonly modesLeft = new Map<string, string>();
  /** What befalls extensions has a chance of its own; null in a life without any. */
  readonly extensions: { readonly chance: Chance; readonly judge: ExtensionJudge } | null;
  /** What agents delegate has a chance of its own; null in a life without children. */
  readonly children: Chance | null;
  /** Whether things may still go wrong. */
  isTroubled = true;
  /** Until then the store does not answer. */
  outageUntilMs = 0;

  constructor(parts: Pick<Scene, Parts>) {
    this.chance = parts.chance;
    this.schedule = parts.schedule;
    this.judge = parts.judge;
    this.disk = parts.disk;
    this.ids = parts.ids;
    this.words = parts.words;
    this.temper = parts.temper;
    this.extensions = parts.extensions;
    this.children = parts.children;
    const { storeRefuses, crash, restart } = parts.temper;
    this.hasGoodStore = storeRefuses === 0;
    this.isReliable = storeRefuses + crash === 0;
    this.isUndisturbed = this.isReliable && restart === 0;
  }

  get isOutage(): boolean {
    return this.schedule.nowMs < this.outageUntilMs;
  }

  /** From now on nothing goes wrong any more. */
  heal() {
    this.temper = CALM;
    this.isTroubled = false;
    this.outageUntilMs = 0;
  }

  /** Mostly at once; else after a while that can be longer than most things wait. */
  delayMs(isSlow: number): number {
    const { chance } = this;
    if (!chance.happens(isSlow)) return chance.under(3);
    return chance.pick([5, 40, 300, 2_500, 20_000]);
  }
}
