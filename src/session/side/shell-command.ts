import type { ShellId } from "../../core/id.ts";
import {
  SECRET_HELD_MS,
  SHELL_CONTEXT_CHARS_MAX,
  SHELL_MS_MAX,
  SHELL_OUTPUT_CHARS_MAX,
  SHELL_OUTPUT_CHUNK_CHARS_MAX,
  SHELL_OUTPUT_PAUSE_MS,
} from "../../core/limits.ts";
import { SERVER } from "../../core/session/command.ts";
import type { ShellResult } from "../../core/session/event.ts";
import { cutText, lastOfText } from "../../core/text.ts";
import type { CallOff } from "../../platform/clock.ts";
import type { SessionKey } from "../../store/store.ts";
import type { LiveSession } from "../live.ts";
import { type SessionWorld, stampedBy } from "../world.ts";

/** What a command came to, as its result in the log has it: of a long output, the end. */
export type ShellOutcome = Pick<
  ShellResult,
  "exitCode" | "signal" | "aborted" | "output" | "error"
>;

/** One command of a client, which is in the log already, from its start to its result. */
export class ShellCommand {
  readonly line: ShellCommandLine;
  readonly #world: SessionWorld;
  readonly #live: LiveSession;
  readonly #shellId: ShellId;
  readonly #stop = new AbortController();
  #pid: number | null = null;
  #isLate = false;

  constructor(world: SessionWorld, live: LiveSession, shellId: ShellId, line: ShellCommandLine) {
    this.#world = world;
    this.#live = live;
    this.#shellId = shellId;
    this.line = line;
  }

  get key(): SessionKey {
    return this.#live.key;
  }

  /** Of its shell, once that is there. */
  get pid(): number | null {
    return this.#pid;
  }

  end() {
    this.#stop.abort();
  }

  /** It ends by itself, with its caller, with its session's instance, or when its time is up. */
  async run(runner: ShellRunner, signal: AbortSignal): Promise<ShellOutcome> {
    const { clock } = this.#world;
    const end = () => this.end();
    const callOff = clock.after(SHELL_MS_MAX, () => {
      this.#isLate = true;
      end();
    });
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    // An instance that ends gives its commands their results, and forgets them.
    void this.#live.until(({ shells }) => !shells.has(this.#shellId)).then(end);
    const output = new ShellOutput(this.#world, {
      tell: (text) => this.#tell(text),
      redacted: () => this.#announceRedacted(),
    });
    const listener = {
      started: (pid: number) => {
        this.#pid = pid;
      },
      output: (text: string) => output.write(text),
    };
    const exit = await runner.run(this.line, listener, this.#stop.signal);
    const isAborted = this.#stop.signal.aborted;
    callOff();
    signal.removeEventListener("abort", end);
    await output.end();
    return this.#finish(exit, isAborted, output.tail);
  }

  /** If the session does not take the output, the command has no reader left and ends. */
  async #tell(output: string): Promise<boolean> {
    const shellId = this.#shellId;
    const outcome = await this.#live.submit({
      ...this.#by(),
      type: "shell_output",
      shellId,
      output,
    });
    if (!outcome.isNews) this.end();
    return outcome.isNews;
  }

  #announceRedacted() {
    const announcement = { type: "secret_redacted", data: { where: "shell_output" } } as const;
    void this.#live.submit({ ...this.#by(), type: "announce", announcement });
  }

  async #finish(exit: ShellExit, aborted: boolean, tail: string): Promise<ShellOutcome> {
    const { exitCode, signal } = exit;
    const late = this.#isLate ? `it was ended after ${SHELL_MS_MAX / 1_000} seconds` : null;
    const error = exit.error ?? late;
    const output = lastOfText(tail, SHELL_CONTEXT_CHARS_MAX);
    const result = { exitCode, signal, aborted, output, ...(error !== null && { error }) };
    const ended = { shellId: this.#shellId, command: this.line.command, ...result };
    const { isNews } = await this.#live.insist({ ...this.#by(), type: "shell_result", ...ended });
    // What was not taken has its result already: the session ended, and aborted it.
    const isAborted = aborted || !isNews;
    return { ...result, aborted: isAborted, output: this.#world.redact(output) };
  }

  #by() {
    return stampedBy(this.#world.clock, SERVER);
  }
}

/** Stands where the rest of an output was left out; its end is in the result all the same. */
export const OUTPUT_LEFT_OUT = `\n[longer than ${SHELL_OUTPUT_CHARS_MAX} characters: cut here]\n`;

const REDACTED = "[redacted]";

/** Receives the output of a command in pieces. */
interface PieceListener {
  /** Returns whether the session took it; if not, nothing more is sent. */
  tell(output: string): Promise<boolean>;
  /** The rest of a secret was taken out, whose beginning was sent. */
  redacted(): void;
}

/**
 * The output of one command on its way to the session. However it arrives, it is sent in a few
 * large pieces: one at a time, each when the one before is durable and a pause has passed. What
 * waits meanwhile is bounded, and so is the whole; of what is too much only the end is kept.
 *
 * No piece ends inside a secret (P11): an end that begins one is held for the next piece, or for
 * `SECRET_HELD_MS` if nothing follows. If the rest of the secret comes later still, it is redacted.
 */
export class ShellOutput {
  readonly #world: Pick<SessionWorld, "borders" | "clock">;
  readonly #listener: PieceListener;
  #waiting = "";
  /** The end of what was sent, if it begins a secret. */
  #sent = "";
  #taken = 0;
  #tail = "";
  #sending: Promise<void> | null = null;
  #endPause: CallOff = () => {};
  #writers: (() => void)[] = [];
  #hasEnded = false;
  #isRefused = false;

