import * as sample from "../sample.ts";
import type { Hand } from "./lane.ts";
import type { Step } from "./step.ts";

/** The tenant that is removed again and again. */
export const DOOMED = sample.tenantId("doomed");

const REMOVAL_PERCENT = 20;

/** Furnishes one tenant and removes it, one call after the other: at most one is on its way. */
export class DoomedLane {
  readonly #hand: Hand;

  constructor(hand: Hand) {
    this.#hand = hand;
  }

  async run(count: number): Promise<void> {
    for (let step = 0; step < count; step += 1) await this.#hand.submit(this.#step());
  }

  #step(): Step {
    const { chance, fresh, life, holder } = this.#hand;
    if (chance.happens(REMOVAL_PERCENT)) return { op: "removeTenant", tenantId: DOOMED, holder };
    const name = `${life}-doomed-${fresh()}`;
    const roll = chance.below(4);
    if (roll === 0) return { op: "append", tenantId: DOOMED, entries: [sample.entry(name)] };
    if (roll === 1) return { op: "blob", tenantId: DOOMED, bytes: sample.bytes(name) };
    if (roll === 2) {
      const entries = [sample.entry(name)];
      const write = { kind: "token", key: name, expectedVersion: 0, value: { name }, entries };
      return { op: "document", tenantId: DOOMED, write };
    }
    const key = sample.keyOf(name, DOOMED);
    const manifest = sample.manifest(key, this.#hand.storeId);
    const commit = sample.commit({ events: sample.events(1, chance.between(1, 3)) });
    return { op: "create", key, session: sample.newSession(manifest, { holder, commit }) };
  }
}
