import { setTimeout as pause } from "node:timers/promises";
import { Fermata } from "../../client/index.ts";
import { stringAt } from "../../core/json.ts";
import {
  CONNECT_PATIENCE_MS,
  SERVER_FOUND_RETRY_MS,
  SERVER_SEEN_MS_MAX,
  SERVER_START_MS_MAX,
} from "../../core/limits.ts";
import { CommandFailure } from "../failure.ts";
import { homeOf, messageOf } from "../home.ts";
import { version } from "../output.ts";
import { parseRow, type RowValues } from "../parse-row.ts";
import { EXIT } from "../table/exit-codes.ts";
import type { CommandRow } from "../table/row.ts";
import { startInBackground } from "./background.ts";
import { failureOf } from "./failure-of.ts";
import { type FoundServer, findServer, localServer } from "./find-server.ts";
import type { RunningRecord } from "./run-file.ts";

/** What a command that speaks to a server is given. */
export interface OnServer<Row extends CommandRow> {
  readonly client: Fermata;
  readonly server: FoundServer;
  readonly flags: RowValues<Row>;
  readonly words: readonly string[];
  /** Ends what the command waits for: Ctrl-C, or a command to stop. */
  readonly signal: AbortSignal;
}

export interface ServerCommand<Row extends CommandRow> {
  readonly row: Row;
  /** Whether a server is started where none is found. */
  readonly startsServer?: true;
  /** Leaves Ctrl-C to the command itself. */
  readonly takesSignals?: true;
  /** What is wrong with what was given; null if nothing is. No server is looked for then. */
  fault?(flags: RowValues<Row>, words: readonly string[]): string | null;
  act(on: OnServer<Row>): Promise<number>;
}

/** Runs a command that speaks to a server, and returns its exit code. */
export async function runOnServer<const Row extends CommandRow>(
  command: ServerCommand<Row>,
  args: readonly string[],
): Promise<number> {
  const { row, fault, startsServer = false, takesSignals = false } = command;
  const interrupt = new AbortController();
  const end = () => interrupt.abort();
  try {
    const { values: flags, positionals: words } = read(row, args);
    const reason = fault?.(flags, words) ?? null;
    if (reason !== null) throw new CommandFailure(EXIT.usage, reason);
    const server = await serverFor(flags, startsServer);
    if (!takesSignals) process.once("SIGINT", end).once("SIGTERM", end);
    const { signal } = interrupt;
    await checkVersion(server, signal);
    const client = clientOf(server);
    return await command.act({ client, server, flags, words, signal });
  } catch (thrown) {
    if (interrupt.signal.aborted) return EXIT.cancelled;
    return printFailure(row.name, failureOf(thrown));
  } finally {
    process.off("SIGINT", end).off("SIGTERM", end);
  }
}

export function clientOf({ url, token }: FoundServer, patienceMs?: number): Fermata {
  return new Fermata({ url, token, ...(patienceMs !== undefined && { patienceMs }) });
}

function read<Row extends CommandRow>(row: Row, args: readonly string[]) {
  try {
    return parseRow(row, args);
  } catch (thrown) {
    throw new CommandFailure(EXIT.usage, messageOf(thrown));
  }
}

/** One style for all that goes wrong: what happened, why, what to type. */
export function printFailure(name: string, { message, exitCode }: CommandFailure): number {
  const more = exitCode === EXIT.usage ? `; see "fermata ${name} --help".` : "";
  console.error(`fermata: ${exitCode === EXIT.usage ? `${name}: ` : ""}${message}${more}`);
  return exitCode;
}

async function serverFor(flags: object, startsServer: boolean): Promise<FoundServer> {
  const { env } = process;
  const found = await findServer(flags, env);
  if (found !== null) return found;
  if (!startsServer) {
    const where = `run file in ${homeOf(env)}/run`;
    const how = "Start one: fermata serve -d; or name one: --url URL, fermata login URL";
    throw new CommandFailure(EXIT.unreachable, `no server runs here (no ${where}). ${how}`);
  }
  return startServerHere(env);
}

