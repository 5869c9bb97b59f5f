import type { SessionKey } from "../src/store/store.ts";
import { addTurns } from "./aged.ts";
import { Latencies, type Trial } from "./trial.ts";
import { hangUp, post } from "./wire-client.ts";
import type { WireScale } from "./wire-scale.ts";
import { WireWorld } from "./wire-world.ts";

const CLIENT = "client_bench";
const PAGE_TURNS = 100;

/** A young and an old session in one server, without clients. */
class StoredPair {
  readonly world = new WireWorld();
  keys: readonly SessionKey[] = [];

  async open(turns: readonly number[]): Promise<void> {
    await this.world.open();
    this.world.agents.speech = async (say) => {
      for (let n = 0; n < 8; n += 1) await say("A few words of an answer. ".repeat(4));
    };
    this.keys = await Promise.all(turns.map((count) => this.#aged(count)));
  }

  async close(): Promise<void> {
    hangUp();
    await this.world.close();
  }

  /** Has it shown, and leaves it again: the last one to leave puts it to sleep. */
  async loadOnce({ sessionId }: SessionKey, latencies: Latencies): Promise<void> {
    const path = `/session/${sessionId}`;
    await latencies.of(() => this.load(path));
    await post(this.world.port, `${path}/detach`, {}, CLIENT);
  }

  load(path: string) {
    return post(this.world.port, `${path}/load`, { historyPageSize: PAGE_TURNS }, CLIENT);
  }

  /** Two turns are real, and the others are written as those were: through the store. */
  async #aged(turns: number): Promise<SessionKey> {
    const live = await this.world.create();
    for (let done = 0; done < 2; done += 1) await this.world.turn(live);
    const { key } = live;
    await this.loadOnce(key, new Latencies("unused"));
    await addTurns(this.world.world, key, turns - 2);
    return key;
  }
}

/** The same act on a young and on an old session: its cost must not depend on the age. */
function loadTrial(
  { turns }: WireScale,
  name: string,
  act: (stored: StoredPair, key: SessionKey, latencies: Latencies) => Promise<unknown>,
): Trial {
  let stored: StoredPair | null = null;
  const latencies = turns.map((count) => new Latencies(`load of ${count} turns`));
  const contender = (index: 0 | 1) => ({
    name: `${turns[index]} turns`,
    async run() {
      const [key, own] = [stored?.keys[index], latencies[index]];
      if (stored && key && own) await act(stored, key, own);
      return 1;
    },
  });
  return {
    name,
    budget: ">= 0.33",
    prepare() {
      stored = new StoredPair();
      return stored.open(turns);
    },
    clear: async () => stored?.close(),
    floor: contender(0),
    subject: contender(1),
    figures: () => Object.assign({}, ...latencies.map(({ figures }) => figures)),
  };
}

export function loadTrials(scale: WireScale): readonly Trial[] {
  return [
    loadTrial(scale, "load of a session asleep, and leaving it", (stored, key, latencies) =>
      stored.loadOnce(key, latencies),
    ),
    loadTrial(scale, "load of a live session", (stored, { sessionId }, latencies) =>
      latencies.of(() => stored.load(`/session/${sessionId}`)),
    ),
  ];
}
