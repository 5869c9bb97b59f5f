import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as pause, setImmediate } from "node:timers/promises";
import type { LiveSession } from "../src/session/live.ts";
import { sseFrame } from "../src/wire/sse.ts";
import { value } from "./store-world.ts";
import { Latencies, type Trial } from "./trial.ts";
import { Audience } from "./wire-audience.ts";
import { BareServer } from "./wire-bare.ts";
import { stamp } from "./wire-client.ts";
import type { WireScale } from "./wire-scale.ts";
import { eventsPath, type Speech, WireWorld } from "./wire-world.ts";

/** The pace of a fast agent: two hundred words a second. */
const PACE_MS = 5;

/** In a burst every fiftieth event has a timestamp: reading more would slow the readers. */
const STAMPED_EVERY = 50;

/** About what a pipe brings of an agent at a time; then others have their turn. */
const PIPE_EVENTS = 10;

/** What the raw limits of the machine were measured with. */
const BATCH_EVENTS = 10;

const WORDS = "x".repeat(100);

interface FanOutScale {
  readonly name: string;
  readonly sessions: number;
  readonly streams: number;
  /** Of each session in one run. */
  readonly events: number;
  readonly isPaced: boolean;
  /** What the bare loop knows: events as they come, or all of them beforehand, ten a write. */
  readonly floor: "as they come" | "known before";
  readonly budget?: string;
}

/** Sessions with streams, ours and bare ones, each with an audience in a process of its own. */
class Stage {
  readonly #crowd: FanOutScale;
  readonly #world = new WireWorld();
  readonly #bare = new BareServer();
  readonly #audience = new Audience();
  readonly #bareAudience = new Audience();
  readonly #lags = new Latencies("lag, ours");
  readonly #bareLags = new Latencies("lag, bare");
  #sessions: readonly LiveSession[] = [];
  /** An event as our store has it, so that the bare loop writes the same bytes. */
  #sample = "";
  #bareId = 0;

  constructor(crowd: FanOutScale) {
    this.#crowd = crowd;
  }

