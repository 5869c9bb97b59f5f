import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { fileFault } from "../../platform/file-fault.ts";
import { CommandFailure } from "../failure.ts";
import { homeOf } from "../home.ts";
import { EXIT } from "../table/exit-codes.ts";
import { contextNamed, LOCAL_CONTEXT, readContexts } from "./contexts.ts";
import { type RunningRecord, runningServers } from "./run-file.ts";

/** Where a command finds its server, and by which of the ways. */
export interface FoundServer {
  readonly url: string;
  readonly token: string | null;
  readonly by: "flag" | "environment" | "context" | "run file";
  /** What it wrote of itself; null of one that was named. */
  readonly running: RunningRecord | null;
}

/** What was given on the command line. */
export interface ServerFlags {
  readonly url?: string | undefined;
  readonly "token-file"?: string | undefined;
  readonly context?: string | undefined;
  readonly insecure?: boolean | undefined;
}

/**
 * Flags, then the environment, then the context in use, then the server of this machine. Null if
 * none of them names a server and none runs here.
 */
export async function findServer(
  flags: ServerFlags,
  env: NodeJS.ProcessEnv,
): Promise<FoundServer | null> {
  const given = flags["token-file"];
  const token = given === undefined ? null : await tokenIn(given);
  const own = token ?? env.FERMATA_TOKEN ?? null;
  const { url: flag, context: name } = flags;
  if (flag !== undefined && name !== undefined) {
    throw new CommandFailure(EXIT.usage, "give --url or --context, not both");
  }
  if (flag !== undefined) {
    const url = guardedAddress(flag, own, flags);
    return { url, token: own, by: "flag", running: null };
  }
  if (name === undefined && env.FERMATA_URL) {
    const url = guardedAddress(env.FERMATA_URL, own, flags);
    return { url, token: own, by: "environment", running: null };
  }
  const home = homeOf(env);
  const chosen = await chosenContext(name, home);
  if (chosen !== null) {
    const { url, token: kept } = chosen;
    return { url: addressOf(url), token: token ?? kept, by: "context", running: null };
  }
  const running = await localServer(env);
  if (running === null) return null;
  return { url: running.url, token: own ?? running.token, by: "run file", running };
}

async function chosenContext(name: string | undefined, home: string) {
  const contexts = await readContexts(home);
  const wanted = name ?? contexts.current;
  if (wanted === null || wanted === LOCAL_CONTEXT) return null;
  return contextNamed(contexts, wanted);
}

/** The server of the data directory in use, else the only one that this user runs. */
export async function localServer(env: NodeJS.ProcessEnv): Promise<RunningRecord | null> {
  const home = homeOf(env);
  const all = await runningServers(home);
  const data = resolve(env.FERMATA_DATA ?? home);
  const found = all.find((one) => one.data === data) ?? null;
  if (found !== null || all.length === 0) return found;
  const [only] = all;
  if (all.length === 1 && only !== undefined) return only;
  const which = all.map(({ url, data: where }) => `${url} (data ${where})`).join(", ");
  const how = "choose one with --url or FERMATA_DATA";
  throw new CommandFailure(EXIT.notFound, `several servers run here: ${which}; ${how}`);
}

/** A token is read by others on the way, unless the caller says that this is meant. */
function guardedAddress(text: string, token: string | null, { insecure }: ServerFlags): string {
  const url = addressOf(text);
  if (token !== null && !insecure && isInTheClear(url)) {
    throw new CommandFailure(EXIT.usage, `${url}: ${IN_THE_CLEAR}`);
  }
  return url;
}

/** Whether others on the way to that address can read what is sent. */
export function isInTheClear(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isOwnMachine(hostname);
}

export const IN_THE_CLEAR =
  "plain http to another machine shows the token; use https or --insecure";

export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return url.origin;
  throw new CommandFailure(EXIT.usage, `"${text}" is no address, such as https://host:4170`);
}

/** The token in a file, or in the input for "-": on the command line all users would see it. */
export async function tokenIn(path: string): Promise<string> {
  try {
    const text = path === "-" ? await readAll(process.stdin) : await readFile(path, "utf8");
    const token = text.trim();
    if (/^[\x21-\x7e]+$/.test(token)) return token;
  } catch (thrown) {
    throw new CommandFailure(EXIT.usage, `--token-file ${path}: ${fileFault(thrown)}`);
  }
  throw new CommandFailure(EXIT.usage, `--token-file ${path}: there is no token in it`);
}

/** Whether what is sent there stays on this machine. */
function isOwnMachine(hostname: string): boolean {
  const host = hostname.replaceAll(/[[\]]/g, "");
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
