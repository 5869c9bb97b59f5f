// Compiles src/ to dist/, and makes bundles of what is run. All of it is written beside dist, which
// is replaced only by a complete result: a failed or interrupted build leaves no dist at all rather
// than half of one.

import { existsSync, readFileSync, renameSync, rmSync, utimesSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { runChild } from "./child.js";
import { writeNotices } from "./notices.js";
import { prune } from "./prune.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const COMPILER = join(ROOT, "node_modules/typescript/bin/tsc");
const DIST = join(ROOT, "dist");
// Named after the clone: worktrees that share node_modules may be built at the same time.
const UNFINISHED = join(ROOT, "node_modules", `.fermata-build-${basename(ROOT)}`);

if (!existsSync(COMPILER)) {
  console.error("fermata: the compiler is not installed; run `npm ci`, then try again.");
  process.exit(1);
}

const startedAt = new Date();
rmSync(DIST, { recursive: true, force: true });
rmSync(UNFINISHED, { recursive: true, force: true });

const args = [COMPILER, "-p", "tsconfig.build.json", "--outDir", UNFINISHED];
const compile = await runChild(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
if (compile.code !== 0) failed(compile.code ?? 1);

try {
  // Only now: what it imports is there once the compiler is.
  const { bundlePrograms, PROGRAMS } = await import("./bundle.js");
  writeNotices(join(UNFINISHED, "THIRD_PARTY.txt"), await bundlePrograms(UNFINISHED));
  prune(UNFINISHED, [...PROGRAMS, ...exported()]);
} catch (error) {
  console.error(error);
  failed(1);
}

renameSync(UNFINISHED, DIST);
// The start of the build is the age of its result: a file saved meanwhile is not in it.
utimesSync(DIST, startedAt, startedAt);

/** The modules that other programs import by a name of the package. */
function exported() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const modules = Object.values(exports).flatMap(({ default: path }) => (path ? [path] : []));
  return modules.map((path) => relative("./dist", path).replace(/\.js$/, ""));
}

/** @param {number} exitCode */
function failed(exitCode) {
  rmSync(UNFINISHED, { recursive: true, force: true });
  console.error("fermata: the build failed; mend the errors above, then run `npm run build`.");
  process.exit(exitCode);
}