/** Two commands may start one at the same time: the one that loses takes the other's. */
async function startServerHere(env: NodeJS.ProcessEnv): Promise<FoundServer> {
  let running = null;
  try {
    const { pid, log } = await startInBackground([], env);
    console.error(`fermata: started a server (pid ${pid}, log ${log}); stop it: fermata stop`);
  } catch (thrown) {
    if (!isTaken(thrown)) throw thrown;
    running = await awaitedServer(env);
    if (running === null) throw thrown;
  }
  running ??= await localServer(env);
  if (running === null) throw new CommandFailure(EXIT.unreachable, "the server is gone again");
  return { url: running.url, token: running.token, by: "run file", running };
}

/** Another command has just started a server over the same data. */
function isTaken(thrown: unknown): boolean {
  return thrown instanceof CommandFailure && / serves .* already/.test(thrown.message);
}

/** It has the data from its beginning, and its run file when it listens. */
async function awaitedServer(env: NodeJS.ProcessEnv): Promise<RunningRecord | null> {
  // Only the command that has lost needs them.
  const { isServedHere } = await import("../serve/data-claim.ts");
  const { readServeOptions } = await import("../serve/read-options.ts");
  const { dataFolder } = await import("../serve/store.ts");
  const options = await readServeOptions([], env);
  const folder = options.ok ? dataFolder(options.value, env) : homeOf(env);
  const beganMs = performance.now();
  let patienceMs = SERVER_SEEN_MS_MAX;
  while (performance.now() - beganMs < patienceMs) {
    const isStarting = await isServedHere(folder);
    const running = await localServer(env);
    if (running !== null) return running;
    if (isStarting) patienceMs = SERVER_START_MS_MAX;
    else if (patienceMs === SERVER_START_MS_MAX) return null;
    await pause(SERVER_FOUND_RETRY_MS);
  }
  return null;
}

/** A server of another version may mean something else by the same words. */
async function checkVersion(server: FoundServer, signal: AbortSignal): Promise<void> {
  const theirs = server.running?.version ?? (await versionOf(server, signal));
  const ours = version();
  if (eraOf(theirs) === eraOf(ours)) return;
  const how = server.running === null ? `npx fermata@${theirs}` : "fermata restart";
  const which = `the server at ${server.url} is fermata ${theirs}, and this is ${ours}`;
  throw new CommandFailure(EXIT.version, `${which}. Use: ${how}`);
}

async function versionOf(server: FoundServer, signal: AbortSignal): Promise<string> {
  const capabilities = await clientOf(server, CONNECT_PATIENCE_MS).capabilities({ signal });
  const theirs = stringAt(capabilities, "fermataVersion");
  if (theirs !== null) return theirs;
  throw new CommandFailure(EXIT.version, `the server at ${server.url} says no version of Fermata`);
}

/** Versions with the same one understand each other; below 1.0 a minor version may break. */
export function eraOf(text: string): string {
  const [major = "", minor = ""] = text.split(".");
  return major === "0" ? `0.${minor}` : major;
}

/** Reads the command line, and turns what is thrown into an exit code. */
export async function guarded<const Row extends CommandRow>(
  row: Row,
  args: readonly string[],
  act: (
    flags: ReturnType<typeof parseRow<Row>>["values"],
    words: readonly string[],
  ) => Promise<number>,
): Promise<number> {
  let parsed: ReturnType<typeof parseRow<Row>>;
  try {
    parsed = parseRow(row, args);
  } catch (thrown) {
    return printFailure(row.name, new CommandFailure(EXIT.usage, messageOf(thrown)));
  }
  try {
    return await act(parsed.values, parsed.positionals);
  } catch (thrown) {
    return printFailure(row.name, failureOf(thrown));
  }
}
