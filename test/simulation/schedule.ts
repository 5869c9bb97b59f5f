import type { CallOff, Clock } from "../../src/platform/clock.ts";
import type { Chance } from "./chance.ts";

/** Something that will happen: at this time, or any time after it. */
interface Thing {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
  /** The server that it dies with; null if it outlives servers. */
  readonly server: number | null;
  /** Housekeeping comes round for ever: it happens as time passes, and makes none pass. */
  readonly isHousekeeping: boolean;
  readonly act: () => void;
}

/**
 * Decides what happens next. Of everything that could happen now, chance picks one; only when
 * there is nothing, time moves on to what comes first. So every order that the world could
 * bring about may be met, and the same seed meets it again.
 */
export class Schedule {
  readonly #chance: Chance;
  readonly #tell: Tell;
  #things: Thing[] = [];
  #nowMs = FIRST_MS;
  #steps = 0;

  constructor(chance: Chance, tell: Tell) {
    this.#chance = chance;
    this.#tell = tell;
  }

  /** Whether there is a trace: what costs much to write is written only then. */
  get isTold(): boolean {
    return this.#tell !== null;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get steps(): number {
    return this.#steps;
  }

  /** What has not happened yet, as sentences. */
  get pending(): readonly string[] {
    return this.#things.map(({ who, what }) => `${who} ${what}`);
  }

  /** Those that would end with this server. */
  pendingOf(server: number): readonly string[] {
    const own = this.#things.filter((thing) => thing.server === server);
    return own.map(({ who, what }) => `${who} ${what}`);
  }

  add(who: string, what: string, act: () => void, more: ThingDetails = {}): CallOff {
    const { inMs = 0, server = null, isHousekeeping = false } = more;
    const thing = { atMs: this.#nowMs + inMs, who, what, server, isHousekeeping, act };
    this.#things.push(thing);
    return () => {
      this.#things = this.#things.filter((other) => other !== thing);
    };
  }

  /** Resolves when chance has come to it. */
  beat(who: string, what: string, more: ThingDetails = {}): Promise<void> {
    return new Promise((resolve) => this.add(who, what, resolve, more));
  }

  /** The clock of one server; its timers end with it. */
  clock(server: number): Clock {
    return {
      nowMs: () => this.#nowMs,
      after: (ms, act) => {
        const isHousekeeping = ms === REAP_MS;
        return this.add("clock", `rings after ${ms} ms`, act, { inMs: ms, server, isHousekeeping });
      },
    };
  }

  /** Nothing that this server was to do will be done. */
  forget(server: number) {
    this.#things = this.#things.filter((thing) => thing.server !== server);
  }

  /** False when nothing is left that could happen. */
  step(): boolean {
    if (this.#things.every(({ isHousekeeping }) => isHousekeeping)) return false;
    const first = this.#things.reduce((least, { atMs }) => Math.min(least, atMs), Infinity);
    this.#nowMs = Math.max(this.#nowMs, first);
    const ready = this.#things.filter(({ atMs }) => atMs <= this.#nowMs);
    const next = this.#chance.among(ready);
    if (next === undefined) return false;
    this.#things = this.#things.filter((other) => other !== next);
    this.#steps += 1;
    this.say(next.who, next.what);
    next.act();
    return true;
  }

  /** A line of the trace. */
  say(who: string, what: string) {
    this.#tell?.(`${String(this.#nowMs - FIRST_MS).padStart(7)} ms  ${who.padEnd(10)} ${what}`);
  }
}

/** Writes what happens, line by line; null if there is no trace. */
export type Tell = ((line: string) => void) | null;

interface ThingDetails {
  readonly inMs?: number;
  readonly server?: number | null;
  readonly isHousekeeping?: boolean;
}

/** How often servers look for what is idle. No other timer has this time, so it is known by it. */
export const REAP_MS = 61_001;

/** Any time will do, as long as it is always the same. */
const FIRST_MS = 1_750_000_000_000;

/** Resolves when all promises have done what they can, and only the schedule can go on. */
export function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
