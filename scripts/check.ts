// All that CI checks, in one command. Every step runs, so that one run shows everything that is
// wrong: only what failed is printed, and the last line of the output is the count.
//
//     npm test                     everything
//     npm test -- src/core/replay  the same with only the tests whose path has one of these words
//     npm run check -- --save-times  everything, alone on two cores: keeps how long it takes

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type Tally, tally, type VitestReport } from "./tally.ts";
import { readTimes, saveTimes } from "./test-order.ts";
import { isProgress, progressLine } from "./test-progress.ts";
import { endToolsOnInterrupt, runTool, type ToolResult } from "./tool.ts";

const STEPS = [
  ["format, lint", "@biomejs/biome/bin/biome", ["check", "--error-on-warnings", "."]],
  ["types", "typescript/bin/tsc", ["-p", "."]],
  ["unused code", "knip/bin/knip.js", []],
] as const;
const VITEST = "vitest/vitest.mjs";

/**
 * V8 can take a process with as many threads as the tests have down with it, by a check of its own
 * or a fault; `test-environment.ts` says how most of that is kept away. It says nothing of any
 * test, so the files whose worker was killed run again.
 */
const TRIES_MAX = 3;
const SAVE_TIMES = "--save-times";

/** The seconds of each test file that has run. */
const fileSeconds = new Map<string, number>();

endToolsOnInterrupt();
process.exitCode = await check(process.argv.slice(2));

async function check(args: readonly string[]): Promise<number> {
  const filters = args.filter((arg) => arg !== SAVE_TIMES);
  const startedMs = performance.now();
  console.log(expectation(filters));
  let failedSteps = 0;
  for (const [name, script, args] of STEPS) {
    const { exitCode } = await runStep(name, script, args);
    if (exitCode !== 0) failedSteps += 1;
  }
  const tests = await runTests(filters);
  const failed = failedSteps + tests.failed;
  const seconds = (performance.now() - startedMs) / 1000;
  if (args.includes(SAVE_TIMES) && failed === 0 && filters.length === 0) {
    saveTimes(seconds, fileSeconds);
  }
  if (tests.skipped > 0) console.log(`${tests.skipped} skipped: this machine cannot run them`);
  console.log(`${tests.passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

function expectation(filters: readonly string[]): string {
  if (filters.length > 0) return `all checks, and the tests of ${filters.join(", ")}`;
  const minutes = Math.ceil(readTimes().totalSeconds / 60);
  return `all checks: about ${minutes} min on two cores; for some tests: npm test -- PATH`;
}

async function runTests(filters: readonly string[]): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), "fermata-check-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const sum = { passed: 0, failed: 0, skipped: 0 };
  let left = filters;
  for (let tries = 1; ; tries += 1) {
    const path = join(folder, `report-${tries}.json`);
    const reporters = ["minimal", "./scripts/test-progress.ts", "json"];
    const { exitCode, killed } = await runStep(tries === 1 ? "tests" : "tests again", VITEST, [
      "run",
      ...reporters.map((name) => `--reporter=${name}`),
      `--outputFile.json=${path}`,
      ...left,
    ]);
    const report = readReport(path);
    for (const { name, startTime, endTime } of report?.testResults ?? []) {
      fileSeconds.set(relative(process.cwd(), name), (endTime - startTime) / 1000);
    }
    const mayTryAgain = killed.length > 0 && tries < TRIES_MAX;
    const { passed, failed, skipped } = tally(report, exitCode, mayTryAgain);
    sum.passed += passed;
    sum.failed += failed;
    sum.skipped += skipped;
    if (!mayTryAgain) return sum;
    left = killed;
  }
}

/** One line for each step, and the tool's own output only where it failed. */
async function runStep(
  name: string,
  script: string,
  args: readonly string[],
): Promise<ToolResult & { readonly killed: readonly string[] }> {
  const startedMs = performance.now();
  const passedSeconds = () => (performance.now() - startedMs) / 1000;
  const isShown = process.stdout.isTTY;
  process.stdout.write(name.padEnd(14));
  let killed: readonly string[] = [];
  const hear = (message: unknown) => {
    if (!isProgress(message)) return;
    killed = message.killed;
    if (!isShown) return;
    process.stdout.write(`\r\u001b[K${progressLine(name, message, passedSeconds())}`);
  };
  const result = await runTool(script, args, script === VITEST ? hear : undefined);
  const { exitCode, output } = result;
  if (isShown) process.stdout.write(`\r\u001b[K${name.padEnd(14)}`);
  console.log(`${exitCode === 0 ? "ok    " : "FAILED"}  ${passedSeconds().toFixed(1)} s`);
  // The report is ours and gone by the time anyone could open it.
  const shown = output.replace(/^JSON report written to .*$/m, "").trim();
  if (exitCode !== 0) console.log(`\n${shown}\n`);
  return { ...result, killed };
}

/** Undefined where vitest ended before it could write one. */
function readReport(path: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