  get figures() {
    return { ...this.#lags.figures, ...this.#bareLags.figures };
  }

  async open(): Promise<void> {
    const { sessions, streams } = this.#crowd;
    await this.#world.open();
    this.#world.agents.speech = async (say) => say(WORDS);
    const made = Array.from({ length: sessions }, () => this.#world.create());
    this.#sessions = await Promise.all(made);
    for (const live of this.#sessions) await this.#world.turn(live);
    this.#sample = await this.#firstChunk();
    this.#world.agents.speech = this.#crowd.isPaced ? this.#slowly() : this.#atOnce();
    const ownPaths = this.#sessions.flatMap((live) => repeated(eventsPath(live), streams));
    await this.#audience.listen(this.#world.port, ownPaths);
    const barePaths = this.#sessions.flatMap((_, n) => repeated(`/${n}`, streams));
    await this.#bareAudience.listen(await this.#bare.listen(), barePaths);
  }

  async close(): Promise<void> {
    await Promise.all([this.#audience.leave(), this.#bareAudience.leave()]);
    this.#bare.close();
    await this.#world.close();
  }

  /** Runs one turn of every session, until all readers have all of it. */
  async run(): Promise<number> {
    const { streams, events, sessions } = this.#crowd;
    const lastIds = await Promise.all(this.#sessions.map((live) => this.#world.turn(live)));
    const wanted = lastIds.flatMap((id) => repeated(id, streams));
    const { lagsMs } = await this.#audience.wait(wanted);
    for (const ms of lagsMs) this.#lags.add(ms);
    return events * sessions * streams;
  }

  async runBare(): Promise<number> {
    const { streams, events, sessions, isPaced, floor } = this.#crowd;
    const perWrite = floor === "as they come" ? 1 : BATCH_EVENTS;
    const paths = Array.from({ length: sessions }, (_, n) => `/${n}`);
    for (let written = 0; written < events; written += perWrite) {
      const count = Math.min(perWrite, events - written);
      const waits = paths.flatMap((path) => this.#writeBare(path, written, count));
      if (waits.length > 0) await Promise.all(waits);
      this.#bareId += count;
      if (isPaced) await pause(PACE_MS);
      else if (perWrite === 1 && written % PIPE_EVENTS === PIPE_EVENTS - 1) await setImmediate();
    }
    const wanted = repeated(this.#bareId, sessions * streams);
    const { lagsMs } = await this.#bareAudience.wait(wanted);
    for (const ms of lagsMs) this.#bareLags.add(ms);
    return events * sessions * streams;
  }

  /** Writes to each stream of a path, and gives what has to be waited for. */
  #writeBare(path: string, written: number, count: number): readonly Promise<unknown>[] {
    const frames = Array.from({ length: count }, (_, n) => {
      const text = this.#sample.replace(WORDS, this.#words(written + n));
      return sseFrame(this.#bareId + n + 1, text);
    });
    const bytes = Buffer.from(frames.join(""));
    const full = this.#bare.streamsOf(path).filter((stream) => !stream.write(bytes));
    return full.map((stream: ServerResponse) => once(stream, "drain"));
  }

  #words(n: number): string {
    const isStamped = this.#crowd.isPaced || n % STAMPED_EVERY === 0;
    return isStamped ? `${stamp()}${WORDS}`.slice(0, WORDS.length) : WORDS;
  }

  #atOnce(): Speech {
    return async (say) => {
      for (let n = 0; n < this.#crowd.events; n += 1) {
        const room = say(this.#words(n));
        if (room !== undefined) await room;
        if (n % PIPE_EVENTS === PIPE_EVENTS - 1) await setImmediate();
      }
    };
  }

  #slowly(): Speech {
    return async (say) => {
      for (let n = 0; n < this.#crowd.events; n += 1) {
        await say(this.#words(n));
        await pause(PACE_MS);
      }
    };
  }

  async #firstChunk(): Promise<string> {
    const [live] = this.#sessions;
    if (live === undefined) throw new Error("there is no session");
    const read = await this.#world.world.store.readEvents(live.key, { after: 0, limit: 100 });
    const chunk = value(read).events.find(({ text }) => text.includes(WORDS));
    return chunk?.text ?? "";
  }
}

function repeated<Value>(one: Value, times: number): readonly Value[] {
  return Array.from({ length: times }, () => one);
}

function fanOut(crowd: FanOutScale): Trial {
  let stage: Stage | null = null;
  const { name, budget, floor } = crowd;
  return {
    name,
    ...(budget !== undefined && { budget }),
    prepare() {
      stage = new Stage(crowd);
      return stage.open();
    },
    clear: async () => stage?.close(),
    floor: {
      name: floor === "as they come" ? "bare writes" : `bare, ${BATCH_EVENTS} a write`,
      run: async () => (await stage?.runBare()) ?? 0,
    },
    subject: { name: "fermata", run: async () => (await stage?.run()) ?? 0 },
    figures: () => stage?.figures ?? {},
  };
}

/** As the design has it for many subscribers; for few, the disk is most of it. */
const BUDGET = { budget: ">= 0.7" };
const MANY = 16;

export function fanOutTrials({ events, subscribers, crowd, paced }: WireScale): readonly Trial[] {
  const one = { sessions: 1, isPaced: false, events, floor: "as they come" } as const;
  const many = { ...one, ...crowd };
  const bursts = subscribers.map((streams): FanOutScale => {
    const name = `burst of ${events} to ${streams}`;
    return { ...one, streams, name, ...(streams >= MANY && BUDGET) };
  });
  const manyName = `${many.sessions} sessions, burst of ${many.events} to ${many.streams} each`;
  const burstOfMany: FanOutScale = { ...many, name: manyName, ...BUDGET };
  // The strictest floor: a loop that waits for nothing.
  const strict = [...bursts.slice(-1), burstOfMany].map(({ budget: _, ...burst }): FanOutScale => {
    return { ...burst, name: `${burst.name}, all known before`, floor: "known before" };
  });
  const slow = subscribers.map((streams): FanOutScale => {
    const name = `an event every ${PACE_MS} ms to ${streams}`;
    return { ...one, streams, name, isPaced: true, events: paced };
  });
  return [...bursts, burstOfMany, ...strict, ...slow].map(fanOut);
}
