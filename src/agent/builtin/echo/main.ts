import { existsSync } from "node:fs";
import { basename } from "node:path";
import { AGENT_LINE_BYTES_MAX } from "../../../core/limits.ts";
import { LineSplitter } from "../../../wire/rpc.ts";
import { EchoAgent } from "./agent.ts";
import { Outbox } from "./client-link.ts";
import { type Flags, helpText, readFlags } from "./flags.ts";
import { WAIT_MS_MAX } from "./limits.ts";
import { type EchoStore, folderStore, memoryStore } from "./session-store.ts";

/** Echo, an agent that speaks ACP on its standard input and output. */

const BAD_USAGE = 2;
const BANNER = "echo agent 1.0.0\n\n  ready (press Ctrl-C to leave)\n{not: json}\n";
/** The longest timer that Node has: it only keeps the process alive. */
const FOREVER_MS = 2 ** 31 - 1;
/** How often echo looks for the file of `--start-when`. */
const FILE_POLL_MS = 10;

void start(process.argv.slice(2));

async function start(argv: readonly string[]): Promise<void> {
  const flags = readFlags(argv);
  if (typeof flags === "string") return leave(BAD_USAGE, `${flags}; see --help`);
  const outbox = new Outbox(process.stdout);
  // A client that closed the pipe does not come back.
  process.stdout.on("error", () => process.exit(0));
  if (flags.has("--help") || flags.has("--help-text")) {
    outbox.post(helpText(basename(process.argv[1] ?? "main")));
    return;
  }
  const exitCode = flags.count("--exit-at-start");
  if (exitCode !== null) return leave(exitCode, `it was told to exit with ${exitCode}`);
  const store = openStore(flags);
  if (typeof store === "string") return leave(1, store);
  if (flags.has("--ignore-term")) process.on("SIGTERM", () => {});
  if (flags.has("--garbage-at-start")) outbox.post(BANNER);
  await waitMs(flags.count("--slow-start") ?? 0);
  await untilExists(flags.text("--start-when"));
  listen(new EchoAgent(flags, outbox, store), flags, outbox);
}

function listen(agent: EchoAgent, flags: Flags, outbox: Outbox) {
  const lines = new LineSplitter(AGENT_LINE_BYTES_MAX);
  process.stdin.on("data", (chunk: Buffer) => {
    for (const line of lines.feed(chunk)) agent.receive(line);
  });
  process.stdin.on("end", () => {
    if (flags.has("--ignore-eof")) setInterval(() => {}, FOREVER_MS);
    else void outbox.flushed().then(() => process.exit(0));
  });
}

function openStore(flags: Flags): EchoStore | string {
  const folder = flags.text("--state");
  if (folder === null) return memoryStore();
  try {
    return folderStore(folder);
  } catch (thrown) {
    return `it cannot keep sessions in ${folder}: ${thrown}`;
  }
}

/** Waits for a file, for `WAIT_MS_MAX` at most. */
async function untilExists(file: string | null): Promise<void> {
  const untilMs = performance.now() + WAIT_MS_MAX;
  while (file !== null && !existsSync(file) && performance.now() < untilMs)
    await waitMs(FILE_POLL_MS);
}

function waitMs(ms: number): Promise<void> {
  return ms === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}

function leave(code: number, why: string) {
  process.stderr.write(`echo: ${why}\n`);
  process.exitCode = code;
}
