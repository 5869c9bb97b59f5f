import {
  SHELL_CONTEXT_CHARS_MAX,
  SHELL_OUTPUT_CHARS_MAX,
  SHELL_OUTPUT_CHUNK_CHARS_MAX,
  SHELL_OUTPUT_PAUSE_MS,
} from "../../core/limits.ts";
import { cutText, lastOfText } from "../../core/text.ts";
import type { CallOff, Clock } from "../world.ts";

/** Stands where the rest of an output was left out; its end is in the result all the same. */
export const OUTPUT_LEFT_OUT = `\n[longer than ${SHELL_OUTPUT_CHARS_MAX} characters: cut here]\n`;

/**
 * The output of one command on its way to the session. However it arrives, it is told in a few
 * large pieces: one at a time, each when the one before is durable and a pause has passed. What
 * waits meanwhile is bounded, and so is the whole; of what is too much only the end is kept.
 */
export class ShellOutput {
  readonly #clock: Clock;
  /** Answers whether it was taken; if not, nothing more is told. */
  readonly #tell: (output: string) => Promise<boolean>;
  #waiting = "";
  #taken = 0;
  #tail = "";
  #telling: Promise<void> | null = null;
  #endPause: CallOff = () => {};
  #writers: (() => void)[] = [];
  #hasEnded = false;
  #isRefused = false;

  constructor(clock: Clock, tell: (output: string) => Promise<boolean>) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** The end of all that was written, as much as a result holds. */
  get tail(): string {
    return this.#tail;
  }

  /** A promise is kept when there is room for more. */
  write(text: string): Promise<void> | undefined {
    this.#tail = lastOfText(this.#tail + text, SHELL_CONTEXT_CHARS_MAX);
    if (this.#isRefused) return undefined;
    this.#waiting += this.#fitting(text);
    if (this.#waiting !== "") this.#telling ??= this.#tellAll();
    if (this.#isRoomy) return undefined;
    return new Promise((resolve) => this.#writers.push(resolve));
  }

  /** No more is written. Answers when everything is told, or will never be. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    this.#endPause();
    await this.#telling;
  }

  get #isRoomy(): boolean {
    return this.#isRefused || this.#waiting.length <= SHELL_OUTPUT_CHUNK_CHARS_MAX;
  }

  #fitting(text: string): string {
    const room = SHELL_OUTPUT_CHARS_MAX - this.#taken;
    if (room < 0) return "";
    this.#taken += text.length;
    return text.length <= room ? text : `${cutText(text, room)}${OUTPUT_LEFT_OUT}`;
  }

  async #tellAll(): Promise<void> {
    while (this.#waiting !== "" && !this.#isRefused) {
      const piece = cutText(this.#waiting, SHELL_OUTPUT_CHUNK_CHARS_MAX);
      this.#waiting = this.#waiting.slice(piece.length);
      this.#isRefused = !(await this.#tell(piece));
      if (this.#isRoomy) this.#letWrite();
      await this.#pause();
    }
    this.#telling = null;
  }

  #pause(): Promise<void> {
    if (this.#hasEnded || this.#isRefused) return Promise.resolve();
    return new Promise((resolve) => {
      const callOff = this.#clock.after(SHELL_OUTPUT_PAUSE_MS, resolve);
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
