import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { TERMINAL_DRAIN_MS_MAX, TERMINAL_KILL_MS_MAX, TERMINAL_TERMINATE_MS_MAX, TERMINAL_POLL_MS } from "../../core/limits.ts";
import type { TerminalExit } from "../../core/terminal-output.ts";
import { systemCodeOf } from "../system-error.ts";
import type { CommandLine } from "./command.ts";
import { OutputRing } from "./output.ts";
import { reasonOf } from "./errors";
import { processTable } from "../process/process-table.ts";

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

/**
 * A process group and its leader, whose number it has. That number is not given to another while
 * the group has members, and a group that was found empty is never signalled again; it is looked
 * at when the leader and when its output ends. So a stranger could be met only if children outlived
 * both, ended unseen, and the system had used up all its numbers since.
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
    this.look();
  }

  look() {
    this.signal(0);
  }

  signal(signal: NodeJS.Signals | 0) {
    if (this.#isGone) return;
    try {
      process.kill(-this.#id, signal);
    } catch (thrown) {
      // A member that may not be signalled is a member all the same.
      this.#isGone = systemCodeOf(thrown) === "ESRCH";
    }
  }

  /** The system does not tell when a group is empty, so it is asked again and again. */
  async isGoneWithin(ms: number): Promise<boolean> {
    const end = performance.now() + ms;
    for (;;) {
      await this.#lookClosely();
      if (this.#isGone || performance.now() > end) return this.#isGone;
      await delay(TERMINAL_POLL_MS);
    }
  }

  /**
   * Children that ended after their parent remain in the group until somebody buries them, in some
   * containers for ever. They do nothing any more, so a group of the dead alone is gone as well.
   */
  async #lookClosely(): Promise<void> {
    this.look();
    if (this.#isGone || this.#hasLeader) return;
    try {
      const living = await processTable().list(WITHOUT_MARKS);
      this.#isGone = living.every(({ group }) => group !== this.#id);
    } catch {
      // Nothing was seen, so nothing is known; the next look may tell.
    }
  }
}

/** No process is as young as this, so that the table looks into no environment. */
const WITHOUT_MARKS = String(Number.MAX_SAFE_INTEGER);
