// The programs of the system that some tests need. In CI the machine is ours: what it lacks is
// installed. Anywhere else nothing is: such tests are skipped and counted, and a line says how to
// have them. Plain JavaScript for any Node from 18 on, as all that prepares a clone.

import {
  accessSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { endBy, runChild } from "./child.js";

/**
 * @typedef {object} Program
 * @property {string} name as people call it
 * @property {string} debian the package of Debian that brings it
 * @property {readonly string[]} commands what it is called as a command, any of them
 * @property {string} [variable] of the environment: names one that is somewhere else
 * @property {string} tests what the tests that need it are about
 */

/** @satisfies {Readonly<Record<string, Program>>} */
export const PROGRAMS = {
  chromium: {
    name: "Chromium",
    debian: "chromium",
    commands: ["chromium", "chromium-browser", "google-chrome"],
    variable: "FERMATA_CHROMIUM",
    tests: "the client library in a browser",
  },
  strace: {
    name: "strace",
    debian: "strace",
    commands: ["strace"],
    tests: "what is flushed to a disk",
  },
};

/** CI ends what takes too long, and the tests need most of that time. */
const INSTALL_MS_MAX = 240_000;

/** How much of what `apt-get` said is shown when it has failed: the reason is in the last lines. */
const SHOWN_LINES_MAX = 30;

/** What installs the others, where it is there. */
const APT_GET = { name: "apt-get", debian: "apt", commands: ["apt-get"], tests: "packages" };

/** Another program may be installing; a mirror that does not answer is given up early. */
const APT_OPTIONS = [
  ...["-o", "DPkg::Lock::Timeout=60"],
  ...["-o", "Acquire::Retries=2"],
  ...["-o", "Acquire::http::Timeout=20"],
];

/**
 * Where a program is; null where it is not.
 * @param {Program} program
 * @param {NodeJS.ProcessEnv} [env]
 */
export function findProgram({ commands, variable }, env = process.env) {
  const named = variable && env[variable];
  if (named) return named;
  const folders = (env.PATH ?? "").split(delimiter);
  const paths = commands.flatMap((command) => folders.map((folder) => join(folder, command)));
  return paths.find(canRun) ?? null;
}

/**
 * Why a test that needs a program cannot run here; null if it can.
 * @param {Program} program
 */
export function whyNoProgram(program) {
  return findProgram(program) === null ? `there is no ${program.name}; ${howToGet(program)}` : null;
}

/**
 * Sees that the tests have their programs, as far as this machine is ours. What cannot be had is
 * said: a test that needs it fails in CI, and is skipped elsewhere.
 * @param {object} [options]
 * @param {readonly Program[]} [options.programs]
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {boolean} [options.isRoot]
 * @param {(line: string) => void} [options.say]
 * @param {number} [options.timeoutMs]
 */
export async function provide({
  programs = Object.values(PROGRAMS),
  env = process.env,
  isRoot = process.getuid?.() === 0,
  say = console.error,
  timeoutMs = INSTALL_MS_MAX,
} = {}) {
  const lacking = programs.filter((program) => findProgram(program, env) === null);
  if (lacking.length === 0) return;
  const aptGet = findProgram(APT_GET, env);
  if (env.CI && isRoot && aptGet !== null) {
    const wait = `about 20 s, at most ${Math.ceil(timeoutMs / 60_000)} min`;
    say(`fermata: installing ${namesOf(lacking)} for tests (CI, as root; ${wait})…`);
    const why = await install(lacking, { aptGet, env, timeoutMs });
    if (why !== null) say(`fermata: ${namesOf(lacking)} could not be installed: ${why}`);
  }
  for (const program of lacking) {
    if (findProgram(program, env) !== null) continue;
    const { name, tests } = program;
    say(`fermata: no ${name}: tests of ${tests} cannot run here; ${howToGet(program)}`);
  }
}

/** @param {Program} program */
function howToGet({ debian, variable }) {
  const other = variable === undefined ? "" : `, or ${variable}=PATH`;
  return `to run them: apt-get install ${debian}${other}`;
}

/** @param {readonly Program[]} programs */
function namesOf(programs) {
  return programs.map(({ name }) => name).join(", ");
}

/**
 * Null once it is done; else why it could not be, with the last that was said.
 * @param {readonly Program[]} programs
 * @param {{ aptGet: string, env: NodeJS.ProcessEnv, timeoutMs: number }} options
 */
async function install(programs, { aptGet, env, timeoutMs }) {
  const folder = mkdtempSync(join(tmpdir(), "fermata-programs-"));
  const log = join(folder, "apt-get.log");
  const said = openSync(log, "w");
  const untilMs = Date.now() + timeoutMs;
  /** @param {string[]} args */
  const run = async (...args) => {
    const timeout = Math.max(1, untilMs - Date.now());
    const quiet = { ...env, DEBIAN_FRONTEND: "noninteractive" };
    const stdio = /** @type {import("node:child_process").StdioOptions} */ (["ignore", said, said]);
    const ended = await runChild(aptGet, [...APT_OPTIONS, ...args], { env: quiet, stdio, timeout });
    if (ended.stopped !== null) await endBy(ended.stopped);
    if (ended.code === 0) return null;
    // So a program is asked to stop when its time has passed.
    if (ended.signal === "SIGTERM") return `it took longer than ${timeoutMs / 1_000} s`;
    return `apt-get ${args[0]} failed (${ended.code ?? ended.signal})`;
  };
  try {
    const packages = programs.map(({ debian }) => debian);
    const why =
      (await run("update")) ??
      (await run("install", "--yes", "--no-install-recommends", ...packages));
    if (why === null) return null;
    const lines = readFileSync(log, "utf8").trim().split("\n").slice(-SHOWN_LINES_MAX);
    return [`${why}. It said:`, ...lines].join("\n  ");
  } finally {
    closeSync(said);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} path */
function canRun(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
