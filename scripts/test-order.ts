import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TIMES_FILE = new URL("test-times.json", import.meta.url);

/** How long tests took when all of them last ran alone on two cores (`--save-times`). */
export type TestTimes = {
  /** Of all checks together. */
  readonly totalSeconds: number;
  /** Of the files that took `SLOW_SECONDS` or more. */
  readonly fileSeconds: Readonly<Record<string, number>>;
};

const SLOW_SECONDS = 3;
/** What a file takes that is not among the slow ones. */
const USUAL_SECONDS = 1;

export function readTimes(): TestTimes {
  return JSON.parse(readFileSync(TIMES_FILE, "utf8"));
}

export function saveTimes(totalSeconds: number, seconds: ReadonlyMap<string, number>): void {
  const slow = [...seconds].filter(([, taken]) => taken >= SLOW_SECONDS);
  const rounded = slow.map(([file, taken]) => [file, Math.round(taken)] as const);
  const fileSeconds = Object.fromEntries(rounded.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const times: TestTimes = { totalSeconds: Math.round(totalSeconds), fileSeconds };
  writeFileSync(TIMES_FILE, `${JSON.stringify(times, null, 2)}\n`);
}

/** Parts that take about as long as each other: the slowest file goes to the least busy part. */
export function balanced<File>(
  files: readonly File[],
  secondsOf: (file: File) => number,
  count: number,
): readonly (readonly File[])[] {
  const parts = Array.from({ length: count }, () => ({ seconds: 0, files: [] as File[] }));
  for (const file of slowestFirst(files, secondsOf)) {
    const least = parts.reduce((a, b) => (b.seconds < a.seconds ? b : a));
    least.files.push(file);
    least.seconds += secondsOf(file);
  }
  return parts.map((part) => part.files);
}

export function slowestFirst<File>(
  files: readonly File[],
  secondsOf: (file: File) => number,
): readonly File[] {
  return files.toSorted((a, b) => secondsOf(b) - secondsOf(a));
}

/** Runs the slowest files first, so that no core is left waiting for one at the end. */
export class SlowestFirst extends BaseSequencer {
  readonly #times = readTimes().fileSeconds;

  #secondsOf = ({ moduleId }: TestSpecification): number =>
    this.#times[relative(ROOT, moduleId)] ?? USUAL_SECONDS;

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return [...slowestFirst(byName(files), this.#secondsOf)];
  }

  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index, count } = this.ctx.config.shard ?? { index: 1, count: 1 };
    return [...(balanced(byName(files), this.#secondsOf, count)[index - 1] ?? [])];
  }
}

/** Each part is chosen by a process of its own, so all must begin with the same order. */
function byName(files: readonly TestSpecification[]): readonly TestSpecification[] {
  return files.toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1));
}
