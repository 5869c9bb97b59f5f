import type { LogEvent } from "../src/core/replay/compact.ts";
import type { SessionKey } from "../src/store/store.ts";
import { value } from "./store-world.ts";
import { Latencies, type Trial } from "./trial.ts";
import { hangUp, post } from "./wire-client.ts";
import type { WireScale } from "./wire-scale.ts";
import { WireWorld } from "./wire-world.ts";

const CLIENT = "client_bench";
const PAGE_TURNS = 100;
const COMMITS_AT_ONCE = 100;

/** One turn of a real session, to be had again under later numbers. */
interface Pattern {
  readonly events: readonly LogEvent[];
  readonly folded: readonly LogEvent[];
  readonly messages: readonly string[];
}

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
    const pattern = await this.#patternOf(key);
    await this.loadOnce(key, new Latencies("unused"));
    await this.#fill(key, pattern, turns - 2);
    return key;
  }

  async #patternOf(key: SessionKey): Promise<Pattern> {
    const { store } = this.world.world;
    const before = Number.MAX_SAFE_INTEGER;
    const { rows } = value(await store.readTurns(key, { before, limit: 1 }));
    const [last] = rows;
    if (last === undefined) throw new Error("there is no turn");
    const after = last.firstId - 1;
    const limit = last.lastId - after;
    const { events } = value(await store.readEvents(key, { after, limit }));
    const messages = value(await store.readMessages(key, { after: 0, limit: 2 })).rows;
    return {
      events: events.map(({ text }) => JSON.parse(text)),
      folded: JSON.parse(last.text),
      messages: messages.map(({ text }) => text),
    };
  }

  async #fill(key: SessionKey, pattern: Pattern, turns: number): Promise<void> {
    const { store, holder } = this.world.world;
    const { term, record, manifest } = value(await store.open(key, holder, []));
    const { events, folded, messages } = pattern;
    const firstOld = events[0]?.id ?? 1;
    let { lastEventId: last, revision, snapshotEventId } = record;
    const commitNext = () => {
      const by = last + 1 - firstOld;
      const afterEventId = last;
      last += events.length;
      const snapshot = {
        expectedRevision: revision,
        manifest,
        messages,
        slots: [],
        removedSlots: [],
        turn: { firstId: snapshotEventId + 1, lastId: last, text: textOf(shifted(folded, by)) },
        trimThrough: Math.max(0, last - 8_000),
      };
      revision += 1;
      snapshotEventId = last;
      const texts = shifted(events, by).map(textOf);
      return store.commit(key, term, { afterEventId, events: texts, journal: [], snapshot });
    };
    for (let done = 0; done < turns; done += COMMITS_AT_ONCE) {
      const count = Math.min(COMMITS_AT_ONCE, turns - done);
      for (const one of await Promise.all(Array.from({ length: count }, commitNext))) value(one);
    }
    value(await store.close(key, term));
  }
}

function shifted(events: readonly LogEvent[], by: number): readonly LogEvent[] {
  return events.map((event) => ({ ...event, id: event.id + by }));
}

function textOf(value: unknown): string {
  return JSON.stringify(value);
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
