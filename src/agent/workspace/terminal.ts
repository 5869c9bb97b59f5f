import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import {
  TERMINAL_DRAIN_MS_MAX,
  TERMINAL_KILL_MS_MAX,
  TERMINAL_POLL_MS,
  TERMINAL_TERMINATE_MS_MAX,
} from "../../core/limits.ts";
import type { TerminalExit } from "../../core/terminal-output.ts";
import { type SpawnIdentity, spawnAs } from "../../platform/spawn-as.ts";
import { OutputRing } from "../process/output.ts";
import { processTable } from "../process/process-table.ts";
import { systemCodeOf } from "../system-error.ts";
import type { CommandLine } from "./command.ts";
import { reasonOf } from "./errors.ts";

/** The state of a terminal as ACP answers it. */
export interface TerminalReading {
  readonly output: string;
  readonly truncated: boolean;
  readonly exitStatus?: TerminalExit;
}

/** How a command is started. */
export interface TerminalStart extends CommandLine {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly outputBytesMax: number;
  /** Its user; null for the server's own. */
  readonly user: SpawnIdentity | null;
}

/** Follows a command. */
export interface TerminalObserver {
  /** Output on either of its pipes. */
  wrote(chunk: Buffer): void;
  /** The end: later output does not count. */
  ended(exit: TerminalExit): void;
}

/**
 * One command in its own process group, without input. The server always reads its output, so that
 * it is never slowed down. The chunks of both pipes are kept in the order of their arrival.
 */
export class Terminal {
  /** Null when the command runs, else why it does not. */
  readonly started: Promise<string | null>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  /** Null if it never started. */
  readonly #group: ProcessGroup | null;
  readonly #ring: OutputRing;
  readonly #waiters = new Set<(exit: TerminalExit) => void>();
  #observer: TerminalObserver | null = null;
  #exit: TerminalExit | null = null;
  #hasEnded = false;
  #ending: Promise<void> | null = null;

