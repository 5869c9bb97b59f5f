import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { expect } from "vitest";
import { projectFiles, ROOT } from "../house/files.ts";

/** What `npm start` prints when a server is up. */
const LISTENING = /listening on (http:\/\/\S+)/;

/** More than an install, a build and a start ever take, on a machine with much else to do. */
export const PATIENCE_MS = 900_000;

/** A look at all processes takes a program of its own. */
const LOOK_MS = 100;

/** The project as it is right after `git clone`: nothing is installed, nothing is built. */
export class FreshClone {
  readonly #top = realpathSync(mkdtempSync(join(tmpdir(), "fermata-clone-")));
  /** A space and letters beyond ASCII, as paths of people have. */
  readonly folder = join(this.#top, "müsic für alle", "fermata");
  readonly home = join(this.#top, "home");
  readonly #started: Started[] = [];

  constructor() {
    for (const path of projectFiles()) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true });
      cpSync(join(ROOT, path), join(this.folder, path));
    }
    mkdirSync(this.home);
    const echo = join(this.folder, "dist/agent/builtin/echo/main.js");
    const gemini = { command: process.execPath, args: [echo] };
    writeFileSync(join(this.home, "agents.json"), JSON.stringify({ gemini }));
  }

  /** A folder beside the clone. */
  beside(name: string): string {
    const folder = join(this.#top, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** Runs a line as people type it; a program before it may be what they type it into. */
  run(
    line: string,
    { shell = ["bash", "-c"], env = {}, cwd = this.folder }: RunOptions = {},
  ): Started {
    const [file = "", ...args] = [...shell, line];
    const usual = { ...outside(), FERMATA_HOME: this.home, FERMATA_PORT: "0" };
    const child = spawn(file, args, { cwd, env: { ...usual, ...env } });
    const started = new Started(child);
    this.#started.push(started);
    return started;
  }

  /** Ends what still runs, and leaves nothing behind. */
  async remove(): Promise<void> {
    for (const started of this.#started) await started.endAll();
    rmSync(this.#top, { recursive: true, force: true });
  }
}

interface RunOptions {
  readonly shell?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A command with all that it has started. */
export class Started {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  said = "";
  #url = "";
  #pids: readonly number[] = [];

  constructor(child: ChildProcess) {
    this.child = child;
    this.ended = once(child, "close").then(([exitCode]) => exitCode);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.said += text;
      });
    }
  }

  /** Its address, once it listens. */
  async url(): Promise<string> {
    await this.says(LISTENING);
    this.#url = LISTENING.exec(this.said)?.[1] ?? "";
    this.look();
    return this.#url;
  }

  /** Takes down who belongs to it now. */
  look(): void {
    this.#pids = familyOf(this.pid);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Itself and all below it, from the top, as they were when it began to listen. */
  get family(): readonly number[] {
    return this.#pids;
  }

  async says(words: RegExp): Promise<void> {
    const isOver = () => words.test(this.said) || this.child.exitCode !== null;
    await expect.poll(isOver, { timeout: PATIENCE_MS }).toBe(true);
    expect(this.said).toMatch(words);
  }

  /** Resolves when none of its processes is left, and nothing listens where it did. */
  async gone(): Promise<void> {
    const left = () => aliveOf(this.#pids);
    await expect.poll(left, { timeout: PATIENCE_MS, interval: LOOK_MS }).toEqual([]);
    if (this.#url !== "") await expect(fetch(`${this.#url}/health`)).rejects.toThrow();
  }

  async endAll(): Promise<void> {
    const all = new Set([...familyOf(this.pid), ...this.#pids]);
    for (const pid of aliveOf([...all])) process.kill(pid, "SIGKILL");
    await this.ended;
  }
}

/** The environment of a person's shell: nothing in it comes from the run of these tests. */
function outside(): NodeJS.ProcessEnv {
  const own = ([name]: [string, unknown]) => /^(npm_(?!config_)|FERMATA_|NODE_|VITEST)/.test(name);
  const env = Object.fromEntries(Object.entries(process.env).filter((entry) => !own(entry)));
  const path = (env.PATH ?? "").split(delimiter);
  const PATH = path.filter((folder) => !folder.includes("node_modules")).join(delimiter);
  return { ...env, PATH, npm_config_prefer_offline: "true", npm_config_update_notifier: "false" };
}

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly isZombie: boolean;
}

function processes(): readonly ProcessRow[] {
  const listing = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" });
  return listing
    .trim()
    .split("\n")
    .map((line) => {
      const [pid, parent, stat = ""] = line.trim().split(/\s+/);
      return { pid: Number(pid), parent: Number(parent), isZombie: stat.startsWith("Z") };
    });
}

/** From the top; parents come before their children. */
function familyOf(top: number): readonly number[] {
  const all = processes();
  const below = (pid: number): readonly number[] =>
    all.filter(({ parent }) => parent === pid).flatMap((row) => [row.pid, ...below(row.pid)]);
  return [top, ...below(top)];
}

function aliveOf(pids: readonly number[]): readonly number[] {
  const alive = processes().filter(({ isZombie }) => !isZombie);
  return alive.map(({ pid }) => pid).filter((pid) => pids.includes(pid));
}
