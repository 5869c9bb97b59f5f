// All that CI checks, in one command. Every step runs, so that one run shows everything that is
// wrong, and the last line of the output is the count.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Tally, tally, type VitestReport } from "./tally.ts";
import { endToolsOnInterrupt, runTool, type ToolResult } from "./tool.ts";

const STEPS = [
  ["format, lint", "@biomejs/biome/bin/biome", ["check", "--error-on-warnings", "."]],
  ["types", "typescript/bin/tsc", ["-p", "."]],
  ["unused code", "knip/bin/knip.js", []],
] as const;

/**
 * V8 can take a process with as many threads as the tests have down with it, by a check of its own
 * or a fault; `vitest.config.ts` says how most of that is kept away. It says nothing of any test,
 * so they run in parts, and a part whose process was killed before it could report runs again.
 */
const PARTS = 8;
const TRIES_MAX = 3;

endToolsOnInterrupt();
process.exitCode = await check(process.argv.slice(2));

async function check(testFilters: readonly string[]): Promise<number> {
  let failedSteps = 0;
  for (const [name, script, args] of STEPS) {
    const { exitCode } = await runStep(name, script, args);
    if (exitCode !== 0) failedSteps += 1;
  }
  const tests = await runTests(testFilters);
  const failed = failedSteps + tests.failed;
  if (tests.skipped > 0) console.log(`${tests.skipped} skipped: this machine cannot run them`);
  console.log(`${tests.passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function runTests(filters: readonly string[]): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), "fermata-check-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  // Few files cannot be parted: a part without any would count as a failure.
  const parts = filters.length === 0 ? PARTS : 1;
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (let part = 1; part <= parts; part += 1) {
    const report = join(folder, `report-${part}.json`);
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const shard = parts === 1 ? [] : [`--shard=${part}/${parts}`];
    const { passed, failed, skipped } = await runPart(`tests ${part}/${parts}`, report, [
      "run",
      ...reporters,
      ...shard,
      ...filters,
    ]);
    sum.passed += passed;
    sum.failed += failed;
    sum.skipped += skipped;
  }
  return sum;
}

async function runPart(name: string, report: string, args: readonly string[]): Promise<Tally> {
  for (let tries = 1; ; tries += 1) {
    const { exitCode, signal } = await runStep(name, "vitest/vitest.mjs", args);
    const read = readReport(report);
    const isKilled = signal !== null && read === undefined;
    if (!isKilled || tries === TRIES_MAX) return tally(read, exitCode);
  }
}

/** One line for each step, and the tool's own output only where it failed. */
async function runStep(name: string, script: string, args: readonly string[]): Promise<ToolResult> {
  process.stdout.write(name.padEnd(14));
  const startedMs = performance.now();
  const result = await runTool(script, args);
  const { exitCode, output } = result;
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`${exitCode === 0 ? "ok    " : "FAILED"}  ${seconds} s`);
  // The report is ours and gone by the time anyone could open it.
  const shown = output.replace(/^JSON report written to .*$/m, "").trim();
  if (exitCode !== 0) console.log(`\n${shown}\n`);
  return result;
}

/** Undefined where vitest ended before it could write one. */
function readReport(path: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
