import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { buildIsFresh } from "../../scripts/freshness.js";
import { ROOT } from "../house/files.ts";
import { runNode } from "../house/run.ts";

/** What is tested is the built command, so it has to be built from the sources of this moment. */
export async function built(): Promise<void> {
  if (buildIsFresh(ROOT)) return;
  const { exitCode, stderr } = await runNode(["scripts/build.js"]);
  if (exitCode !== 0) throw new Error(`there is no build: ${stderr}`);
}

const PROGRAM = join(ROOT, "bin/fermata.js");

export interface Ran {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A person with a home, a folder to work in, and the real command. */
export class Shell {
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-cli-")));
  readonly #env: Readonly<Record<string, string>>;

  constructor(env: Readonly<Record<string, string>> = {}) {
    this.#env = env;
    mkdirSync(this.home, { mode: 0o700 });
    mkdirSync(this.folder);
  }

  get home(): string {
    return join(this.#folder, "home");
  }

  get folder(): string {
    return join(this.#folder, "work");
  }

  start(args: readonly string[], cwd = this.folder): ChildProcess {
    return spawn(process.execPath, [PROGRAM, ...args], {
      cwd,
      env: {
        PATH: process.env.PATH,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        FERMATA_HOME: this.home,
        FERMATA_RUN_DIR: this.#folder,
        FERMATA_PORT: "0",
        ...this.#env,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
  }

  /** Runs the command to its end. */
  async run(args: readonly string[], input: string | Buffer = "", cwd?: string): Promise<Ran> {
    const child = this.start(args, cwd);
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
    const [stdout, stderr] = [child.stdout, child.stderr].map((stream) =>
      stream === null ? Promise.resolve("") : text(stream),
    );
    const [exitCode] = await once(child, "close");
    return { exitCode, stdout: (await stdout) ?? "", stderr: (await stderr) ?? "" };
  }

  /** Ends the servers that commands have started, and removes all that there is. */
  async end(): Promise<void> {
    await this.run(["stop", "--all"]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A shell of one test. */
export function shell(env?: Readonly<Record<string, string>>): Shell {
  const one = new Shell(env);
  onTestFinished(() => one.end());
  return one;
}
