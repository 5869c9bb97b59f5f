// Installs what a clone needs, and builds it, whenever that is not done or not up to date. It runs
// on any Node from 18 on, because it is what brings the Node that the rest needs. All that it says
// goes to the error output: `npm pack --json` prints a document on the other.

import { accessSync, constants, existsSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { endBy, runChild } from "./child.js";
import { buildIsFresh, installFingerprint, installIsFresh, rememberInstall } from "./freshness.js";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** By path: a shell that has already looked up `node` goes on using the old one. */
export const DEVELOPMENT_NODE = join(ROOT, "node_modules/.bin/node");

/** Returns when the clone can be run; where that cannot be, it says why and ends the process. */
export async function setUp() {
  const mustInstall = !installIsFresh(ROOT);
  if (!mustInstall && buildIsFresh(ROOT)) return;
  checkWritable();
  if (mustInstall) await install();
  await build();
}

function checkWritable() {
  try {
    accessSync(ROOT, constants.W_OK);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    stop(
      1,
      `cannot install and build in ${resolve(ROOT)} (${code}): copy this clone to a folder that ` +
        "you can write, and run `npm start` there.",
    );
  }
}

async function install() {
  const isFirst = !existsSync(join(ROOT, "node_modules"));
  const what = isFirst
    ? "installing dependencies (first run"
    : "updating dependencies (they changed";
  console.error(`fermata: ${what}, about 20 s)…`);
  // Taken before the install, so that the next setup notices a change made meanwhile.
  const fingerprint = installFingerprint(ROOT);
  // Only Node itself needs its script. From a lock file npm would also compile better-sqlite3,
  // which brings its binaries; that takes a compiler, and headers from the network.
  const exitCode =
    (await npm("ci", "--include=dev", "--no-audit", "--no-fund", "--ignore-scripts")) ||
    (await npm("rebuild", "node", "--ignore-scripts=false"));
  if (exitCode !== 0) {
    stop(
      exitCode,
      "the dependencies could not be installed; check the network and `npm config get registry` " +
        "(or run `npm install` if you edited package.json), then try again.",
    );
  }
  if (!existsSync(DEVELOPMENT_NODE)) {
    stop(
      1,
      "npm did not install the Node for development; run `npm rebuild node`, see what it says, " +
        "and try again.",
    );
  }
  rememberInstall(ROOT, fingerprint);
}

async function build() {
  console.error("fermata: building…");
  const code = await step(DEVELOPMENT_NODE, [join(ROOT, "scripts/build.js")], {
    stdio: ["ignore", 2, 2],
  });
  if (code !== 0) process.exit(code);
}

/**
 * Warnings about the old Node are noise here; errors still show, on stderr. What the npm above was
 * told about its own packages (`npm pack --dry-run`, `npm install --global`) is not meant here.
 * @param {string[]} args
 */
function npm(...args) {
  const [command = "npm", ...npmPath] = npmCommand();
  const own = ["--loglevel=error", "--dry-run=false", "--global=false"];
  const env = { ...process.env, PATH: pathOutside() };
  return step(command, [...npmPath, ...args, ...own], { env, stdio: ["ignore", "ignore", 2] });
}

/** The npm that called us; PATH is asked only without one. */
function npmCommand() {
  const path = process.env.npm_execpath;
  return path && basename(path).startsWith("npm") ? ["node", path] : ["npm"];
}

/** Without the clone's own programs: npm removes its Node before it installs another. */
function pathOutside() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.filter((folder) => !folder.startsWith(ROOT)).join(delimiter);
}

/**
 * A step that was asked to stop is the last one.
 * @param {string} command
 * @param {string[]} args
 * @param {import("node:child_process").SpawnOptions} options
 */
async function step(command, args, options) {
  const ended = await runChild(command, args, { cwd: ROOT, ...options });
  if (ended.stopped !== null) await endBy(ended.stopped);
  return ended.code ?? 1;
}

/**
 * @param {number} exitCode
 * @param {string} sentence
 * @returns {never}
 */
function stop(exitCode, sentence) {
  console.error(`fermata: ${sentence}`);
  process.exit(exitCode);
}
