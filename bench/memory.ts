import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { HeapPicture } from "./heap-picture.ts";
import { OWNER_NAMES, OWNER_OF } from "./memory-owners.ts";
import type { MemoryQuestion, MemoryReport } from "./memory-report.ts";
import { hangUp, post, StreamReader } from "./wire-client.ts";
import { ServerHome, type ServerProcess } from "./wire-process.ts";
import type { WireScale } from "./wire-scale.ts";

/** How many sessions are weighed: as designed, or just enough to run at all. */
export interface MemoryScale {
  readonly server: WireScale["server"];
  /** How many there are at each weighing: the first also load code and fill caches. */
  readonly counts: readonly [number, ...number[]];
  /** Turns of each session. */
  readonly turns: readonly number[];
}

export const MEMORY_FULL: MemoryScale = {
  server: "built",
  counts: [500, 1_000, 1_500, 2_000],
  turns: [0, 1],
};

/** For the test that it still runs. */
export const MEMORY_TINY: MemoryScale = { server: "at hand", counts: [10, 15], turns: [1] };

/** One column: bytes that one more live session takes, after so many turns. */
export interface MemoryColumn {
  readonly turns: number;
  /** On the heap of the main thread, by owner; `null` is what no owner leads to. */
  readonly byOwner: ReadonlyMap<string | null, number>;
  readonly mainHeapBytes: number;
  readonly storeHeapBytes: number;
  readonly externalBytes: number;
  /** Of the process, with what was collected and not given back. */
  readonly residentBytes: number;
}

const PROBE = new URL("memory-probe.ts", import.meta.url);
const MADE_AT_ONCE = 10;

/** After this time everything is on the disk, and what was on its way is gone. */
const QUIET_MS = 300;

/** A server with a probe, and sessions without streams. */
class MemoryStage {
  readonly #home: ServerHome;
  #folder = "";
  #server: ServerProcess | null = null;
  #sessions = 0;

  constructor(scale: MemoryScale) {
    this.#home = new ServerHome(scale);
  }

  async open(): Promise<void> {
    await this.#home.open();
    this.#folder = await mkdtemp(join(tmpdir(), "fermata-bench-memory-"));
    this.#server = await this.#home.startProbed(PROBE, "--agent", "echo-many");
  }

