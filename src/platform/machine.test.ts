import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a test that needs something which its machine lacks, in a run of its own. */
function run(isRequired: boolean) {
  const folder = mkdtempSync(join(tmpdir(), "fermata-machine-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const fixture = `${ROOT}/src/platform/machine.fixture.ts`;
  const lines = [
    `import { itWhere } from ${JSON.stringify(fixture)};`,
    `itWhere("no moon", "howls", () => {}, 1_000, ${isRequired});`,
  ];
  writeFileSync(`${folder}/lacking.test.ts`, lines.join("\n"));
  const vitest = `${ROOT}/node_modules/vitest/vitest.mjs`;
  const args = [vitest, "run", "--root", folder, "--reporter=json"];
  const report = join(folder, "report.json");
  spawnSync(process.execPath, [...args, `--outputFile=${report}`], { cwd: folder });
  return JSON.parse(readFileSync(report, "utf8"));
}

describe("a test that needs what its machine lacks", () => {
  it("is skipped, and not counted among those that pass", () => {
    expect(run(false)).toMatchObject({ numPassedTests: 0, numFailedTests: 0, numPendingTests: 1 });
  });

  it("fails where the machine must be able to, as in CI", () => {
    expect(run(true)).toMatchObject({ numPassedTests: 0, numFailedTests: 1, numPendingTests: 0 });
  });
});
