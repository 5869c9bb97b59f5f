// The contract of one agent: its checks one after the other, and what came of each.

import { ASKS } from "./checks/asks.ts";
import type { Check } from "./checks/check.ts";
import { CLIENT } from "./checks/client.ts";
import { DELEGATION } from "./checks/delegation.ts";
import { SETTINGS } from "./checks/settings.ts";
import { TALK } from "./checks/talk.ts";
import { END, KEYS, TROUBLE } from "./checks/trouble.ts";
import { USAGE } from "./checks/usage.ts";
import { Broken, must, within } from "./must.ts";
import { type Hosted, World } from "./world.ts";

/** In the order of the matrix. */
export const CHECKS: readonly Check[] = [
  ...TALK,
  ...ASKS,
  ...SETTINGS,
  ...USAGE,
  ...TROUBLE,
  ...CLIENT,
  ...KEYS,
  ...END,
];

/** Of two agents, the first of which delegates to the other. */
export const PAIR_CHECKS: readonly Check[] = DELEGATION;

type CellKind = "pass" | "fail" | "none";

export interface Cell {
  readonly kind: CellKind;
  /** The rule that did not hold, or why there is nothing to try. */
  readonly reason: string;
  /** What was seen, for who reads the run. */
  readonly seen: string;
  readonly ms: number;
}

/** Ends a check that hangs; none of them should ever meet it. */
const CHECK_MS_MAX = 5 * 60 * 1_000;

/** What is known of an agent, or of two together, before it is tried. */
interface Known {
  readonly limits: Readonly<Record<string, string>>;
  readonly without?: Readonly<Record<string, string>>;
}

/** A world is kept from check to check, as long as they hold: what is left of one that broke
 * should not meet the next. */
export class Contract {
  readonly #hosted: readonly [Hosted, ...Hosted[]];
  readonly #known: Known;
  #world: Promise<World> | null = null;
  #isStopped = false;

  constructor(hosted: readonly [Hosted, ...Hosted[]], known: Known) {
    this.#hosted = hosted;
    this.#known = known;
  }

  async try(check: Check): Promise<Cell> {
    const without = this.#known.without?.[check.name];
    if (without !== undefined) return { kind: "none", reason: without, seen: "", ms: 0 };
    const startedMs = performance.now();
    const broken = await this.#run(check).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    const ms = Math.round(performance.now() - startedMs);
    if (broken !== null || check.key !== undefined) await this.end();
    const limit = this.#known.limits[check.name];
    if (broken === null && limit === undefined) return { kind: "pass", reason: "", seen: "", ms };
    if (broken === null) {
      return { kind: "fail", reason: "the limit of the roster is gone", seen: `${limit}`, ms };
    }
    const seen = broken instanceof Error ? broken.message : String(broken);
    if (limit !== undefined) return { kind: "none", reason: limit, seen, ms };
    return { kind: "fail", reason: broken instanceof Broken ? broken.rule : seen, seen, ms };
  }

  /** Ends the world that there is, also one that is being made. */
  async end(): Promise<void> {
    const making = this.#world;
    this.#world = null;
    const world = await making?.catch(() => null);
    await world?.end();
  }

  /** For good, in the middle of a check. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.end();
  }

  async #run(check: Check): Promise<void> {
    if (check.key !== undefined) await this.end();
    must(!this.#isStopped, "the run goes on");
    this.#world ??= World.make(this.#hosted, check.key ?? "good");
    const world = await this.#world;
    world.note(check.name);
    try {
      await within(CHECK_MS_MAX, "the check ends", check.run(world));
    } finally {
      await world.leave();
    }
  }
}