  async close(): Promise<void> {
    hangUp();
    await this.#server?.end("SIGTERM", "SIGINT");
    await rm(this.#folder, { recursive: true, force: true });
    await this.#home.close();
  }

  async growTo(count: number, turns: number): Promise<void> {
    while (this.#sessions < count) {
      const more = Math.min(MADE_AT_ONCE, count - this.#sessions);
      await Promise.all(Array.from({ length: more }, () => this.#make(turns)));
      this.#sessions += more;
    }
    await pause(QUIET_MS);
  }

  async #make(turns: number): Promise<void> {
    const port = this.#server?.port ?? 0;
    const { body } = await post(port, "/session", { sessionScope: "thread" });
    const path = `/session/${body.sessionId}`;
    if (turns === 0) return;
    const reader = await StreamReader.open(port, `${path}/events`);
    for (let done = 0; done < turns; done += 1) {
      const verdict = reader.received("event: turn_complete");
      const prompt = [{ type: "text", text: WORDS }];
      await post(port, `${path}/prompt`, { prompt }, String(body.clientId));
      await verdict;
    }
    reader.leave();
  }

  weigh(): Promise<MemoryReport> {
    return this.#ask<MemoryReport>({ act: "weigh" });
  }

  async picture(): Promise<HeapPicture> {
    const file = join(this.#folder, `${this.#sessions}.heapsnapshot`);
    await this.#ask({ act: "picture", file });
    const picture = await HeapPicture.read(file);
    await rm(file);
    return picture;
  }

  #ask<Report>(question: MemoryQuestion): Promise<Report> {
    const server = this.#server;
    return server === null ? Promise.reject(new Error("no server")) : server.ask(question);
  }
}

/** Echo says them again, so that a turn has a body. */
const WORDS = "A few words of a prompt, and of its answer. ".repeat(20);

export async function memories(scale: MemoryScale): Promise<readonly MemoryColumn[]> {
  const columns: MemoryColumn[] = [];
  for (const turns of scale.turns) {
    const stage = new MemoryStage(scale);
    try {
      await stage.open();
      columns.push(await measure(stage, scale, turns));
    } finally {
      await stage.close();
    }
  }
  return columns;
}

async function measure(
  stage: MemoryStage,
  { counts }: MemoryScale,
  turns: number,
): Promise<MemoryColumn> {
  const reports: MemoryReport[] = [];
  for (const count of counts) {
    await stage.growTo(count, turns);
    reports.push(await stage.weigh());
  }
  // A picture takes memory itself, so none is taken before all is weighed.
  const last = counts.at(-1) ?? counts[0];
  const few = (await stage.picture()).bytesByOwner(OWNER_OF);
  const more = counts[0];
  await stage.growTo(last + more, turns);
  const many = (await stage.picture()).bytesByOwner(OWNER_OF);
  const byOwner = [...many].map(([owner, bytes]) => {
    return [owner, (bytes - (few.get(owner) ?? 0)) / more] as const;
  });
  const slopeOf = (bytesOf: (report: MemoryReport) => number) =>
    slope(reports.map((report, index) => [counts[index] ?? 0, bytesOf(report)]));
  return {
    turns,
    byOwner: new Map(byOwner),
    mainHeapBytes: slopeOf((report) => heapOf(report, "main")),
    storeHeapBytes: slopeOf((report) => heapOf(report, "store")),
    externalBytes: slopeOf(({ externalBytes }) => externalBytes),
    residentBytes: slopeOf(({ residentBytes }) => residentBytes),
  };
}

function heapOf({ threads }: MemoryReport, wanted: string): number {
  const heaps = threads.map(({ thread, heapBytes }) => (thread === wanted ? heapBytes : 0));
  return heaps.reduce((sum, bytes) => sum + bytes, 0);
}

/** Of the straight line that is nearest to these points, by least squares. */
export function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const products = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const squares = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return products / squares;
}

/** A row for each owner, and a column for each count of turns, in KiB for each live session. */
export function memoryTable(columns: readonly MemoryColumn[]): string {
  const row = (name: string, bytesOf: (column: MemoryColumn) => number | undefined) => {
    const cells = columns.map((column) => {
      return ((bytesOf(column) ?? 0) / 1_024).toFixed(2).padStart(CELL);
    });
    return `${name.padEnd(NAME)}${cells.join("")}`;
  };
  const heads = columns.map(({ turns }) => turnsText(turns).padStart(CELL));
  const owners = OWNER_NAMES.map((owner) => row(owner, ({ byOwner }) => byOwner.get(owner)));
  const sum = ({ byOwner }: MemoryColumn) => [...byOwner.values()].reduce((all, one) => all + one);
  const lines = [
    `${"KiB for each live session, with its agent".padEnd(NAME)}${heads.join("")}`,
    ...owners,
    row("all else on the main thread's heap", ({ byOwner }) => byOwner.get(null)),
    row("sum of these", sum),
    row("main thread's heap, by its growth", ({ mainHeapBytes }) => mainHeapBytes),
    row("heaps of the store's threads", ({ storeHeapBytes }) => storeHeapBytes),
    row("buffers outside of the heaps", ({ externalBytes }) => externalBytes),
    row("resident, with garbage", ({ residentBytes }) => residentBytes),
  ];
  return `${lines.join("\n")}\n`;
}

function turnsText(turns: number): string {
  return turns === 0 ? "idle" : `${turns} turn${turns === 1 ? "" : "s"}`;
}

const NAME = 44;
const CELL = 10;
