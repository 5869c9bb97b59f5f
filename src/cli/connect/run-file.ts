import { createHash } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import {
  isGone,
  isProvablyHere,
  type ProcessIdentity,
  thisProcess,
} from "../../platform/process-identity.ts";
import { readPrivate, writePrivate } from "./private-file.ts";

/** What a running server says of itself to commands of its own user. */
export interface RunningRecord {
  readonly process: ProcessIdentity;
  readonly url: string;
  readonly version: string;
  /** Where its data is, as an absolute path. */
  readonly data: string;
  /** Makes its bearer the operator, for as long as the server runs; null where none is needed. */
  readonly token: string | null;
  readonly startedAtMs: number;
  readonly agent: string;
  /** The file of its log; null if that goes to a terminal. */
  readonly log: string | null;
  /** How to start it again; null where a secret was in it. */
  readonly args: readonly string[] | null;
  readonly cwd: string;
  /** Variables that options came from; their values are not kept. */
  readonly variables: readonly string[];
  /** Whether its options ask callers for a token, also where none is stored. */
  readonly asksByOption: boolean;
}

/** Written when a server listens, removed when it stops. */
export class RunFile {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  static async write(
    home: string,
    record: Omit<RunningRecord, "process" | "startedAtMs" | "cwd">,
  ): Promise<RunFile> {
    const folder = runFolder(home);
    const path = join(folder, `${nameOf(record.data)}.${process.pid}.json`);
    await removeDead(folder);
    const whole: RunningRecord = {
      ...record,
      process: thisProcess(),
      startedAtMs: Date.now(),
      cwd: process.cwd(),
    };
    await writePrivate(path, `${JSON.stringify(whole)}\n`);
    return new RunFile(path);
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

/**
 * The servers of this user that run on this machine now. Where the system does not tell when a
 * process started (macOS), another one may have the pid by now: it is not given the token.
 */
export async function runningServers(home: string): Promise<readonly RunningRecord[]> {
  const folder = runFolder(home);
  const names = await namesIn(folder);
  const records = await Promise.all(names.map((name) => readRecord(join(folder, name))));
  const known = records.filter((record) => record !== null);
  return known.filter((record) => isHere(record.process)).map(withoutUnprovedToken);
}

function isHere(identity: ProcessIdentity): boolean {
  return identity.host === thisProcess().host && !isGone(identity);
}

function withoutUnprovedToken(record: RunningRecord): RunningRecord {
  return isProvablyHere(record.process) ? record : { ...record, token: null };
}

function runFolder(home: string): string {
  return join(home, "run");
}

/** Files of servers that were killed; the next server takes them away. */
async function removeDead(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    // One that cannot be read may be of a server that lives.
    const record = await readRecord(path).catch(() => null);
    if (record !== null && isGone(record.process)) await rm(path, { force: true });
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith(".json")).toSorted();
}

/** Null if there is none, or it cannot be understood. */
async function readRecord(path: string): Promise<RunningRecord | null> {
  const text = await readPrivate(path);
  return text === null ? null : recordIn(text);
}

function recordIn(text: string): RunningRecord | null {
  try {
    const read: unknown = JSON.parse(text);
    if (!isObject(read) || !isObject(read.process)) return null;
    const { pid } = read.process;
    const url = stringAt(read, "url");
    if (typeof pid !== "number" || url === null) return null;
    return { ...restOf(read), process: identityIn(read.process, pid), url };
  } catch {
    return null;
  }
}

function restOf(read: JsonObject): Omit<RunningRecord, "process" | "url"> {
  const word = (name: string) => stringAt(read, name) ?? "";
  const { args, startedAtMs, variables } = read;
  return {
    ...{ version: word("version"), data: word("data"), agent: word("agent"), cwd: word("cwd") },
    token: stringAt(read, "token"),
    log: stringAt(read, "log"),
    startedAtMs: typeof startedAtMs === "number" ? startedAtMs : 0,
    args: Array.isArray(args) ? args.map(String) : null,
    variables: Array.isArray(variables) ? variables.map(String) : [],
    asksByOption: read.asksByOption !== false,
  };
}

function identityIn(read: JsonObject, pid: number): ProcessIdentity {
  const word = (name: string) => stringAt(read, name) ?? "";
  return { pid, host: word("host"), bootId: word("bootId"), startedAt: word("startedAt") };
}

/** Data directories have long paths; a file's name is short. */
function nameOf(data: string): string {
  return createHash("sha256").update(resolve(data)).digest("hex").slice(0, 16);
}