  constructor(world: Pick<SessionWorld, "borders" | "clock">, listener: PieceListener) {
    this.#world = world;
    this.#listener = listener;
  }

  /** The end of all that was written, as much as a result holds. */
  get tail(): string {
    return this.#tail;
  }

  /** Returns a promise if the writer must wait for headroom. */
  write(text: string): Promise<void> | undefined {
    this.#tail = this.#endOf(this.#tail + text);
    if (this.#isRefused) return undefined;
    this.#take(text);
    if (this.#waiting !== "") this.#sending ??= this.#sendAll();
    if (this.#hasHeadroom) return undefined;
    return new Promise((resolve) => this.#writers.push(resolve));
  }

  /** Ends the writing. Resolves when everything is sent, or never will be. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    this.#endPause();
    await this.#sending;
  }

  get #hasHeadroom(): boolean {
    return this.#isRefused || this.#waiting.length <= SHELL_OUTPUT_CHUNK_CHARS_MAX;
  }

  /** As much of the end of a text as a result holds, and no half of a secret. */
  #endOf(text: string): string {
    const from = text.length - SHELL_CONTEXT_CHARS_MAX;
    if (from <= 0) return text;
    return lastOfText(text, text.length - (this.#world.borders.endAcross(text, from) ?? from));
  }

  /** Adds to what waits, as much as fits; the limit cuts no secret in two either. */
  #take(text: string) {
    const headroom = SHELL_OUTPUT_CHARS_MAX - this.#taken;
    if (headroom < 0) return;
    this.#taken += text.length;
    this.#waiting += cutText(text, headroom);
    if (text.length <= headroom) return;
    const open = this.#world.borders.openTail(this.#sent + this.#waiting);
    const kept = Math.max(0, this.#waiting.length - open);
    this.#waiting = this.#waiting.slice(0, kept) + OUTPUT_LEFT_OUT;
  }

  async #sendAll(): Promise<void> {
    let held: string | null = null;
    while (this.#waiting !== "" && !this.#isRefused) {
      const piece = this.#nextPiece(held === this.#waiting);
      held = piece === "" ? this.#waiting : null;
      if (piece !== "") this.#isRefused = !(await this.#listener.tell(piece));
      if (this.#hasHeadroom) this.#letWrite();
      await this.#pause(piece === "" ? SECRET_HELD_MS : SHELL_OUTPUT_PAUSE_MS);
    }
    this.#sending = null;
  }

  /** Takes it from what waits. Empty if all of that may begin a secret, and is not yet due. */
  #nextPiece(isDue: boolean): string {
    const { borders } = this.#world;
    this.#redactRest();
    const text = cutText(this.#waiting, SHELL_OUTPUT_CHUNK_CHARS_MAX);
    const isLast = this.#hasEnded && text === this.#waiting;
    const whole = this.#sent + text;
    const open = isLast ? 0 : borders.openTail(whole);
    const kept = Math.max(0, text.length - open);
    // A secret that is longer than a piece cannot be held whole.
    const isSent = isDue || (kept === 0 && text !== this.#waiting);
    const piece = isSent ? text : text.slice(0, kept);
    this.#sent = whole.slice(whole.length - open, this.#sent.length + piece.length);
    this.#waiting = this.#waiting.slice(piece.length);
    return piece;
  }

  /** The beginning of a secret was sent when its time was up, and this is the rest of it. */
  #redactRest() {
    const whole = this.#sent + this.#waiting;
    const end = this.#sent === "" ? null : this.#world.borders.endAcross(whole, this.#sent.length);
    if (end === null) return;
    this.#waiting = REDACTED + whole.slice(end);
    this.#sent = "";
    this.#listener.redacted();
  }

  #pause(ms: number): Promise<void> {
    if (this.#hasEnded || this.#isRefused) return Promise.resolve();
    return new Promise((resolve) => {
      const callOff = this.#world.clock.after(ms, resolve);
      this.#endPause = () => {
        callOff();
        resolve();
      };
    });
  }

  #letWrite() {
    const writers = this.#writers;
    this.#writers = [];
    for (const write of writers) write();
  }
}

/**
 * Runs the command lines that clients give to a session's shell. Sessions know no more of it than
 * this, so that what runs them can be another machine, or a test.
 */
export interface ShellRunner {
  /**
   * Runs one command line and answers when it has ended and its output is complete; what it left
   * in the background has been killed by then. The signal ends it, politely and then not. It never
   * rejects.
   */
  run(line: ShellCommandLine, listener: ShellListener, signal: AbortSignal): Promise<ShellExit>;
}

export interface ShellCommandLine {
  readonly command: string;
  /** The directory that it runs in. */
  readonly cwd: string;
}

/** Receives the output of a command while it runs. */
export interface ShellListener {
  started(pid: number): void;
  /** Its two outputs as they arrive. While the promise is open, nothing more is read of it. */
  output(text: string): Promise<void> | undefined;
}

export interface ShellExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why it could not be run at all, in a sentence. */
  readonly error: string | null;
}

/**
 * Notes down each process before it is there, so that the next server finds and ends what this one
 * leaves behind when it is killed (P5). The agents' marks can be given as this.
 */
export interface ShellMarks {
  /** Rejects if nothing can be noted down; then nothing is run. */
  place(): Promise<ShellMark>;
}

interface ShellMark {
  /** The process carries these, and so does all that it starts. */
  readonly variables: Readonly<Record<string, string>>;
  /** Which process it came to be. */
  confirm(pid: number): Promise<void>;
  /** Ends the processes that still carry it, such as daemons that left their group. */
  end(): Promise<void>;
}