  /** Starts it synchronously, so that `Terminals` has it before anything else can happen. */
  constructor({ file, args, cwd, environment, outputBytesMax, user }: TerminalStart) {
    this.#ring = new OutputRing(outputBytesMax);
    const command = spawnAs(user, { file, args, cwd, env: environment });
    this.#child = spawn(command.file, command.args, {
      cwd: command.cwd,
      env: command.env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      ...command.identity,
    });
    const { pid } = this.#child;
    this.#group = pid === undefined ? null : new ProcessGroup(pid);
    // A command that did not start has no pipes if descriptors ran out.
    const streams = pid === undefined ? [] : [this.#child.stdout, this.#child.stderr];
    for (const stream of streams) {
      stream.on("data", (chunk: Buffer) => {
        this.#ring.push(chunk);
        if (this.#exit === null) this.#observer?.wrote(chunk);
      });
      // A broken pipe ends like any other.
      stream.on("error", () => undefined);
    }
    this.#child.on("exit", (exitCode, signal) => void this.#drain({ exitCode, signal }));
    this.started = new Promise((settle) => {
      this.#child.on("spawn", () => settle(null));
      this.#child.on("error", (error) => settle(startFault(error)));
    });
  }

  /** To be called right after `started` has resolved: then no output can have come yet. */
  follow(observer: TerminalObserver) {
    this.#observer = observer;
  }

  output(): TerminalReading {
    const exitStatus = this.#exit;
    const read = this.#ring.read(exitStatus !== null);
    return exitStatus === null ? read : { ...read, exitStatus };
  }

  /** Waits for the end of the command. Null if the signal fires before. */
  waitForExit(signal?: AbortSignal): Promise<TerminalExit | null> {
    if (this.#exit !== null) return Promise.resolve(this.#exit);
    if (signal?.aborted) return Promise.resolve(null);
    return new Promise((settle) => {
      const waiter = (exit: TerminalExit | null) => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener("abort", stop);
        settle(exit);
      };
      const stop = () => waiter(null);
      this.#waiters.add(waiter);
      signal?.addEventListener("abort", stop);
    });
  }

  /** Sends SIGTERM to the whole group, then SIGKILL. The output can still be read. */
  kill(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Kills it and closes its pipes, which a process that left the group may still hold. */
  async release(): Promise<void> {
    await this.kill();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  async #end(): Promise<void> {
    this.#group?.signal("SIGTERM");
    if (!(await this.#group?.isGoneWithin(TERMINAL_TERMINATE_MS_MAX))) {
      this.#group?.signal("SIGKILL");
      await this.#group?.isGoneWithin(TERMINAL_KILL_MS_MAX);
    }
    // Not even SIGKILL ends a process that hangs in the system, and it must not hold up others.
    if (!this.#hasEnded) this.#settle({ exitCode: null, signal: "SIGKILL" });
    await this.waitForExit();
  }

  /**
   * The command has ended. Its exit is reported when its output is complete, or a little later if
   * a background child keeps a pipe open; that child's output is still read.
   */
  async #drain(exit: TerminalExit): Promise<void> {
    this.#hasEnded = true;
    this.#group?.leaderEnded();
    const stop = new AbortController();
    const { signal } = stop;
    this.#child.once("close", () => {
      this.#group?.check();
      stop.abort();
    });
    await delay(TERMINAL_DRAIN_MS_MAX, undefined, { signal }).catch(() => undefined);
    this.#settle(exit);
  }

  #settle(exit: TerminalExit) {
    if (this.#exit === null) this.#observer?.ended(exit);
    this.#exit ??= exit;
    for (const waiter of this.#waiters) waiter(this.#exit);
  }
}

/** For errors that `spawn` throws and for those that it emits. */
export function startFault(thrown: unknown): string {
  const code = systemCodeOf(thrown);
  if (code === "ENOENT") return "the command was not found";
  if (code === "EACCES") return "it is not executable";
  return code === null ? "it could not be started" : reasonOf(thrown);
}

/**
 * A process group, which has the pid of its leader. The system does not use that number again
 * while the group has members, and a group that was found empty is never signalled again. It is
 * checked when the leader ends and when the output ends; so a foreign process could be signalled
 * only if children outlived both, ended unseen, and the system used up all its pids since.
 */
export class ProcessGroup {
  readonly #id: number;
  #hasLeader = true;
  #isGone = false;

  constructor(leader: number) {
    this.#id = leader;
  }

  leaderEnded() {
    this.#hasLeader = false;
    this.check();
  }

  check() {
    this.signal(0);
  }

  signal(signal: NodeJS.Signals | 0) {
    if (this.#isGone) return;
    try {
      process.kill(-this.#id, signal);
    } catch (thrown) {
      // A member that the server may not signal is still a member.
      this.#isGone = systemCodeOf(thrown) === "ESRCH";
    }
  }

  /** Polls, because the system does not report when a group becomes empty. */
  async isGoneWithin(ms: number): Promise<boolean> {
    const end = performance.now() + ms;
    for (;;) {
      await this.#checkLiving();
      if (this.#isGone || performance.now() > end) return this.#isGone;
      await delay(TERMINAL_POLL_MS);
    }
  }

  /**
   * Zombies stay in the group until their parent reaps them, in some containers for ever. A group
   * of zombies alone counts as gone.
   */
  async #checkLiving(): Promise<void> {
    this.check();
    if (this.#isGone || this.#hasLeader) return;
    try {
      const living = await processTable().list(WITHOUT_MARKS);
      this.#isGone = living.every(({ group }) => group !== this.#id);
    } catch {
      // The table could not be read; the next check may tell.
    }
  }
}

/** No process started this late, so that the table reads no environment. */
const WITHOUT_MARKS = String(Number.MAX_SAFE_INTEGER);
