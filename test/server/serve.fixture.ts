import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import { ENTRY } from "./program.fixture.ts";

export interface ServeOptions {
  /** Besides the port and the folders. */
  readonly flags?: readonly string[];
  /** Where tenants may have workspaces: anywhere, unless a test is about having said nothing. */
  readonly workspaceRoot?: string | null;
  /** Besides the usual ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Agents of its own, as they stand in `agents.json`. */
  readonly agents?: Readonly<Record<string, object>>;
  /** Changes its folders before it starts. */
  readonly prepare?: (server: ServeProcess) => void;
  /** A program, with its arguments, that starts it in its own process. */
  readonly launcher?: readonly string[];
}

const COMPILED = fileURLToPath(new URL("../../node_modules/.cache/node", import.meta.url));

/** More than it ever takes to start or to end, on a machine with much else to do. */
const PATIENCE_MS = 60_000;

/** A server as a user has it: a process of its own, over folders of its own. */
export class ServeProcess {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-serve-")));
  readonly data = join(this.folder, "data");
  readonly workspace = join(this.folder, "workspace");
  readonly home = join(this.folder, "home");
  readonly #options: ServeOptions;
  #child: ChildProcess | null = null;
  #port = 0;
  #said = "";

  private constructor(options: ServeOptions) {
    this.#options = options;
    for (const folder of [this.workspace, this.home]) mkdirSync(folder);
    const agents = Object.entries(options.agents ?? {}).map(([name, agent]) => {
      return [name, withCompiled(agent)];
    });
    writeFileSync(join(this.home, "agents.json"), JSON.stringify(Object.fromEntries(agents)));
    options.prepare?.(this);
  }

  static async start(options: ServeOptions = {}): Promise<ServeProcess> {
    const server = new ServeProcess(options);
    try {
      await server.restart();
    } catch (thrown) {
      await server.end();
      throw thrown;
    }
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  /** Of the process that runs now. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Everything that its processes have written so far, log and all. */
  get said(): string {
    return this.#said;
  }

  /** Again, over the same data and at the same address. */
  async restart(): Promise<void> {
    if (this.#child !== null) throw new Error("it is still running");
    const place = ["--port", `${this.#port}`, "--data", this.data, "--workspace", this.workspace];
    const { flags = [], workspaceRoot = "/" } = this.#options;
    const root = workspaceRoot === null ? [] : ["--workspace-root", workspaceRoot];
    const args = [ENTRY, "serve", ...place, ...root, ...flags];
    const env = {
      PATH: process.env.PATH,
      FERMATA_HOME: this.home,
      // In its own folder, so that a server which is killed leaves nothing behind.
      FERMATA_RUN_DIR: this.folder,
      NODE_COMPILE_CACHE: COMPILED,
      ...this.#options.env,
    };
    const [file = "", ...words] = [...(this.#options.launcher ?? []), process.execPath, ...args];
    const child = spawn(file, words, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    this.#port = await this.#ready(child);
  }

  /** Sends it these signals, one after the other, and waits until it is gone. */
  async kill(...signals: readonly NodeJS.Signals[]): Promise<number | null> {
    const child = this.#child;
    if (child === null) throw new Error("it is not running");
    this.#child = null;
    if (child.pid === undefined) return null;
    const gone = once(child, "exit", { signal: AbortSignal.timeout(PATIENCE_MS) });
    for (const signal of signals) child.kill(signal);
    await gone;
    return child.exitCode;
  }

  /** Ends it in a hurry, and leaves nothing behind. */
  async end(): Promise<void> {
    if (this.#child !== null) await this.kill("SIGTERM", "SIGINT");
    rmSync(this.folder, { recursive: true, force: true });
  }

  #ready(child: ChildProcess): Promise<number> {
    const { stdout, stderr } = child;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    let line = "";
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#said += text;
    });
    stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#said += text;
      line += text;
      const [, port] = /listening on http:\/\/127\.0\.0\.1:(\d+)\b/.exec(line) ?? [];
      if (port !== undefined) resolve(Number(port));
    });
    child.once("exit", () => {
      if (this.#child === child) this.#child = null;
      reject(new Error(`there is no server any more: ${this.#said}`));
    });
    return promise;
  }
}

/** An agent that is a script of ours starts in half the time if it was compiled before. */
function withCompiled(agent: object): object {
  if (!("command" in agent) || agent.command !== process.execPath) return agent;
  const env = "env" in agent ? agent.env : {};
  return { ...agent, env: { NODE_COMPILE_CACHE: COMPILED, ...Object(env) } };
}

/** One server for all tests of a file. */
export function sharedServer(options: ServeOptions = {}): () => ServeProcess {
  let server: ServeProcess | null = null;
  beforeAll(async () => {
    server = await ServeProcess.start(options);
  }, PATIENCE_MS);
  afterAll(() => server?.end(), PATIENCE_MS);
  return () => {
    if (server === null) throw new Error("it has not been started");
    return server;
  };
}
