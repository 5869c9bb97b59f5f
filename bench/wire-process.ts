import { type ChildProcess, execFile, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { WireScale } from "./wire-scale.ts";

/** A server in its own process: Fermata or a bare one. */
export class ServerProcess {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Resolves when the server has printed its address. */
  static async start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ServerProcess> {
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, NODE_OPTIONS: process.env.NODE_OPTIONS, ...env },
      stdio: ["ignore", "pipe", "ignore", "ipc"],
    });
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const [, port] = /127\.0\.0\.1:(\d+)\b/.exec(output) ?? [];
      if (port !== undefined) resolve(Number(port));
    });
    child.once("exit", () => reject(new Error(`the server did not start: ${output}`)));
    return new ServerProcess(child, await promise);
  }

  /** Requests /health over a new connection. */
  health(): Promise<void> {
    return askHealth(this.port);
  }

  /** The resident memory. */
  async memoryBytes(): Promise<number> {
    const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", `${this.#child.pid}`]);
    return Number(stdout) * 1_024;
  }

  /** Asks its probe, for servers that have one. */
  async ask<Report>(question: string | object): Promise<Report> {
    const { promise, resolve, reject } = Promise.withResolvers<Report>();
    const gone = () => reject(new Error("the server is gone"));
    // The probes of the bench answer each question with its report.
    this.#child.once("message", (report) => resolve(report as Report)).once("exit", gone);
    this.#child.send(question);
    return promise.finally(() => this.#child.off("exit", gone));
  }

  /** Ends the server without waiting for turns. */
  async end(...signals: readonly NodeJS.Signals[]): Promise<void> {
    if (this.#child.pid === undefined) return;
    const gone = once(this.#child, "exit");
    for (const signal of signals) this.#child.kill(signal);
    await gone;
  }
}

function askHealth(port: number): Promise<void> {
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

const HEALTH_EVERY_MS = 2;
const HEALTH_WITHIN_MS = 60_000;

/** The first answer of a server that starts at this port: it may listen before it prints. */
export async function firstHealth(port: number): Promise<void> {
  const untilMs = performance.now() + HEALTH_WITHIN_MS;
  for (;;) {
    try {
      return await askHealth(port);
    } catch (thrown) {
      if (performance.now() > untilMs) throw thrown;
      await pause(HEALTH_EVERY_MS);
    }
  }
}

/** A port that nothing listens at just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** The bare server of the bench; with a folder, it can also keep what it is told on the disk. */
export function startBare(...folder: readonly string[]): Promise<ServerProcess> {
  return ServerProcess.start([fileURLToPath(new URL("wire-bare.ts", import.meta.url)), ...folder]);
}

/** The smallest HTTP server with Node. */
const SMALLEST = `require("node:http").createServer((_, response) => response.end("ok"))
  .listen(0, "127.0.0.1", function () { console.log("127.0.0.1:" + this.address().port); });`;

export function startSmallest(): Promise<ServerProcess> {
  return ServerProcess.start(["-e", SMALLEST]);
}

const ENTRIES = { built: "../bin/fermata.js", sources: "../test/server/entry.fixture.ts" };
/** What tests start: the build, if it is of these sources. */
const AT_HAND = process.env.FERMATA_TEST_BUILD ? "built" : "sources";

/** The folders of a Fermata server: data, workspace and home. */
export class ServerHome {
  readonly #entry: string;
  readonly #isBuilt: boolean;
  readonly #needsBuild: boolean;
  #folder = "";

  /** With the root of another clone, the build that is there. */
  constructor({ server }: Pick<WireScale, "server">, root: string | null = null) {
    const kind = server === "at hand" ? AT_HAND : server;
    this.#entry = root === null ? pathOf(ENTRIES[kind]) : join(root, "bin/fermata.js");
    this.#isBuilt = root !== null || kind === "built";
    this.#needsBuild = root === null && server === "built";
  }

  async open(): Promise<void> {
    if (this.#needsBuild) await built();
    this.#folder = await mkdtemp(join(tmpdir(), "fermata-bench-"));
    for (const name of ["home", "workspace"]) await mkdir(join(this.#folder, name));
    const agents = join(this.#folder, "home", "agents.json");
    const kept = join(this.#folder, "sessions");
    await mkdir(kept);
    const profiles = { "echo-many": this.#echoProfile(), ...streamingProfiles(kept) };
    await writeFile(agents, JSON.stringify(profiles));
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** The server as installed, except for limits that a crowd would meet. */
  start(...flags: readonly string[]): Promise<ServerProcess> {
    return this.#start([], flags);
  }

  /** The same with a probe of the bench in it, which knows more of it than can be seen outside. */
  startProbed(probe: URL, ...flags: readonly string[]): Promise<ServerProcess> {
    return this.#start(["--import", probe.href], flags);
  }

  #start(node: readonly string[], flags: readonly string[]): Promise<ServerProcess> {
    const folders = ["--data", join(this.#folder, "data"), "--workspace", this.workspace];
    const unlimited = ["--max-sessions", "0", "--max-connections", "0"];
    const port = flags.includes("--port") ? [] : ["--port", "0"];
    const serve = [this.#entry, "serve", ...port, ...folders, ...unlimited, ...flags];
    return ServerProcess.start([...node, ...serve], this.#environment());
  }

  /** Runs a command beside the server, and resolves with 1 when it has ended well. */
  command(...words: readonly string[]): Promise<number> {
    return toItsEnd([this.#entry, ...words], this.#environment());
  }

  #environment(): NodeJS.ProcessEnv {
    const home = {
      ...KEY,
      FERMATA_HOME: join(this.#folder, "home"),
      FERMATA_DATA: join(this.#folder, "data"),
      FERMATA_RUN_DIR: this.#folder,
    };
    // An installed server is compiled; the sources are too, once for all tests.
    const compiled = { NODE_COMPILE_CACHE: pathOf("../node_modules/.cache/node") };
    return this.#isBuilt ? home : { ...home, ...compiled };
  }

  /** Where its store is, while no server runs. */
  get sessions(): string {
    return join(this.#folder, "data", "sessions");
  }

  get workspace(): string {
    return join(this.#folder, "workspace");
  }

  /** One process for all sessions, so that starts of agents are not measured. */
  #echoProfile() {
    const echo = this.#isBuilt
      ? "../dist/agent/builtin/echo/main.js"
      : "../src/agent/builtin/echo/main.ts";
    const limits = { sessionsPerProcess: 1_024 };
    return { command: process.execPath, args: [pathOf(echo)], limits };
  }
}

/** Runs Node to its end; rejects where that fails. */
export async function toItsEnd(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const whole = { PATH: process.env.PATH, ...env };
  const child = spawn(process.execPath, args, { env: whole, stdio: "ignore" });
  const [exitCode] = await once(child, "exit");
  if (exitCode !== 0) throw new Error(`${args.join(" ")} ended with ${exitCode}`);
  return 1;
}

export const STREAMING_AGENT = fileURLToPath(new URL("path-agent.ts", import.meta.url));

/** A key as agents have one: all that the agent says is scanned for it. */
const KEY = { BENCH_API_KEY: "sk-bench-0123456789abcdefghijklmnopqrstuvwxyz" };

/**
 * An agent that costs next to nothing: as it is and with a key, for many sessions, and with what it
 * has said.
 */
function streamingProfiles(folder: string) {
  const plain = { command: process.execPath, args: [STREAMING_AGENT] };
  const streaming = { ...plain, env: { BENCH_API_KEY: { secret: "BENCH_API_KEY" } } };
  const many = { ...plain, limits: { sessionsPerProcess: 1_024 } };
  const keeping = { ...many, args: [STREAMING_AGENT, "--state", folder] };
  return { streaming, "streaming-many": many, "streaming-keeping": keeping };
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

/** A script in a child process, which answers each request with a report. */
export class ChildScript<Request extends object, Report> {
  readonly #child: ChildProcess;

  constructor(script: URL, execArgv: string[] = []) {
    this.#child = fork(fileURLToPath(script), { execArgv });
  }

  async request(request: Request): Promise<Report> {
    const { promise, resolve, reject } = Promise.withResolvers<Report>();
    const gone = () => reject(new Error("the child process is gone"));
    this.#child.once("message", resolve).once("exit", gone);
    this.#child.send(request);
    return promise.finally(() => this.#child.off("message", resolve).off("exit", gone));
  }

  /** Disconnects from the process, which then ends by itself. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const gone = once(this.#child, "exit");
    if (this.#child.connected) this.#child.disconnect();
    await gone;
  }
}
