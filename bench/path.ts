import { agentAlone, databaseAlone, relayAlone } from "./path-floor.ts";
import type { ProbeQuestion, ProbeReport, ThreadReport } from "./path-report.ts";
import { REST, STOP_NAMES, samplesByStop } from "./path-stops.ts";
import { Latencies, rateText } from "./trial.ts";
import { Audience } from "./wire-audience.ts";
import { hangUp, post, StreamReader } from "./wire-client.ts";
import { ServerHome, type ServerProcess } from "./wire-process.ts";
import type { WireScale } from "./wire-scale.ts";

/**
 * The way of a chunk, from the pipe of a real agent's process to the sockets of real readers: the
 * CPU time of the server at each stop, in one run. A turn is measured twice: without a profile, for
 * what it takes, and with one, for where.
 */
export interface PathScale {
  readonly server: WireScale["server"];
  /** Chunks of one turn, and the bytes of text in each. */
  readonly chunks: number;
  readonly bytes: number;
  /** Open streams of the session; a column of the table for each. */
  readonly readers: readonly number[];
  readonly warmUps: number;
  readonly turns: number;
  /** Prompts of a single chunk, for what a person waits. */
  readonly prompts: number;
  /** Turns whose chunks say when they were said, as fast as the agent can. */
  readonly bursts: number;
  /** One such turn at the pace of a model. */
  readonly paced: { readonly chunks: number; readonly perSecond: number };
}

export const PATH_FULL: PathScale = {
  server: "sources",
  chunks: 2_000,
  bytes: 100,
  readers: [1, 50],
  warmUps: 25,
  turns: 25,
  prompts: 300,
  bursts: 10,
  paced: { chunks: 1_800, perSecond: 450 },
};

/** For the test that it still runs. */
export const PATH_TINY: PathScale = {
  ...PATH_FULL,
  chunks: 50,
  readers: [1, 2],
  warmUps: 1,
  turns: 2,
  prompts: 3,
  bursts: 1,
  paced: { chunks: 5, perSecond: 1_000 },
};

/** One column: what so many readers cost. */
export interface PathColumn {
  readonly readers: number;
  /** CPU time per chunk by stop, and of the process with all its threads. */
  readonly usByStop: ReadonlyMap<string, number>;
  readonly usOfThread: ReadonlyMap<string, number>;
  readonly usOfProcess: number;
  readonly figures: Readonly<Record<string, string>>;
}

const PROBE = new URL("path-probe.ts", import.meta.url);

/** A server with a probe, one session of it, and its readers in a process of their own. */
class PathStage {
  readonly #scale: PathScale;
  readonly #home: ServerHome;
  readonly #audience = new Audience();
  #server: ServerProcess | null = null;
  #client: StreamReader | null = null;
  #path = "";
  #clientId = "";
  #readers = 0;

  constructor(scale: PathScale) {
    this.#scale = scale;
    this.#home = new ServerHome(scale);
  }

  async open(readers: number): Promise<void> {
    await this.#home.open();
    this.#server = await this.#home.startProbed(PROBE, "--agent", "streaming");
    const { port } = this.#server;
    const { body } = await post(port, "/session", { sessionScope: "thread" });
    this.#path = `/session/${body.sessionId}`;
    this.#clientId = String(body.clientId);
    this.#client = await StreamReader.open(port, `${this.#path}/events`);
    this.#readers = readers;
    const others = Array.from({ length: readers - 1 }, () => `${this.#path}/events`);
    await this.#audience.listen(port, others);
  }

  async close(): Promise<void> {
    this.#client?.leave();
    hangUp();
    await this.#audience.leave();
    await this.#server?.end("SIGTERM", "SIGINT");
    await this.#home.close();
  }

