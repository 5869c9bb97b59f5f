import { type Profiler, Session } from "node:inspector/promises";
import { PerformanceObserver } from "node:perf_hooks";
import { BroadcastChannel, isMainThread, type Worker } from "node:worker_threads";
import type { ProbeQuestion, ProbeReport, ThreadReport } from "./path-report.ts";

// Loaded into a server by `--import`, which Node repeats in each of its threads, so that the server
// itself has no line of code for it. Between `begin` and `end` it counts what passes between the
// threads and notes collections; with `profile` each thread also samples what it is doing.

const SAMPLE_EVERY_US = 100;
const CHANNEL = "fermata-bench-path";

/** How long other threads have to answer. */
const THREADS_MS_MAX = 2_000;

/** What one thread does between `begin` and `end`. */
class ThreadWatch {
  readonly #inspector = new Session();
  readonly #name: string;
  #before = process.threadCpuUsage();
  #isProfiled = false;

  constructor(name: string) {
    this.#name = name;
    this.#inspector.connect();
  }

  async begin(isProfiled: boolean): Promise<void> {
    this.#isProfiled = isProfiled;
    if (isProfiled) {
      await this.#inspector.post("Profiler.enable");
      await this.#inspector.post("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_US });
      await this.#inspector.post("Profiler.start");
    }
    this.#before = process.threadCpuUsage();
  }

  async end(): Promise<ThreadReport> {
    const { user, system } = process.threadCpuUsage(this.#before);
    return { thread: this.#name, cpuUs: user + system, profile: await this.#profile() };
  }

  async #profile(): Promise<Profiler.Profile | null> {
    if (!this.#isProfiled) return null;
    return (await this.#inspector.post("Profiler.stop")).profile;
  }
}

/** The other threads: counts the messages to them, and times each call until its answer. */
class Threads {
  messages = 0;
  answersMs: number[] = [];
  readonly #open = new Set<Worker>();

  constructor() {
    process.on("worker", (worker) => {
      this.#open.add(worker);
      worker.once("exit", () => this.#open.delete(worker));
      this.#watch(worker);
    });
  }

  get count(): number {
    return this.#open.size;
  }

  #watch(worker: Worker) {
    const sentAt = new Map<unknown, number>();
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (...[calls, ...rest]: Parameters<typeof post>) => {
      this.messages += 1;
      for (const n of numbersIn(calls)) sentAt.set(n, performance.now());
      post(calls, ...rest);
    };
    worker.on("message", (answers: unknown) => {
      for (const n of numbersIn(answers)) {
        this.answersMs.push(performance.now() - (sentAt.get(n) ?? Number.NaN));
        sentAt.delete(n);
      }
    });
  }

  begin() {
    this.messages = 0;
    this.answersMs = [];
  }
}

/** The numbers of calls or answers, as the store's threads have them. */
function numbersIn(message: unknown): readonly unknown[] {
  if (!Array.isArray(message)) return [];
  return message.flatMap((one) => (typeof one?.n === "number" ? [one.n] : []));
}

function watchMain() {
  const own = new ThreadWatch("main");
  const threads = new Threads();
  const channel = new BroadcastChannel(CHANNEL);
  let collectionsMs: number[] = [];
  let before = process.cpuUsage();
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collectionsMs.push(duration);
  }).observe({ entryTypes: ["gc"] });
  const begin = async (isProfiled: boolean) => {
    channel.postMessage({ isProfiled });
    await own.begin(isProfiled);
    threads.begin();
    collectionsMs = [];
    before = process.cpuUsage();
    process.send?.({});
  };
  const end = async () => {
    const { user, system } = process.cpuUsage(before);
    const others = reportsOf(channel, threads.count);
    channel.postMessage("end");
    const all = [await own.end(), ...(await others)];
    const { messages, answersMs } = threads;
    const report = { cpuUs: user + system, messages, answersMs, collectionsMs, threads: all };
    process.send?.(report satisfies ProbeReport);
  };
  process.on("message", (question: ProbeQuestion) => {
    void (question.act === "begin" ? begin(question.isProfiled) : end());
  });
  // The server is to end as it would without a probe.
  process.channel?.unref();
  channel.unref();
}

/** Waits for so many threads to report, for a limited time. */
function reportsOf(channel: BroadcastChannel, count: number): Promise<readonly ThreadReport[]> {
  const reports: ThreadReport[] = [];
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(reports), THREADS_MS_MAX);
    channel.onmessage = ({ data }) => {
      reports.push(data);
      if (reports.length < count) return;
      clearTimeout(timer);
      resolve(reports);
    };
  });
}

function watchThread() {
  const own = new ThreadWatch("store");
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = async ({ data }) => {
    if (data === "end") channel.postMessage(await own.end());
    else await own.begin(data.isProfiled);
  };
  channel.unref();
}

if (isMainThread) watchMain();
else watchThread();
