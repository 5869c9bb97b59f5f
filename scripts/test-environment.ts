// What tests share with each other and with the processes that they start: where compiled code is
// kept, where temporary folders are, and whether there is a build to start servers from.

import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { VitestPluginContext } from "vitest/node";
import { buildIsFresh } from "./freshness.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MEMORY_DISK = "/dev/shm";
const PREFIX = "fermata-test-";
/** Tests need far less; a disk in memory with less than this may be full with something else. */
const MEMORY_BYTES_MIN = 2 * 1_024 ** 3;

/** Sets the environment of this process, which the processes of tests and all theirs inherit. */
export function prepareTestEnvironment(): void {
  // Every thread and process of a test strips the types of what it loads, by WebAssembly, unless
  // the result is cached. That took half of their start; and code of WebAssembly that comes and
  // goes with many threads of one process brings V8 down now and then (nodejs/node#64500).
  process.env.NODE_COMPILE_CACHE ??= join(ROOT, "node_modules/.cache/fermata-compile");
  // Servers start from the build in half the time; one that is older than the sources is no use.
  process.env.FERMATA_TEST_BUILD ??= buildIsFresh(ROOT) ? "fresh" : "";
  process.env.TMPDIR ??= temporaryFolder();
  // vitest has read it. The processes of tests write to pipes, and what they say is compared.
  delete process.env.FORCE_COLOR;
}

/** The modules that start a program beside them: a thread, or a process. */
const STARTERS = [
  "store/sqlite/store",
  "session/export/thread",
  "extension/thread/thread",
  "agent/profile/known",
  "agent/user/user-files",
];

const THREADS = join(ROOT, "src/store/sqlite/thread.ts");
const KEPT_THREAD = join(ROOT, "scripts/kept-thread.ts");

/**
 * Lets the modules under test start the programs of the build, each of which is one file, and lets
 * stores run theirs in threads that are kept for the next store.
 */
export function programsOfBuild() {
  const places = new Map(
    STARTERS.map((name) => [
      join(ROOT, "src", `${name}.ts`),
      JSON.stringify(pathToFileURL(join(ROOT, "dist", `${name}.js`)).href),
    ]),
  );
  return {
    name: "programs-of-build",
    enforce: "pre" as const,
    // vitest keeps what was transformed: without this, also for runs with another build.
    configureVitest({ defineCacheKeyGenerator }: VitestPluginContext) {
      defineCacheKeyGenerator(() => process.env.FERMATA_TEST_BUILD);
    },
    transform(code: string, id: string) {
      if (!process.env.FERMATA_TEST_BUILD) return null;
      if (id === THREADS) return withKeptThreads(code);
      const place = places.get(id);
      return place === undefined ? null : code.replaceAll("import.meta.url", place);
    },
  };
}

function withKeptThreads(code: string): string {
  const kept = code.replace("new Worker(this.#script,", "KeptThread.start(this.#script,");
  if (kept === code) throw new Error(`${THREADS} does not start threads as it did`);
  return `import { KeptThread } from ${JSON.stringify(KEPT_THREAD)};${kept}`;
}

/**
 * A folder on a disk in memory, where there is one: tests wait for a real disk longer than for
 * anything else. They kill processes, not machines, so no disk keeps less than another; whether a
 * store flushes is asked of the system calls that it makes.
 */
function temporaryFolder(): string {
  if (!canUseMemory()) return tmpdir();
  removeOrphans();
  const folder = join(MEMORY_DISK, `${PREFIX}${process.pid}`);
  mkdirSync(folder, { mode: 0o755, recursive: true });
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function canUseMemory(): boolean {
  try {
    const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
    const [, , type, options = ""] =
      mounts.map((line) => line.split(" ")).find(([, place]) => place === MEMORY_DISK) ?? [];
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    const freeBytes = Math.min(bavail * bsize, freemem());
    const canRun = !options.split(",").includes("noexec");
    return type === "tmpfs" && canRun && freeBytes >= MEMORY_BYTES_MIN;
  } catch {
    return false;
  }
}

/** Folders of runs that were killed before they could remove them. */
function removeOrphans(): void {
  for (const name of readdirSync(MEMORY_DISK)) {
    const pid = Number(name.startsWith(PREFIX) ? name.slice(PREFIX.length) : Number.NaN);
    if (!Number.isSafeInteger(pid) || isRunning(pid)) continue;
    try {
      rmSync(join(MEMORY_DISK, name), { recursive: true, force: true });
    } catch {
      // A disk that its run had mounted may still be there: that must not end all later runs.
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
