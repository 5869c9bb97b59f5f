import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Fermata } from "../client/fermata.ts";
import type { FermataOptions } from "../client/transport.ts";

export interface TestServerOptions {
  /** Further options of `fermata serve`. */
  readonly flags?: readonly string[];
  /** Variables beside `PATH`. */
  readonly env?: Readonly<Record<string, string>>;
  /** The program that is started in the place of the package's own. */
  readonly entry?: string;
}

const PROGRAM = fileURLToPath(new URL("../../bin/fermata.js", import.meta.url));

/**
 * A real server for the tests of other programs: a process of its own on a free port, over folders
 * of its own, with the agent `echo`, which needs no key. Its folders go with it.
 *
 *     await using server = await TestServer.start();
 *     const session = await server.client().sessions.create();
 */
export class TestServer implements AsyncDisposable {
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-test-server-")));
  readonly #options: TestServerOptions;
  #child: ChildProcess | null = null;
  #port = 0;

  private constructor(options: TestServerOptions) {
    this.#options = options;
    mkdirSync(this.workspace);
  }

  static async start(options: TestServerOptions = {}): Promise<TestServer> {
    const server = new TestServer(options);
    try {
      await server.restart();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  /** The same over its whole life. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The folder in which its sessions work. */
  get workspace(): string {
    return join(this.#folder, "workspace");
  }

  client(options: Omit<FermataOptions, "url"> = {}): Fermata {
    return new Fermata({ ...options, url: this.url });
  }

  /** Ends its process at once, as a crash would. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }

  /** Starts it again, over the same data and at the same address. */
  async restart(): Promise<void> {
    await this.kill();
    const data = join(this.#folder, "data");
    const place = ["--port", `${this.#port}`, "--data", data, "--workspace", this.workspace];
    const { flags = [], env = {}, entry = PROGRAM } = this.#options;
    const child = spawn(process.execPath, [entry, "serve", ...place, ...flags], {
      env: { PATH: process.env.PATH, ...ownFolders(this.#folder), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    this.#port = await portOf(child);
  }

  /** Ends it, and removes all that it has. */
  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Resolves when it listens; rejects with what it said if it ends instead. */
function portOf(child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let said = "";
  const hear = (text: string) => {
    said = `${said}${text}`.slice(-SAID_CHARS_MAX);
    const [, port] = /listening on http:\/\/127\.0\.0\.1:(\d+)\b/.exec(said) ?? [];
    if (port !== undefined) resolve(Number(port));
  };
  child.stdout?.setEncoding("utf8").on("data", hear);
  child.stderr?.setEncoding("utf8").on("data", hear);
  child.once("error", reject);
  child.once("exit", () => reject(new Error(`the test server did not start: ${said}`)));
  return promise;
}

const SAID_CHARS_MAX = 16_384;

/** All of a server in one folder: also what one leaves behind that is killed. */
function ownFolders(folder: string) {
  return { FERMATA_HOME: join(folder, "home"), FERMATA_RUN_DIR: folder };
}
