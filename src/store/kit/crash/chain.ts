import assert from "node:assert/strict";
import { value } from "../expect.ts";
import { Chance } from "./chance.ts";
import { History } from "./history.ts";
import { SessionModel } from "./model.ts";
import { StoreProcess } from "./process.ts";
import type { CrashSubject } from "./subject.ts";
import { takeOver } from "./take-over.ts";
import { verify } from "./verify.ts";
import { started } from "./workload.ts";

/**
 * Where a child is stopped. Some points are passed only once, in an empty place: `mayMiss` says
 * that this one need not be reached.
 */
export type Stop =
  | { readonly failpoint: string; readonly mayMiss: boolean }
  | { readonly lines: number; readonly ms: number };

/** Calls that a child makes at the most; any failpoint is passed long before that. */
const STEPS_MAX = 3_000;
/** So many sessions are taken over after a crash; the others wait for the next child. */
const TAKEN_OVER_PERCENT = 50;

/** One crash after another over the same place, so that damage would add up and show. */
export class CrashChain {
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
