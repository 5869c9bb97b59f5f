import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import {
  TERMINAL_DRAIN_MS_MAX,
  TERMINAL_KILL_MS_MAX,
  TERMINAL_TERMINATE_MS_MAX,
} from "../../core/limits.ts";
import type { TerminalExit } from "../../core/terminal-output.ts";
import { systemCodeOf } from "../system-error.ts";
import type { CommandLine } from "./command.ts";
import { ProcessGroup } from "./group.ts";
import { OutputRing } from "./ring.ts";
import { reasonOf } from "./trouble.ts";

/** What the agent is told of a terminal, in ACP's words. */
export interface TerminalReading {
  readonly output: string;
  readonly truncated: boolean;
  readonly exitStatus?: TerminalExit;
}

/** Everything that a command is started with. */
export interface TerminalStart extends CommandLine {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly outputBytesMax: number;
  /** Whose rights it has; null for the server's own. */
  readonly uid: number | null;
  readonly gid: number | null;
}

/** Who follows a command. */
export interface TerminalWatch {
  /** It wrote something, to either of its outputs. */
  wrote(chunk: Buffer): void;
  /** It has ended, and nothing that it writes from here on counts. */
  ended(exit: TerminalExit): void;
}

/**
 * One command in a process group of its own, without input. Its output is always read and never
 * slows it down. Each of the two outputs is in order, and between them they are as they arrived.
 */
export class Terminal {
  /** Null when it runs, else why it does not. */
  readonly started: Promise<string | null>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  /** Null if it was never there. */
  readonly #group: ProcessGroup | null;
  readonly #ring: OutputRing;
  readonly #waiters = new Set<(exit: TerminalExit) => void>();
  #watch: TerminalWatch | null = null;
  #exit: TerminalExit | null = null;
  #hasEnded = false;
  #ending: Promise<void> | null = null;

  /** Starts it at once: whoever keeps terminals knows of it before anything else can happen. */
  constructor({ file, args, cwd, environment, outputBytesMax, uid, gid }: TerminalStart) {
    this.#ring = new OutputRing(outputBytesMax);
    this.#child = spawn(file, args, {
      cwd,
      env: environment,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      ...(uid === null ? {} : { uid }),
      ...(gid === null ? {} : { gid }),
    });
    const { pid } = this.#child;
    this.#group = pid === undefined ? null : new ProcessGroup(pid);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        this.#ring.push(chunk);
        if (this.#exit === null) this.#watch?.wrote(chunk);
      });
      // An output that breaks ends like any other.
      stream.on("error", () => undefined);
    }
    this.#child.on("exit", (exitCode, signal) => void this.#drain({ exitCode, signal }));
    this.started = new Promise((settle) => {
      this.#child.on("spawn", () => settle(null));
      this.#child.on("error", (error) => settle(startFault(error)));
    });
  }

  /** For whoever knows by now that it runs; nothing of it can have been heard before. */
  follow(watch: TerminalWatch) {
    this.#watch = watch;
  }

  output(): TerminalReading {
    const exitStatus = this.#exit;
    const read = this.#ring.read(exitStatus !== null);
    return exitStatus === null ? read : { ...read, exitStatus };
  }

  /** Takes as long as the command does, or until nobody wants to know; then it is null. */
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

  /** Asks the whole group to end, then ends it. What it wrote can still be read. */
  kill(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Kills it and lets go of its output, which a process that left the group may still hold. */
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
    // Not even SIGKILL ends a process that hangs in the system; nobody shall wait for it.
    if (!this.#hasEnded) this.#settle({ exitCode: null, signal: "SIGKILL" });
    await this.waitForExit();
  }

  /**
   * The command has ended. Its exit is told when its output is complete, or a little later if a
   * child in the background keeps the output open; what such a child writes is read all the same.
   */
  async #drain(exit: TerminalExit): Promise<void> {
    this.#hasEnded = true;
    this.#group?.leaderEnded();
    const stop = new AbortController();
    const { signal } = stop;
    this.#child.once("close", () => {
      this.#group?.look();
      stop.abort();
    });
    await delay(TERMINAL_DRAIN_MS_MAX, undefined, { signal }).catch(() => undefined);
    this.#settle(exit);
  }

  #settle(exit: TerminalExit) {
    if (this.#exit === null) this.#watch?.ended(exit);
    this.#exit ??= exit;
    for (const waiter of this.#waiters) waiter(this.#exit);
  }
}

/** Some of the system's refusals are thrown by `spawn`, and some told by an event. */
export function startFault(thrown: unknown): string {
  const code = systemCodeOf(thrown);
  if (code === "ENOENT") return "the command was not found";
  if (code === "EACCES") return "it is not executable";
  return code === null ? "it could not be started" : reasonOf(thrown);
}
