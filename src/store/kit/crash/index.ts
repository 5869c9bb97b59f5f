import type { Runner } from "../harness.ts";
import { CrashChain } from "./chain.ts";
import { Chance } from "./chance.ts";
import { LOCK_CHECKS, LockWorld } from "./locks.ts";
import type { CrashSubject } from "./subject.ts";

export { playChild } from "./child.ts";
export type { CrashSubject } from "./subject.ts";

export interface CrashOptions {
  /** How often a child is killed at a random instant. */
  readonly kills: number;
  /** Another seed, other work. A failure names the seed of its crash. */
  readonly seed: number;
}

/** Crashes in a row over one place; after that a new one, so that reading stays quick. */
const CHAIN_CRASHES = 10;

/** A passing of a failpoint later than the first is one of these. */
const LATER_PASSINGS_MAX = 12;

/**
 * Kills processes that write to a store, at every step of a write and at random instants, and
 * holds what they leave behind to the contract. Tests take as long as processes take to start.
 */
export function crashPromises(runner: Runner, subject: CrashSubject, options: CrashOptions): void {
  const { kills, seed } = options;
  for (const [title, run] of Object.entries(LOCK_CHECKS)) {
    runner.test(title, () => LockWorld.over(subject, run));
  }
  for (const [index, name] of subject.failpoints.entries()) {
    runner.test(`42, 44, 45: stopped at ${name}, all is old or all is new`, () =>
      CrashChain.over(subject, (chain) => atFailpoint(chain, name, seed + index)),
    );
  }
  for (let done = 0; done < kills; done += CHAIN_CRASHES) {
    const count = Math.min(CHAIN_CRASHES, kills - done);
    runner.test(`88: killed at random instants, all is old or all is new (${done + 1} on)`, () =>
      CrashChain.over(subject, (chain) => atRandom(chain, count, seed + done)),
    );
  }
}

/** The first time that it is passed, in an empty place; then some later time, in a used one. */
async function atFailpoint(chain: CrashChain, name: string, seed: number): Promise<void> {
  const later = new Chance(seed).between(2, LATER_PASSINGS_MAX);
  await chain.crash(seed, { failpoint: name, mayMiss: false });
  await chain.crash(seed + 1, { failpoint: `${name}:${later}`, mayMiss: true });
}

/** Some die while they start, over what the one before them has left; most die at work. */
async function atRandom(chain: CrashChain, count: number, seed: number): Promise<void> {
  for (let crash = 0; crash < count; crash += 1) {
    const chance = new Chance(seed + crash);
    const stop = chance.happens(15)
      ? { lines: 0, ms: chance.below(150) }
      : { lines: chance.between(1, 1_500), ms: chance.below(5) };
    await chain.crash(seed + crash, stop);
  }
}