  /** One turn, until every reader has all of it. Answers how late its stamped chunks were. */
  async turn(words: string): Promise<readonly number[]> {
    const received = this.#client?.received("event: turn_complete");
    await this.#prompt(words);
    await received;
    const { lastId = 0, lagsMs = [] } = this.#client ?? {};
    if (this.#client !== null) this.#client.lagsMs = [];
    const others = Array.from({ length: this.#readers - 1 }, () => lastId);
    return [...lagsMs, ...(await this.#audience.wait(others)).lagsMs];
  }

  async #prompt(words: string): Promise<void> {
    const prompt = [{ type: "text", text: words }];
    await post(this.#server?.port ?? 0, `${this.#path}/prompt`, { prompt }, this.#clientId);
  }

  async measured(act: () => Promise<void>, isProfiled = false): Promise<ProbeReport> {
    await this.#ask({ act: "begin", isProfiled });
    await act();
    return this.#ask({ act: "end" });
  }

  #ask(question: ProbeQuestion): Promise<ProbeReport> {
    const server = this.#server;
    return server === null ? Promise.reject(new Error("no server")) : server.ask(question);
  }

  /** What a person waits for after Enter. */
  async prompts(): Promise<Readonly<Record<string, string>>> {
    const toEvent = new Latencies("one prompt, to the first event");
    const toChunk = new Latencies("one prompt, to the first chunk");
    const toVerdict = new Latencies("one prompt, to the verdict");
    for (let n = 0; n < this.#scale.prompts; n += 1) {
      const waits = [
        toEvent.of(async () => this.#client?.received("\nid: ")),
        toChunk.of(async () => this.#client?.received("agent_message_chunk")),
        toVerdict.of(async () => this.#client?.received("event: turn_complete")),
      ];
      await this.#prompt(`chunks 1 ${this.#scale.bytes}`);
      await Promise.all(waits);
    }
    return { ...toEvent.figures, ...toChunk.figures, ...toVerdict.figures };
  }

  /** How late chunks reach all readers, if the agent says them at once and if it takes its time. */
  async lags(): Promise<Readonly<Record<string, string>>> {
    const { chunks, bytes, bursts, paced } = this.#scale;
    const burst = new Latencies("a burst, from the agent to a reader");
    let deliveries = 0;
    const startedMs = performance.now();
    for (let n = 0; n < bursts; n += 1) {
      const lagsMs = await this.turn(`stamped ${chunks} ${bytes}`);
      deliveries += lagsMs.length;
      for (const ms of lagsMs) burst.add(ms);
    }
    const perSecond = (deliveries * 1_000) / (performance.now() - startedMs);
    return {
      ...{ "a burst, deliveries": rateText(perSecond), ...burst.figures },
      ...(await this.#pacedLags(paced, bytes)),
    };
  }

  /** At the pace of a model each chunk goes its way alone. */
  async #pacedLags({ chunks, perSecond }: PathScale["paced"], bytes: number) {
    const pace = `${perSecond} chunks/s`;
    const lags = new Latencies(`${pace}, from the agent to a reader`);
    const report = await this.measured(async () => {
      for (const ms of await this.turn(`stamped ${chunks} ${bytes} ${perSecond}`)) lags.add(ms);
    });
    return {
      ...{
        ...lags.figures,
        [`${pace}, CPU per chunk`]: `${(report.cpuUs / chunks).toFixed(0)} µs`,
      },
      ...pausesOf(report, pace),
    };
  }
}

export async function paths(scale: PathScale): Promise<readonly PathColumn[]> {
  const columns: PathColumn[] = [];
  for (const readers of scale.readers) {
    const stage = new PathStage(scale);
    try {
      await stage.open(readers);
      columns.push(await measure(stage, scale, readers));
    } finally {
      await stage.close();
    }
  }
  return columns;
}

async function measure(stage: PathStage, scale: PathScale, readers: number): Promise<PathColumn> {
  const { chunks, bytes, warmUps, turns } = scale;
  const words = `chunks ${chunks} ${bytes}`;
  const whole = new Latencies("a whole turn, to the last reader");
  const run = async (count: number, latencies: Latencies) => {
    for (let n = 0; n < count; n += 1) await latencies.of(() => stage.turn(words));
  };
  await run(warmUps, new Latencies("warm-up"));
  const plain = await stage.measured(() => run(turns, whole));
  const profiled = await stage.measured(() => run(turns, new Latencies("profiled")), true);
  const prompts = readers === 1 ? await stage.prompts() : {};
  const floor = readers === 1 ? await floors(words, scale) : {};
  const all = chunks * turns;
  const usOfThread = new Map<string, number>();
  for (const { thread, cpuUs } of plain.threads) add(usOfThread, thread, cpuUs / all);
  return {
    readers,
    usByStop: usByStop(plain.threads, profiled.threads, all),
    usOfThread,
    usOfProcess: plain.cpuUs / all,
    figures: {
      ...{ ...whole.figures, ...floor, ...countsOf(plain, turns), ...prompts },
      ...(await stage.lags()),
    },
  };
}

async function floors(words: string, scale: PathScale): Promise<Readonly<Record<string, string>>> {
  const agent = await agentAlone(words, scale);
  const { turns, usOfMain, usOfProcess } = await relayAlone(words, scale);
  return {
    ...agent.figures,
    ...turns.figures,
    "the least relay, CPU per chunk of its main thread": `${usOfMain.toFixed(2)} µs`,
    "the least relay, CPU per chunk of its process": `${usOfProcess.toFixed(2)} µs`,
    ...(await databaseAlone(scale)),
  };
}

/** What each thread took without a profile, in the shares that its profile shows. */
function usByStop(
  plain: readonly ThreadReport[],
  profiled: readonly ThreadReport[],
  chunks: number,
): ReadonlyMap<string, number> {
  const all = new Map<string, number>();
  const threads = Map.groupBy(profiled, ({ thread }) => thread);
  for (const [name, reports] of threads) {
    const cpuUs = sum(plain.filter(({ thread }) => thread === name).map((one) => one.cpuUs));
    const counts = new Map<string, number>();
    for (const { profile } of reports) {
      if (profile === null) continue;
      for (const [stop, samples] of samplesByStop(profile)) add(counts, stop, samples);
    }
    // A thread may do so little that no sample falls on its work.
    if (counts.size === 0) counts.set(REST, 1);
    const samples = sum([...counts.values()]);
    for (const [stop, count] of counts) add(all, stop, (cpuUs * count) / samples / chunks);
  }
  return all;
}

function countsOf(report: ProbeReport, turns: number) {
  const each = (count: number) => (count / turns).toFixed(1);
  return {
    "messages to the store, a turn": each(report.messages),
    "collections, a turn": each(report.collectionsMs.length),
    ...pausesOf(report, "whole turns"),
  };
}

/** What is behind the pauses. */
function pausesOf({ answersMs, collectionsMs }: ProbeReport, during: string) {
  const answers = new Latencies(`${during}, the store's answer to a commit`);
  for (const ms of answersMs) answers.add(ms);
  const longestMs = collectionsMs.reduce((most, ms) => Math.max(most, ms), 0);
  const longest = `${during}, the longest collection`;
  return { ...answers.figures, [longest]: `${longestMs.toFixed(1)} ms` };
}

/** A row for each stop, and a column for each count of readers, in µs of CPU per chunk. */
export function pathTable(columns: readonly PathColumn[]): string {
  const row = (name: string, of: (column: PathColumn) => number | undefined) => {
    const cells = columns.map((column) => (of(column) ?? 0).toFixed(2).padStart(CELL));
    return `${name.padEnd(NAME)}${cells.join("")}`;
  };
  const heads = columns.map(({ readers }) => streams(readers).padStart(CELL));
  const threads = new Set(columns.flatMap(({ usOfThread }) => [...usOfThread.keys()]));
  const lines = [
    `${"µs of CPU per chunk, to".padEnd(NAME)}${heads.join("")}`,
    ...STOP_NAMES.map((stop) => row(stop, ({ usByStop }) => usByStop.get(stop))),
    ...[...threads].map((name) => row(`thread: ${name}`, ({ usOfThread }) => usOfThread.get(name))),
    row("process, with Node's own threads", ({ usOfProcess }) => usOfProcess),
    ...columns.flatMap(({ readers, figures }) => [
      `to ${streams(readers)}`,
      ...Object.entries(figures).map(([name, value]) => `  ${name}: ${value}`),
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

function streams(readers: number): string {
  return readers === 1 ? "1 stream" : `${readers} streams`;
}

const NAME = 44;
const CELL = 12;

function add(sums: Map<string, number>, name: string, more: number) {
  sums.set(name, (sums.get(name) ?? 0) + more);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
