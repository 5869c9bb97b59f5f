import assert from "node:assert/strict";
import { value } from "../expect.ts";
import type { Runner } from "../harness.ts";
import { LOCK_CHECKS, LockWorld, takeOver } from "./locks.ts";
import { History, SessionModel } from "./model.ts";
import { type CrashSubject, StoreProcess } from "./process.ts";
import { verify } from "./verify.ts";
import { Chance, started } from "./workload.ts";

export type { CrashSubject } from "./process.ts";
export { playChild } from "./process.ts";

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

/**
 * Where a child is stopped. Some points are passed only once, in an empty place: `mayMiss` says
 * that this one need not be reached.
 */
type Stop =
  | { readonly failpoint: string; readonly mayMiss: boolean }
  | { readonly lines: number; readonly ms: number };

/** Calls that a child makes at the most; any failpoint is passed long before that. */
const STEPS_MAX = 3_000;
/** So many sessions are taken over after a crash; the others wait for the next child. */
const TAKEN_OVER_PERCENT = 50;

/** One crash after another over the same place, so that damage would add up and show. */
class CrashChain {
  readonly #subject: CrashSubject;
  readonly #place: string;
  readonly #history = new History();
  #crashes = 0;

  private constructor(subject: CrashSubject, place: string) {
    this.#subject = subject;
    this.#place = place;
  }

  /** Each chain has a place of its own, and leaves nothing behind. */
  static async over(subject: CrashSubject, run: (chain: CrashChain) => Promise<void>) {
    const place = await subject.makePlace();
    try {
      await run(new CrashChain(subject, place));
    } finally {
      await subject.clearPlace(place);
    }
  }

  /** Lets a child work until it is stopped, and looks at what it has left. */
  async crash(seed: number, stop: Stop): Promise<void> {
    this.#crashes += 1;
    try {
      await this.#crash(seed, stop);
    } catch (thrown) {
      const where = `seed ${seed}, crash ${this.#crashes} of its chain, ${JSON.stringify(stop)}`;
      const why = thrown instanceof Error ? thrown.message : `${thrown}`;
      throw new Error(`${where}: ${why}`, { cause: thrown });
    }
  }

  async #crash(seed: number, stop: Stop): Promise<void> {
    const life = `c${this.#crashes}`;
    const config = this.#subject.config(this.#place);
    const orders = { config, task: "work", seed, life, steps: STEPS_MAX } as const;
    const child = new StoreProcess(
      this.#subject,
      orders,
      "failpoint" in stop ? stop.failpoint : "",
    );
    if ("lines" in stop) {
      await child.until((lines) => lines.length >= stop.lines);
      await new Promise((resolve) => setTimeout(resolve, stop.ms));
      await child.kill();
    } else await child.ended();
    assert.equal(child.trouble, "");
    if ("failpoint" in stop) {
      assert.ok(child.wasKilled || stop.mayMiss, "it never came to this point");
    }
    this.#history.hear(child.lines);
    await this.#look(new Chance(seed), life);
  }

  async #look(chance: Chance, life: string): Promise<void> {
    const store = await started(this.#subject.store(), this.#subject.config(this.#place));
    try {
      await verify(store, this.#history);
      for (const { key, settled } of this.#history.sessions) {
        const isThere = new SessionModel(key.sessionId, settled).expected.session !== null;
        if (!isThere || !chance.happens(TAKEN_OVER_PERCENT)) continue;
        await takeOver(store, this.#history, key, `${life}-taken-${key.sessionId}`);
      }
    } finally {
      await value(store.dispose());
    }
  }
}
