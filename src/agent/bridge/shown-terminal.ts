import {
  TERMINAL_CLAIM_MS_MAX,
  TERMINAL_NEWS_MAX,
  TERMINAL_NEWS_MS_MAX,
  TERMINAL_NEWS_MS_MIN,
  TERMINAL_NEWS_ROUND_MAX,
} from "../../core/limits.ts";
import type { TerminalExit, TerminalOutput } from "../../core/terminal-output.ts";
import { type ExcerptBounds, OutputExcerpt } from "../workspace/excerpt.ts";
import type { TerminalWatch } from "../workspace/terminal.ts";

/** The tool call in which a terminal is shown. */
export interface ShownCall {
  readonly toolCallId: string;
  /** The sub-agent's call under which it was made. */
  readonly parentId: string | null;
  /** Made by us, for a terminal that no call of the agent has named. */
  readonly isOurs: boolean;
}

/** Who tells what a terminal has to say. */
export interface TerminalTeller {
  /** It has written some more, or has ended: then there is an exit, and this comes once. */
  news(terminal: ShownTerminal, call: ShownCall, data: string, exit: TerminalExit | null): void;
  /** It has something to say, and no call has named it for long enough. */
  unnamed(terminal: ShownTerminal): void;
}

/**
 * A terminal of ours on its way to those who look at the session. What it writes is gathered, so
 * that a busy command is not an event for each line, and held until a tool call has named it.
 */
export class ShownTerminal implements TerminalWatch {
  readonly terminalId: string;
  readonly line: string;
  readonly #teller: TerminalTeller;
  readonly #excerpt: OutputExcerpt;
  #call: ShownCall | null = null;
  /** What was told in this call. */
  #told = "";
  /** What it wrote last, once it has ended. */
  #last = "";
  #exit: TerminalExit | null = null;
  #isEndTold = false;
  #news = 0;
  #timer: NodeJS.Timeout | null = null;
  /** In how many calls of ours it has been shown. */
  parts = 0;
  /** How often its whole output was put where it was named again. */
  repeats = 0;

  constructor(terminalId: string, line: string, bounds: ExcerptBounds, teller: TerminalTeller) {
    this.terminalId = terminalId;
    this.line = line;
    this.#excerpt = new OutputExcerpt(bounds);
    this.#teller = teller;
  }

  get call(): ShownCall | null {
    return this.#call;
  }

  /** Whether it has something to say that nobody has been told. */
  get hasNews(): boolean {
    return !this.#isEndTold && (this.#exit !== null || this.#excerpt.hasNews);
  }

  /** It has ended, and all of it was told. */
  get isTold(): boolean {
    return this.#isEndTold;
  }

  /** All that it wrote in this call, once it has ended. */
  get whole(): TerminalOutput | null {
    const exit = this.#exit;
    return exit === null ? null : { text: this.#told + this.#last, exit };
  }

  wrote(chunk: Buffer) {
    this.#excerpt.push(chunk);
    this.#wait();
  }

  ended(exit: TerminalExit) {
    this.#exit = exit;
    this.#last = this.#excerpt.end();
    if (this.#call === null) this.#wait();
    else this.flush();
  }

  showIn(call: ShownCall) {
    this.#call = call;
    this.flush();
  }

  /** What it writes from here on belongs to another call. */
  leaveCall() {
    this.flush();
    this.#call = null;
    this.#told = "";
  }

  /** Tells all that can be told now. */
  flush() {
    this.#stopWaiting();
    const call = this.#call;
    if (call === null || this.#isEndTold) return;
    const data = this.#exit === null ? this.#excerpt.take() : this.#last;
    if (data === "" && this.#exit === null) return;
    this.#last = "";
    this.#told += data;
    this.#news += 1;
    this.#isEndTold = this.#exit !== null;
    this.#teller.news(this, call, data, this.#exit);
  }

  /** Nobody looks any more. */
  forget() {
    this.#stopWaiting();
    this.#isEndTold = true;
  }

  #wait() {
    if (this.#timer !== null || this.#isEndTold) return;
    const isNamed = this.#call !== null;
    if (isNamed && (!this.#excerpt.hasNews || this.#news >= TERMINAL_NEWS_MAX)) return;
    const round = Math.floor(this.#news / TERMINAL_NEWS_ROUND_MAX);
    const ms = isNamed ? TERMINAL_NEWS_MS_MIN * 2 ** round : TERMINAL_CLAIM_MS_MAX;
    this.#timer = setTimeout(() => this.#waited(), Math.min(ms, TERMINAL_NEWS_MS_MAX));
    this.#timer.unref();
  }

  #waited() {
    this.#timer = null;
    if (this.#call === null) this.#teller.unnamed(this);
    else this.flush();
  }

  #stopWaiting() {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
