import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { AGENT_LINE_BYTES_MAX } from "../../../core/limits.ts";
import { LineSplitter } from "../../../wire/rpc.ts";
import { EchoAgent } from "./agent.ts";
import { Outbox } from "./client-link.ts";
import { readFlags } from "./flags.ts";
import { LineClient } from "./line-client.fixture.ts";
import { memoryStore } from "./session-store.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
/**
 * Echo starts four times faster where Node remembers what it made of the sources. It writes that
 * down when it exits by itself, which most echoes of these tests do not.
 */
const COMPILED = fileURLToPath(new URL("../../../../node_modules/.cache/node", import.meta.url));
const ENVIRONMENT = { ...process.env, NODE_COMPILE_CACHE: COMPILED };
spawnSync(process.execPath, [MAIN, "--help"], { env: ENVIRONMENT });

const started = new Set<EchoClient>();

/** For `afterEach`: ends what a test started, and tells what echo said against the protocol. */
export async function endEchoes(): Promise<readonly string[]> {
  const clients = [...started];
  started.clear();
  await Promise.all(clients.map((client) => client.kill()));
  return clients.flatMap(({ faults }) => faults);
}

/** A client of an echo in a process of its own. */
export class EchoClient extends LineClient {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  stderr = "";

  constructor(...flags: readonly string[]) {
    const child = spawn(process.execPath, [MAIN, ...flags], { env: ENVIRONMENT });
    super({ input: child.stdin, output: child.stdout });
    this.child = child;
    started.add(this);
    this.exited = once(child, "close").then(([code, signal]) => ({ code, signal }));
    void this.exited.then(() => this.giveUp(`echo has exited: ${this.stderr}`));
    child.stderr.on("data", (chunk: Buffer) => {
      this.stderr += chunk;
    });
  }

  /** Started, initialised, and with a session. */
  static async withSession(...flags: readonly string[]): Promise<EchoClient> {
    const client = new EchoClient(...flags);
    await client.initialize();
    await client.newSession();
    return client;
  }

  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.child;
    const isRunning = pid !== undefined && exitCode === null && signalCode === null;
    if (isRunning) this.child.kill("SIGKILL");
    // What holds the pipes open longer is a child that the test itself has to end.
    this.child.stdout.destroy();
    await this.exited;
  }
}

/** The same echo without a process, for tests that need very many of them. */
export function echoInside(...argv: readonly string[]): LineClient {
  const flags = readFlags(argv);
  if (typeof flags === "string") throw new Error(flags);
  const [input, output] = [new PassThrough(), new PassThrough()];
  const agent = new EchoAgent(flags, new Outbox(output), memoryStore());
  const lines = new LineSplitter(AGENT_LINE_BYTES_MAX);
  input.on("data", (chunk: Buffer) => {
    for (const line of lines.feed(chunk)) agent.receive(line);
  });
  return new LineClient({ input, output });
}
