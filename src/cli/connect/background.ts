import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { open, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import {
  SERVER_GONE_ASKED_MS,
  SERVER_LOG_BYTES_MAX,
  SERVER_LOG_SHOWN_BYTES_MAX,
  SERVER_STOP_MS_MAX,
} from "../../core/limits.ts";
import { makeFolders } from "../../platform/folder.ts";
import { isGone, isProvablyHere, type ProcessIdentity } from "../../platform/process-identity.ts";
import { PACKAGE_FOLDER } from "../caller.ts";
import { CommandFailure } from "../failure.ts";
import { homeOf } from "../home.ts";
import { EXIT } from "../table/exit-codes.ts";
import type { RunningRecord } from "./run-file.ts";

/** The descriptor by which a server in the background says that it is up. */
const READY_FD = 3;

const READY_VARIABLE = "FERMATA_READY_FD";
const LOG_VARIABLE = "FERMATA_SERVER_LOG";

/** Where servers in the background write what others show on the terminal. */
export function serverLog(home: string): string {
  return join(home, "log", "server.log");
}

export interface BackgroundServer {
  readonly pid: number;
  readonly url: string;
  readonly log: string;
}

/**
 * Starts a server that outlives this command, and waits until it listens. What it says goes to a
 * file; where it does not come up, its last words are the reason.
 */
export async function startInBackground(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd = process.cwd(),
): Promise<BackgroundServer> {
  const log = serverLog(homeOf(env));
  await makeFolders(dirname(log));
  const from = await beginLog(log);
  const output = openSync(log, "a", 0o600);
  const program = join(PACKAGE_FOLDER, "bin/fermata.js");
  const child = spawn(process.execPath, [...process.execArgv, program, "serve", ...args], {
    cwd,
    detached: true,
    env: { ...env, [READY_VARIABLE]: `${READY_FD}`, [LOG_VARIABLE]: log },
    stdio: ["ignore", output, output, "pipe"],
  });
  closeSync(output);
  const failed = once(child, "error").then(([error]) => {
    throw new CommandFailure(EXIT.unreachable, `the server could not be started: ${error}`);
  });
  const said = await Promise.race([text(child.stdio[READY_FD] as Readable), failed]);
  child.unref();
  const url = said.trim();
  if (url !== "" && child.pid !== undefined) return { pid: child.pid, url, log };
  const why = (await lastOf(log, from)).trim() || `see ${log}`;
  throw new CommandFailure(EXIT.unreachable, `the server did not start: ${why}`);
}

/** A log that has grown makes way for a new one; returns where what comes now begins. */
async function beginLog(path: string): Promise<number> {
  const found = await stat(path).catch(() => null);
  if (found === null) return 0;
  if (found.size < SERVER_LOG_BYTES_MAX) return found.size;
  await rename(path, `${path}.1`);
  return 0;
}

/** The end of the log, from there on. */
async function lastOf(path: string, from: number): Promise<string> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const start = Math.max(from, size - SERVER_LOG_SHOWN_BYTES_MAX);
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(size - start),
      0,
      size - start,
      start,
    );
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** In a server: how it was started, which its agents are not to learn. */
export interface BackgroundStart {
  readonly log: string | null;
  /** Tells the command that has started it. */
  ready(url: string): void;
}

/** Takes what concerns only this server out of its environment. */
export function takeBackgroundStart(env: NodeJS.ProcessEnv): BackgroundStart {
  const { [READY_VARIABLE]: descriptor, [LOG_VARIABLE]: log = null } = env;
  delete env[READY_VARIABLE];
  delete env[LOG_VARIABLE];
  const isAsked = descriptor === `${READY_FD}`;
  return {
    log,
    ready(url) {
      if (!isAsked) return;
      try {
        writeSync(READY_FD, `${url}\n`);
        closeSync(READY_FD);
      } catch {
        // The command that has started it is gone, and the server stays all the same.
      }
    },
  };
}

/** Ends a server of this machine in order, and waits until it is gone. */
export async function stopServerProcess(
  { process: identity }: RunningRecord,
  tell: (sentence: string) => void,
): Promise<void> {
  const { pid } = identity;
  if (isGone(identity)) return;
  checkProved(identity);
  if (!sendSignal(pid)) return;
  const untilMs = performance.now() + SERVER_STOP_MS_MAX;
  let isTold = false;
  // No event says that a process has ended that is no child of this one.
  while (!isGone(identity)) {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) {
      const how = `end it at once with: kill -9 ${pid}`;
      throw new CommandFailure(EXIT.timeout, `the server (pid ${pid}) is still there; ${how}`);
    }
    if (!isTold && leftMs < SERVER_STOP_MS_MAX - TOLD_AFTER_MS) {
      isTold = true;
      tell(`waiting for the turns of the server (pid ${pid})`);
    }
    await pause(SERVER_GONE_ASKED_MS);
  }
}

/** Refuses a process that may be another one than the server. */
export function checkProved(identity: ProcessIdentity): void {
  if (isProvablyHere(identity)) return;
  const { pid } = identity;
  const why = "this system does not tell when it started, so it may be another process";
  const how = `look at it with: ps -p ${pid}; if it is the server, end it with: kill ${pid}`;
  throw new CommandFailure(EXIT.failed, `pid ${pid} is not signalled: ${why}; ${how}`);
}

const TOLD_AFTER_MS = 1_000;

/** False if there is no such process any more. */
function sendSignal(pid: number): boolean {
  try {
    return process.kill(pid, "SIGTERM");
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? thrown.code : "";
    if (code === "ESRCH") return false;
    throw new CommandFailure(EXIT.unauthorized, `the server (pid ${pid}) is of another user`);
  }
}
