import { isMainThread } from "node:worker_threads";
import type { Reporter, TestModule, TestSpecification } from "vitest/node";

/** What a run of tests tells the process that started it, after each file. */
export type TestProgress = {
  readonly files: number;
  readonly done: number;
  readonly failed: number;
};

/** A reporter of vitest that prints nothing: `check.ts` shows how far the tests are. */
export default class ProgressReporter implements Reporter {
  #files = 0;
  #done = 0;
  #failed = 0;

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length;
    this.#tell();
  }

  onTestModuleEnd(module: TestModule): void {
    this.#done += 1;
    if (module.state() === "failed") this.#failed += 1;
    this.#tell();
  }

  #tell(): void {
    const progress: TestProgress = { files: this.#files, done: this.#done, failed: this.#failed };
    if (isMainThread && process.connected) process.send?.(progress);
  }
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
