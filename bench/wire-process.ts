import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { WireScale } from "./wire-scale.ts";

/** A server in a process of its own, ours or a bare one. */
export class ServerProcess {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Answers when it has said where it listens. */
  static async start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ServerProcess> {
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      const [, port] = /127\.0\.0\.1:(\d+)\b/.exec(said) ?? [];
      if (port !== undefined) resolve(Number(port));
    });
    child.once("exit", () => reject(new Error(`the server did not start: ${said}`)));
    return new ServerProcess(child, await promise);
  }

  /** Asks whether it is well, over a connection of its own. */
  async health(): Promise<void> {
    const { port } = this;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const options = { port, host: "127.0.0.1", path: "/health", agent: false };
    const asked = get(options, (response) => {
      response.resume();
      if (response.statusCode === 200) response.on("end", resolve);
      else reject(new Error(`/health: ${response.statusCode}`));
    });
    asked.on("error", reject);
    return promise;
  }

  /** What the system says that it takes, in bytes. */
  async memoryBytes(): Promise<number> {
    const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", `${this.#child.pid}`]);
    return Number(stdout) * 1_024;
  }

  /** Ends the server without waiting for turns. */
  async end(...signals: readonly NodeJS.Signals[]): Promise<void> {
    const gone = once(this.#child, "exit");
    for (const signal of signals) this.#child.kill(signal);
    await gone;
  }
}

export function startBare(): Promise<ServerProcess> {
  return ServerProcess.start([fileURLToPath(new URL("wire-bare-main.ts", import.meta.url))]);
}

const ENTRIES = { built: "../bin/fermata.js", sources: "../test/server/entry.fixture.ts" };

/** Where a server of ours lives: its data, its workspace, and its agents. */
export class ServerHome {
  readonly #entry: string;
  readonly #isBuilt: boolean;
  #folder = "";

  constructor({ server }: WireScale) {
    this.#entry = pathOf(ENTRIES[server]);
    this.#isBuilt = server === "built";
  }

  async open(): Promise<void> {
    if (this.#isBuilt) await built();
    this.#folder = await mkdtemp(join(tmpdir(), "fermata-bench-"));
    for (const name of ["home", "workspace"]) await mkdir(join(this.#folder, name));
    const agents = join(this.#folder, "home", "agents.json");
    await writeFile(agents, JSON.stringify({ "roomy-echo": this.#roomyEcho() }));
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** The server as installed, except for limits that a crowd would meet. */
  start(...flags: readonly string[]): Promise<ServerProcess> {
    const place = ["--data", join(this.#folder, "data"), "--workspace", this.workspace];
    const unlimited = ["--max-sessions", "0", "--max-connections", "0"];
    const args = [this.#entry, "serve", "--port", "0", ...place, ...unlimited, ...flags];
    const home = { FERMATA_HOME: join(this.#folder, "home") };
    // An installed server is compiled; the sources are too, once for all tests.
    const compiled = { NODE_COMPILE_CACHE: pathOf("../node_modules/.cache/node") };
    return ServerProcess.start(args, this.#isBuilt ? home : { ...home, ...compiled });
  }

  get workspace(): string {
    return join(this.#folder, "workspace");
  }

  /** One process for all sessions: what is measured is not how agents are started. */
  #roomyEcho() {
    const echo = this.#isBuilt
      ? "../dist/agent/builtin/echo/main.js"
      : "../src/agent/builtin/echo/main.ts";
    const limits = { sessionsPerProcess: 1_024 };
    return { command: process.execPath, args: [pathOf(echo)], limits };
  }
}

let building: Promise<unknown> | null = null;

/** Once for all trials. */
function built(): Promise<unknown> {
  const build = () =>
    spawn(process.execPath, [pathOf("../scripts/build.js")], { stdio: "inherit" });
  building ??= once(build(), "exit");
  return building;
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
