// Makes a fresh clone ready to run: `npm start` and `npm test` call it first.
// It runs on any Node from 18 on, because it is what brings the Node that the rest needs.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildIsFresh, installFingerprint, installIsFresh, rememberInstall } from "./freshness.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
// By path: a shell that has already looked up `node` goes on using the old one.
const DEVELOPMENT_NODE = join(ROOT, "node_modules/.bin/node");

const mustInstall = !installIsFresh(ROOT);
if (mustInstall) install();
if (mustInstall || !buildIsFresh(ROOT)) build();

function install() {
  const isFirst = !existsSync(join(ROOT, "node_modules"));
  const what = isFirst
    ? "installing dependencies (first run"
    : "updating dependencies (they changed";
  console.log(`fermata: ${what}, about 20 s)…`);
  // Taken before the install, so that the next setup notices a change made meanwhile.
  const fingerprint = installFingerprint(ROOT);
  // Only Node itself needs its script. From a lock file npm would also compile better-sqlite3,
  // which brings its binaries; that takes a compiler, and headers from the network.
  const exitCode =
    npm("ci", "--include=dev", "--no-audit", "--no-fund", "--ignore-scripts") ||
    npm("rebuild", "node", "--ignore-scripts=false");
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

function build() {
  console.log("fermata: building…");
  const build = spawnSync(DEVELOPMENT_NODE, [join(ROOT, "scripts/build.js")], { stdio: "inherit" });
  if (build.status !== 0) process.exit(build.status ?? 1);
}

/**
 * Warnings about the old Node are noise here; errors still show, on stderr.
 * @param {string[]} args
 */
function npm(...args) {
  const [command = "npm", ...npmPath] = npmCommand();
  const { status } = spawnSync(command, [...npmPath, ...args, "--loglevel=error"], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return status ?? 1;
}

/** The npm that called us, run by the Node that runs us; PATH is asked only without one. */
function npmCommand() {
  const path = process.env.npm_execpath;
  return path && basename(path).startsWith("npm") ? [process.execPath, path] : ["npm"];
}

/**
 * @param {number} exitCode
 * @param {string} sentence
 */
function stop(exitCode, sentence) {
  console.error(`fermata: ${sentence}`);
  process.exit(exitCode);
}
