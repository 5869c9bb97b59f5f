import type Database from "better-sqlite3";
import type { AgentListener, Agents } from "../src/agent/agent.ts";
import { ok } from "../src/core/result.ts";
import type { Subscription } from "../src/session/bus/subscription.ts";
import type { LiveSession } from "../src/session/live.ts";
import { SessionService } from "../src/session/service.ts";
import { TenantGate } from "../src/session/tenant/tenant-gate.ts";
import {
  CREATION,
  NO_LOADER,
  NO_METER,
  NO_SHELL,
  NO_TOOLS,
  RANDOM_IDS,
  REAL_CLOCK,
  SETTINGS,
} from "../src/session/world.fixture.ts";
import type { SessionWorld } from "../src/session/world.ts";
import { thisHolder } from "../src/store/holder.ts";
import { Latencies } from "./latency.ts";
import { EVENT_TEXT, StoreWorld, value } from "./store-world.ts";
import type { Trial } from "./trial.ts";

const SUBSCRIBERS = 16;
const CHUNKS = 2_000;
const UPDATE = {
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text: "x".repeat(100) },
};

/** An agent that says what the trial makes it say: what is measured is what comes after it. */
class SpokenAgent implements Agents {
  listener: AgentListener | null = null;

  async connect(...[, listener]: Parameters<Agents["connect"]>) {
    this.listener = listener;
    const nothing = async () => ok(undefined);
    const session: Parameters<AgentListener["connected"]>[0] = {
      agentSessionId: "sess-1",
      context: "new",
      offer: {
        agentName: null,
        agentVersion: null,
        capabilities: {},
        modes: null,
        configOptions: [],
        takesSystemPrompt: false,
        canSteer: false,
        skipped: [],
      },
      prompt: () => ok(undefined),
      steer: () => ok(undefined),
      cancel: () => {},
      setModelConfig: async () => null,
      setMode: nothing,
      setConfigOption: nothing,
      listSessions: async () => ok([]),
      fork: async () => ok("sess-2"),
      close: async () => listener.status({ status: "terminated" }),
      kill: async () => {},
    };
    listener.connected(session);
    return ok(session);
  }

  async preheat() {}
  async dismiss() {}
  async shutdown() {}
}

/** One session with streams, over a real store. */
class SessionStage {
  readonly #stores = new StoreWorld();
  readonly #agent = new SpokenAgent();
  #runtime: SessionService | null = null;
  #streams: readonly Subscription[] = [];
  live: LiveSession | null = null;
  raw: Database.Database | null = null;

  async open(subscribers: number): Promise<void> {
    await this.#stores.open();
    this.raw = this.#stores.rawDatabase();
    const world: SessionWorld = {
      store: this.#stores.store,
      agents: this.#agent,
      loader: NO_LOADER,
      tools: NO_TOOLS,
      meter: NO_METER,
      shell: NO_SHELL,
      holder: thisHolder("bench"),
      tenants: new TenantGate(),
      clock: REAL_CLOCK,
      ids: RANDOM_IDS,
      redact: (text) => text,
      settings: SETTINGS,
      log: () => {},
    };
    const runtime = new SessionService(world);
    this.#runtime = runtime;
    const key = { tenantId: this.#stores.tenantId, sessionId: world.ids.session() };
    const actor = { kind: "client", clientId: null, userId: null, loopback: true } as const;
    this.live = value(await runtime.create({ key, creation: CREATION, actor })).live;
    const request = { after: null, epoch: null };
    const open = Array.from({ length: subscribers }, () => runtime.subscribe(key, request));
    this.#streams = (await Promise.all(open)).map((one) => value(one));
  }

  async close(): Promise<void> {
    await this.#runtime?.shutDown(AbortSignal.abort());
    this.raw?.close();
    await this.#stores.close();
  }

  /** So many chunks from the agent, until every stream has had all of them. */
  async stream(chunks: number): Promise<void> {
    const { listener } = this.#agent;
    const heard = this.#streams.map((stream) => take(stream, chunks));
    for (let n = 0; n < chunks; n += 1) {
      const wait = listener?.update(UPDATE);
      if (wait !== undefined) await wait;
    }
    await Promise.all(heard);
  }
}

/** Takes from a stream until so many numbered frames have come. */
async function take(stream: Subscription, frames: number): Promise<void> {
  let left = frames;
  while (left > 0) {
    const { value: chunk } = await stream.next();
    for (const batch of chunk ?? []) {
      for (const frame of batch.frames) if ("id" in frame) left -= 1;
    }
  }
}

/** What the disk alone would take for the same bytes. */
function rawRows(stage: SessionStage, rows: number): number {
  const insert = stage.raw?.prepare("INSERT INTO events VALUES (?, ?, ?)");
  stage.raw?.transaction(() => {
    for (let n = 0; n < rows; n += 1) insert?.run(++rawId, rawId, EVENT_TEXT);
  })();
  return rows;
}
let rawId = 0;

function streaming(): Trial {
  const stage = new SessionStage();
  return {
    group: "session",
    name: `agent's chunks, durable, to ${SUBSCRIBERS} streams`,
    prepare: () => stage.open(SUBSCRIBERS),
    clear: () => stage.close(),
    floor: { name: "raw, 100 rows a commit", run: () => rawRows(stage, 100) },
    subject: {
      name: "session",
      async run() {
        await stage.stream(CHUNKS);
        return CHUNKS;
      },
    },
  };
}

function latency(): Trial {
  const stage = new SessionStage();
  const latencies = new Latencies("from the agent's word to the stream");
  return {
    group: "session",
    name: "one chunk, agent to stream",
    budget: ">= 0.5 of raw",
    prepare: () => stage.open(1),
    clear: () => stage.close(),
    floor: { name: "raw, 1 row a commit", run: () => rawRows(stage, 1) },
    subject: {
      name: "session",
      async run() {
        await latencies.of(() => stage.stream(1));
        return 1;
      },
    },
    figures: () => latencies.figures,
  };
}

export const trials: readonly Trial[] = [latency(), streaming()];
