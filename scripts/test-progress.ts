import type { SerializedError } from "vitest";
import type { Reporter, TestModule, TestSpecification } from "vitest/node";

/** What a run of tests tells the process that started it, after each file. */
export type TestProgress = {
  readonly files: number;
  readonly done: number;
  readonly failed: number;
  /** At the end: the files whose worker was killed by a signal. */
  readonly killed: readonly string[];
};

/** What vitest says of a worker that is gone; one that has ended by itself has an exit code. */
const WORKER_KILLED = /^Worker exited unexpectedly with signal /;

/** A reporter of vitest that prints nothing: `check.ts` shows how far the tests are. */
export default class ProgressReporter implements Reporter {
  #files = 0;
  #done = 0;
  #failed = 0;
  #killed: readonly string[] = [];

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length;
    this.#tell();
  }

  onTestModuleEnd(module: TestModule): void {
    this.#done += 1;
    if (module.state() === "failed") this.#failed += 1;
    this.#tell();
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    this.#killed = killedFiles(modules, errors);
    this.#tell();
  }

  #tell(): void {
    const progress: TestProgress = {
      files: this.#files,
      done: this.#done,
      failed: this.#failed,
      killed: this.#killed,
    };
    if (process.connected) process.send?.(progress);
  }
}

/** None where anything else went wrong beside the tests. */
function killedFiles(
  modules: readonly TestModule[],
  errors: readonly SerializedError[],
): readonly string[] {
  const isOfWorker = ({ cause }: SerializedError) => WORKER_KILLED.test(cause?.message ?? "");
  if (!errors.every(isOfWorker)) return [];
  const unfinished = modules.filter((module) => ["queued", "pending"].includes(module.state()));
  return unfinished.map(({ moduleId }) => moduleId);
}

export function isProgress(message: unknown): message is TestProgress {
  return typeof message === "object" && message !== null && "files" in message && "done" in message;
}

/** One line of a terminal, short enough for any. */
export function progressLine(name: string, progress: TestProgress, seconds: number): string {
  const { files, done, failed } = progress;
  const failures = failed === 0 ? "" : `, ${failed} failed`;
  return `${name.padEnd(14)}${done} of ${files} files${failures}, ${Math.round(seconds)} s`;
}
