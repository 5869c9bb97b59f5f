// Prints how large the code is and how well its folders are separated. With `--against COMMIT` it
// measures that commit too, by the same rules.

import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../test/house/files.ts";
import { filesOfOnePrompt } from "../test/house/prompt-path.ts";
import { houseAt } from "../test/house/rules.ts";
import { type Measure, promptMeasures, survey, surveyTable } from "../test/house/survey.ts";

const USAGE = `Usage: npm run house -- [options]

Measures src without its tests and fixtures. To follow a prompt it starts a server.

Options:
  --against COMMIT  Measure this commit too, and show before and after.
  --list TEXT       Then list what was counted in the rows whose name has this text.
`;

const { values } = parseArgs({
  options: {
    against: { type: "string" },
    list: { type: "string" },
    help: { type: "boolean", short: "h" },
  },
});

if (values.help) process.stdout.write(USAGE);
else await main(values.against, values.list);

async function main(commit: string | undefined, list: string | undefined): Promise<void> {
  const before = commit === undefined ? null : await measureCommit(commit);
  const after = await measure(ROOT);
  console.log(surveyTable(after, before).join("\n"));
  if (list === undefined) return;
  for (const { name, found } of after.filter((row) => row.name.includes(list))) {
    console.log(`\n${name}:\n${found.map((one) => `  ${one}`).join("\n")}`);
  }
}

async function measure(root: string): Promise<readonly Measure[]> {
  const house = houseAt(root);
  return [...survey(house), ...promptMeasures(house.sources, await filesOfOnePrompt(root))];
}

/** In a folder of its own, with the packages that are installed here. */
async function measureCommit(commit: string): Promise<readonly Measure[]> {
  const root = mkdtempSync(join(tmpdir(), "fermata-house-"));
  try {
    const options = { cwd: ROOT, maxBuffer: Number.POSITIVE_INFINITY };
    const archive = execFileSync("git", ["archive", commit], options);
    execFileSync("tar", ["-x", "-C", root], { input: archive });
    symlinkSync(realpathSync(join(ROOT, "node_modules")), join(root, "node_modules"));
    return await measure(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
