import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import {
  TERMINAL_DRAIN_MS_MAX,
  TERMINAL_KILL_MS_MAX,
  TERMINAL_TERMINATE_MS_MAX,
} from "../../core/limits.ts";
import { type SpawnIdentity, spawnAs } from "../../platform/spawn-as.ts";
import type {
  ShellCommandLine,
  ShellExit,
  ShellListener,
  ShellMarks,
  ShellRunner,
} from "./shell-command.ts";

type Environment = Readonly<Record<string, string>>;

/** `/bin/sh` of this machine, without input, each command in a process group of its own. */
export class LocalShell implements ShellRunner {
  readonly #environment: Environment;
  readonly #marks: ShellMarks;
  readonly #user: SpawnIdentity | null;

  /** `user` is whose rights commands get; null is the server's own. */
  constructor(environment: Environment, marks: ShellMarks, user: SpawnIdentity | null = null) {
    this.#environment = environment;
    this.#marks = marks;
    this.#user = user;
  }

  async run(
    line: ShellCommandLine,
    listener: ShellListener,
    signal: AbortSignal,
  ): Promise<ShellExit> {
    const mark = await this.#marks.place().catch(() => null);
    if (mark === null) return notRun("it could not be noted down beforehand, so it was not run");
    try {
      if (signal.aborted) return { exitCode: null, signal: null, error: null };
      // Programs believe PWD, and the server's own would lead them astray.
      const environment = { ...this.#environment, PWD: line.cwd, ...mark.variables };
      const running = new ShellProcess(line, environment, this.#user, listener);
      const abort = () => running.end();
      signal.addEventListener("abort", abort);
      // That it is not known by its number is no harm: it is still known by its mark.
      if (running.pid !== undefined) await mark.confirm(running.pid).catch(() => undefined);
      return await running.ended.finally(() => signal.removeEventListener("abort", abort));
    } catch (thrown) {
      return notRun(reasonOf(thrown)); // Some of the system's refusals are thrown by `spawn`.
    } finally {
      // The next server clears a mark that stays behind, and ends the processes that carry it.
      await mark.end().catch(() => undefined);
    }
  }
}

/** One command, from its start until nothing of its group is left; its mark finds the rest. */
class ShellProcess {
  readonly ended: Promise<ShellExit>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #listener: ShellListener;
  readonly #timers = new Set<NodeJS.Timeout>();
  #settle: (exit: ShellExit) => void = () => {};
  #exit: ShellExit | null = null;
  /** How many of its outputs wait for their listener. */
  #held = 0;

  constructor(
    { command, cwd }: ShellCommandLine,
    environment: Environment,
    user: SpawnIdentity | null,
    listener: ShellListener,
  ) {
    this.#listener = listener;
    this.ended = new Promise((settle) => {
      this.#settle = settle;
    });
    // The dashes let a command begin with one.
    const args = ["-c", "--", command];
    const shell = spawnAs(user, { file: "/bin/sh", args, cwd, env: environment });
    this.#child = spawn(shell.file, shell.args, {
      cwd: shell.cwd,
      env: shell.env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      ...shell.identity,
    });
    // A shell that did not start has no pipes if descriptors ran out.
    const isStarted = this.pid !== undefined;
    const streams = isStarted ? [this.#child.stdout, this.#child.stderr] : [];
    for (const stream of streams) {
      stream.setEncoding("utf8");
      stream.on("data", (text: string) => this.#received(stream, text));
      stream.on("error", () => undefined); // An output that breaks ends like any other.
    }
    this.#child.on("error", (error) => this.#over(notRun(reasonOf(error))));
    this.#child.on("exit", (exitCode, signal) => this.#left({ exitCode, signal, error: null }));
    this.#child.on("close", () => this.#exit && this.#over(this.#exit));
    if (this.pid !== undefined) listener.started(this.pid);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Asks the whole group to end, and then ends it. Not even a process that hangs is waited for. */
  end() {
    this.#kill("SIGTERM");
    this.#later(TERMINAL_TERMINATE_MS_MAX, () => {
      this.#kill("SIGKILL");
      const killed = { exitCode: null, signal: "SIGKILL", error: null };
      this.#later(TERMINAL_KILL_MS_MAX, () => this.#over(this.#exit ?? killed));
    });
  }

  #received(stream: Readable, text: string) {
    const headroom = this.#listener.output(text);
    if (headroom === undefined) return;
    this.#held += 1;
    stream.pause();
    void headroom.finally(() => {
      this.#held -= 1;
      stream.resume();
    });
  }

  /** The shell has ended, and what it left in the background ends with it. */
  #left(exit: ShellExit) {
    this.#kill("SIGKILL");
    this.#exit = exit;
    this.#drain(exit);
  }

  /** Who left the group may keep the outputs open; what the command wrote is in them already. */
  #drain(exit: ShellExit) {
    this.#later(TERMINAL_DRAIN_MS_MAX, () => {
      if (this.#held > 0) this.#drain(exit);
      else setImmediate(() => this.#over(exit)); // After what has arrived, if we were busy.
    });
  }

  /** Until the shell was seen to end, its number is its own and that of its group. */
  #kill(signal: NodeJS.Signals) {
    if (this.#exit !== null || this.pid === undefined) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // The group is gone, which is all that was wanted.
    }
  }

  #later(ms: number, act: () => void) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }

  #over(exit: ShellExit) {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
    this.#settle(exit);
  }
}

function notRun(error: string): ShellExit {
  return { exitCode: null, signal: null, error };
}

/** What the system means by it; `/bin/sh` itself is always there. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "its directory is not there",
  ENOTDIR: "its directory is none",
  EACCES: "its directory may not be entered",
  E2BIG: "it is too long",
  ERR_INVALID_ARG_VALUE: "it has characters that no command can have",
};

function reasonOf(thrown: unknown): string {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "nothing";
  return REASONS[code] ?? `the system says ${code}`;
}
