import type { SessionStore } from "../src/store/index.ts";
import { copyByCommits } from "../src/store/past.ts";
import { type BenchSession, StoreWorld, value } from "./store-world.ts";
import { Latencies, type Trial } from "./trial.ts";

const TURNS = 10_000;
/** By commits so many take about as long as all of them in the store. */
const TURNS_BY_COMMITS = 1_000;

type Copy = SessionStore["copyPast"];

/** Branches of one long session, while another one streams. */
class BranchStage {
  readonly #world = new StoreWorld();
  readonly #copying = new Latencies(`${TURNS.toLocaleString("en")} turns, in the store`);
  readonly #waiting = new Latencies("meanwhile, one event of another session");
  #source: BenchSession | null = null;
  #branches = 0;

  async open(): Promise<void> {
    await this.#world.open();
    this.#source = await this.#world.session("source");
    for (let n = 0; n < TURNS; n += 1) value(await this.#source.endSpokenTurn());
  }

  close(): Promise<void> {
    return this.#world.close();
  }

  byCommits(): Promise<number> {
    const { store } = this.#world;
    return this.#branched(TURNS_BY_COMMITS, (...step) => copyByCommits(store, ...step));
  }

  async inStore(): Promise<number> {
    const { store } = this.#world;
    const other = await this.#world.session(`other-${this.#branches}`);
    let isDone = false;
    const branching = this.#branched(TURNS, (...step) => store.copyPast(...step)).finally(() => {
      isDone = true;
    });
    while (!isDone) value(await this.#waiting.of(() => other.append()));
    return branching;
  }

  /** Makes a branch, which is deleted again so that the disk stays as it is. */
  async #branched(turns: number, copy: Copy): Promise<number> {
    const { store, holder } = this.#world;
    this.#branches += 1;
    const { key, term } = await this.#world.session(`branch-${this.#branches}`);
    const from = this.#source?.key.sessionId ?? key.sessionId;
    const { epoch } = value(await store.readRecord({ ...key, sessionId: from }));
    const goal = { messages: 2 * turns, throughEventId: 10 * turns };
    const copied = async () => {
      let at = { messages: 0, afterEventId: 0, revision: 0 };
      while (at.messages < goal.messages || at.afterEventId < goal.throughEventId) {
        const { afterEventId, revision: expectedRevision } = at;
        const step = { from, epoch, ...goal, afterEventId, expectedRevision };
        at = value(await copy(key, term, step));
      }
    };
    await (turns === TURNS ? this.#copying.of(copied) : copied());
    value(await store.delete(key, holder, []));
    return turns;
  }

  get figures() {
    return { ...this.#copying.figures, ...this.#waiting.figures };
  }
}

/** Turns a second; both delete what they have made. */
export function branching(): Trial {
  const stage = new BranchStage();
  return {
    name: "branch of a long session",
    prepare: () => stage.open(),
    clear: () => stage.close(),
    floor: { name: "read and committed", run: () => stage.byCommits() },
    subject: { name: "in the store", run: () => stage.inStore() },
    figures: () => stage.figures,
  };
}
