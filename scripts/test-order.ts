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

export function slowestFirst<File>(
  files: readonly File[],
  secondsOf: (file: File) => number,
): readonly File[] {
  return files.toSorted((a, b) => secondsOf(b) - secondsOf(a));
}

/** Runs the slowest files first, so that no core is left waiting for one at the end. */
export class SlowestFirst extends BaseSequencer {
  readonly #times = readTimes().fileSeconds;

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const secondsOf = ({ moduleId }: TestSpecification) =>
      this.#times[relative(ROOT, moduleId)] ?? USUAL_SECONDS;
    return [...slowestFirst(files, secondsOf)];
  }
}
