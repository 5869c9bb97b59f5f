import type Database from "better-sqlite3";
import type { Subscription } from "../src/session/bus/subscription.ts";
import { EVENT_TEXT, value } from "./store-world.ts";
import { Latencies, type Trial } from "./trial.ts";
import { WireWorld } from "./wire-world.ts";

const SUBSCRIBERS = 16;
const CHUNKS = 2_000;
const UPDATE = {
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text: "x".repeat(100) },
};

/** One session with streams, over a real store. */
class SessionStage {
  #world: WireWorld | null = null;
  #streams: readonly Subscription[] = [];
  #raw: Database.Database | null = null;
  #rawId = 0;
  /** Of this thread, for each chunk of the cheapest round: a busy machine hardly changes it. */
  leastCpuUs = Number.POSITIVE_INFINITY;

  async open(subscribers: number): Promise<void> {
    // Not before: a runtime has timers.
    const world = new WireWorld();
    this.#world = world;
    await world.open();
    this.#raw = world.stores.rawDatabase();
    const { key } = await world.create();
    const request = { after: null, epoch: null };
    const open = Array.from({ length: subscribers }, () => world.runtime.subscribe(key, request));
    this.#streams = (await Promise.all(open)).map((one) => value(one));
  }

  async close(): Promise<void> {
    this.#raw?.close();
    await this.#world?.close();
  }

  /** The agent sends chunks. Resolves when every stream has all of them. */
  async stream(chunks: number): Promise<number> {
    const listener = this.#world?.agents.listener;
    const before = process.threadCpuUsage();
    const received = this.#streams.map((stream) => take(stream, chunks));
    for (let n = 0; n < chunks; n += 1) {
      const wait = listener?.update(UPDATE);
      if (wait !== undefined) await wait;
    }
    await Promise.all(received);
    const { user, system } = process.threadCpuUsage(before);
    this.leastCpuUs = Math.min(this.leastCpuUs, (user + system) / chunks);
    return chunks;
  }

  /** Writes the same bytes to the disk without a session. */
  writeRaw(rows: number): number {
    const insert = this.#raw?.prepare("INSERT INTO events VALUES (?, ?, ?)");
    this.#raw?.transaction(() => {
      for (let n = 0; n < rows; n += 1) insert?.run(++this.#rawId, this.#rawId, EVENT_TEXT);
    })();
    return rows;
  }
}

/** Reads a stream until this many numbered frames have come. */
async function take(stream: Subscription, frames: number): Promise<void> {
  let left = frames;
  while (left > 0) {
    const { value: chunk } = await stream.next();
    for (const batch of chunk ?? []) {
      for (const frame of batch.frames) if ("id" in frame) left -= 1;
    }
  }
}

function streaming(): Trial {
  const stage = new SessionStage();
  return {
    name: `agent's chunks, durable, to ${SUBSCRIBERS} streams`,
    prepare: () => stage.open(SUBSCRIBERS),
    clear: () => stage.close(),
    floor: { name: "raw, 100 rows a commit", run: () => stage.writeRaw(100) },
    subject: { name: "session", run: () => stage.stream(CHUNKS) },
    figures: () => ({
      "CPU of the main thread for a chunk, at least": `${stage.leastCpuUs.toFixed(2)} µs`,
    }),
  };
}

function latency(): Trial {
  const stage = new SessionStage();
  const latencies = new Latencies("from the agent to the stream");
  return {
    name: "one chunk, agent to stream",
    budget: ">= 0.5 of raw",
    prepare: () => stage.open(1),
    clear: () => stage.close(),
    floor: { name: "raw, 1 row a commit", run: () => stage.writeRaw(1) },
    subject: { name: "session", run: () => latencies.of(() => stage.stream(1)) },
    figures: () => latencies.figures,
  };
}

export const trials: readonly Trial[] = [latency(), streaming()];
