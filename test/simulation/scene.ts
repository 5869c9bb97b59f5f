import type { Chance } from "./chance.ts";
import type { Disk } from "./disk.ts";
import type { CountedIds } from "./fresh-ids.ts";
import type { Judge } from "./judge.ts";
import type { Schedule } from "./schedule.ts";
import { CALM, type Temper } from "./temper.ts";

/** What everybody in a life shares. */
export class Scene {
  readonly chance: Chance;
  readonly schedule: Schedule;
  readonly judge: Judge;
  readonly disk: Disk;
  readonly ids: CountedIds;
  temper: Temper;
  /** Whether this life's store does all that it says, and its servers live until their end. */
  readonly isReliable: boolean;
  /** Sessions that somebody was told could not be made, and why. */
  readonly refused = new Map<string, string>();
  /** Until then the store answers nobody. */
  outageUntilMs = 0;

  constructor(parts: Pick<Scene, "chance" | "schedule" | "judge" | "disk" | "ids" | "temper">) {
    this.chance = parts.chance;
    this.schedule = parts.schedule;
    this.judge = parts.judge;
    this.disk = parts.disk;
    this.ids = parts.ids;
    this.temper = parts.temper;
    const { storeRefuses, crash } = parts.temper;
    this.isReliable = storeRefuses + crash === 0;
  }

  get isOutage(): boolean {
    return this.schedule.nowMs < this.outageUntilMs;
  }

  /** From now on nothing goes wrong any more. */
  heal() {
    this.temper = CALM;
    this.outageUntilMs = 0;
  }

  /** Mostly at once; else after a while that can be longer than most things wait. */
  delayMs(isSlow: number): number {
    const { chance } = this;
    if (!chance.happens(isSlow)) return chance.under(3);
    return chance.pick([5, 40, 300, 2_500, 20_000]);
  }
}
