import { type AgentUpdate, parentToolCallId } from "../../core/agent-update.ts";
import { stringAt } from "../../core/json.ts";
import { COMMAND_SHOWN_CHARS_MAX, TERMINAL_LINE_CHARS_MAX, TERMINAL_REPEATS_MAX, TERMINAL_SHOWN_HEAD_BYTES_MAX, TERMINAL_SHOWN_SHARE_BYTES_MIN, TERMINAL_SHOWN_SHARES_MAX, TERMINAL_SHOWN_TAIL_BYTES_MAX, TERMINALS_ENDED_KEPT_MAX, TERMINALS_SHOWN_TURN_BYTES_MAX, TERMINAL_CLAIM_MS_MAX, TERMINAL_NEWS_MAX, TERMINAL_NEWS_MS_MAX, TERMINAL_NEWS_MS_MIN, TERMINAL_NEWS_ROUND_MAX, TERMINAL_CALL_CONTENT_CHARS_MAX } from "../../core/limits.ts";
import { outputUpdate, type TerminalExit, type TerminalOutput, terminalNamed, whereNamed, withOutput, withoutClaims } from "../../core/terminal-output.ts";
import { cutText } from "../../core/text.ts";
import { type ExcerptBounds, OutputExcerpt } from "../workspace/output.ts";
import type { TerminalWatch } from "../workspace/terminal.ts";
import type { TerminalAudience } from "../workspace/terminals.ts";

/**
 * The terminals of one session as people see them: what each writes is told as part of the tool
 * call that the agent has named it in, and at its end the call's content has it as text. One that
 * no call names gets a call of its own, so that nothing runs unseen.
 */
export class ShownTerminals implements TerminalAudience, TerminalTeller {
  readonly #tell: (update: AgentUpdate) => void;
  readonly #terminals = new Map<string, ShownTerminal>();
  /** What calls with terminals of ours contain, by the agent; null if that is too much. */
  readonly #contents = new Map<string, readonly unknown[] | null>();
  #turnBytesLeft = TERMINALS_SHOWN_TURN_BYTES_MAX;

  constructor(tell: (update: AgentUpdate) => void) {
    this.#tell = tell;
  }

  opened(terminalId: string, line: string): TerminalWatch {
    const terminal = new ShownTerminal(terminalId, line, this.#share(), this);
    this.#forgetOldest();
    this.#terminals.set(terminalId, terminal);
    return terminal;
  }

  released(terminalId: string) {
    const terminal = this.#terminals.get(terminalId);
    if (terminal !== undefined && terminal.call === null) this.unnamed(terminal);
  }

  /** What a terminal of ours wrote and how it ended we know ourselves: the agent is not heard. */
  withoutClaims(update: AgentUpdate): AgentUpdate {
    if (this.#terminals.size === 0) return update;
    return withoutClaims(update, (terminalId) => this.#terminals.has(terminalId));
  }

  /**
   * An update of the agent as it is told: where it names a terminal that has ended, people see what
   * that wrote. An agent that says it again and again is told as it is.
   */
  filled(update: AgentUpdate): AgentUpdate {
    const ended = new Map<string, TerminalOutput>();
    for (const terminal of this.#namedIn(update)) {
      const { whole } = terminal;
      if (whole === null || terminal.call === null) continue;
      if (terminal.repeats >= TERMINAL_REPEATS_MAX) continue;
      terminal.repeats += 1;
      ended.set(terminal.terminalId, whole);
    }
    return ended.size === 0 ? update : { ...update, content: whereNamed(update.content, ended) };
  }

  /** The same update when it is on its way. The first call that names a terminal shows it. */
  heard(update: AgentUpdate) {
    const toolCallId = stringAt(update, "toolCallId");
    if (toolCallId === null || this.#terminals.size === 0) return;
    const free = this.#namedIn(update).filter(({ call }) => call === null);
    if (free.length > 0 || this.#contents.has(toolCallId)) this.#keep(toolCallId, update);
    const call = { toolCallId, parentId: parentToolCallId(update), isOurs: false };
    for (const terminal of free) terminal.showIn(call);
  }

  /** Our word on a call's content stands for the agent's, so all that this had has to be in it. */
  #keep(toolCallId: string, { content }: AgentUpdate) {
    if (content == null) return;
    this.#contents.set(toolCallId, keptContent(content));
  }

  /** All that there is is told before the verdict; what comes later belongs to no call of it. */
  turnEnds() {
    for (const terminal of [...this.#terminals.values()]) {
      if (terminal.call === null && terminal.hasNews) this.unnamed(terminal);
      terminal.leaveCall();
      if (terminal.whole !== null) this.#forget(terminal.terminalId);
    }
    this.#contents.clear();
    this.#turnBytesLeft = TERMINALS_SHOWN_TURN_BYTES_MAX;
  }

  /** The session is over. */
  end() {
    for (const terminalId of [...this.#terminals.keys()]) this.#forget(terminalId);
  }

  news(terminal: ShownTerminal, call: ShownCall, data: string, exit: TerminalExit | null) {
    const { terminalId } = terminal;
    const { toolCallId, parentId, isOurs } = call;
    const update = outputUpdate(toolCallId, { terminalId, data, exit });
    const parent = parentId === null ? {} : { parentToolCallId: parentId };
    const told = { ...update, _meta: { ...update._meta, ...parent } };
    // The second time is at its end, as a part of the whole.
    this.#turnBytesLeft -= 2 * data.length;
    if (exit === null) return this.#tell(told);
    const known = this.#contents.get(toolCallId);
    const content = known === null ? null : withOutput(known, this.#endedIn(toolCallId));
    const status = isOurs ? { status: exit.exitCode === 0 ? "completed" : "failed" } : {};
    this.#tell({ ...told, ...status, ...(content && { content }) });
  }

  unnamed(terminal: ShownTerminal) {
    terminal.parts += 1;
    const { terminalId, line, parts } = terminal;
    const toolCallId = parts === 1 ? terminalId : `${terminalId}-${parts}`;
    this.#tell({
      sessionUpdate: "tool_call",
      toolCallId,
      title: cutText(line, COMMAND_SHOWN_CHARS_MAX),
      kind: "execute",
      status: "in_progress",
      rawInput: { command: cutText(line, TERMINAL_LINE_CHARS_MAX) },
      content: [{ type: "terminal", terminalId }],
    });
    terminal.showIn({ toolCallId, parentId: null, isOurs: true });
  }

  #namedIn({ content, toolCallId }: AgentUpdate): readonly ShownTerminal[] {
    if (this.#terminals.size === 0 || !Array.isArray(content) || toolCallId == null) return [];
    const ids = new Set(content.map(terminalNamed));
    return [...ids].flatMap((id) => (id === null ? [] : (this.#terminals.get(id) ?? [])));
  }

  /** What the ended terminals of a call wrote. */
  #endedIn(toolCallId: string): ReadonlyMap<string, TerminalOutput> {
    const outputs = new Map<string, TerminalOutput>();
    for (const { terminalId, call, whole } of this.#terminals.values()) {
      if (call?.toolCallId === toolCallId && whole !== null) outputs.set(terminalId, whole);
    }
    return outputs;
  }

  #share(): ExcerptBounds {
    const share = Math.max(
      TERMINAL_SHOWN_SHARE_BYTES_MIN,
      Math.floor(this.#turnBytesLeft / TERMINAL_SHOWN_SHARES_MAX),
    );
    return {
      headBytesMax: Math.min(TERMINAL_SHOWN_HEAD_BYTES_MAX, Math.floor(share / 2)),
      tailBytesMax: Math.min(TERMINAL_SHOWN_TAIL_BYTES_MAX, Math.floor(share / 2)),
    };
  }

  /** Of those that are told to the end; the ones at work are bounded where they are made. */
  #forgetOldest() {
    const ended = [...this.#terminals.values()].filter(({ isTold }) => isTold);
    for (const { terminalId } of ended.slice(0, -TERMINALS_ENDED_KEPT_MAX + 1)) {
      this.#forget(terminalId);
    }
  }

  #forget(terminalId: string) {
    const terminal = this.#terminals.get(terminalId);
    terminal?.forget();
    this.#terminals.delete(terminalId);
    const toolCallId = terminal?.call?.toolCallId;
    const others = [...this.#terminals.values()];
    if (toolCallId === undefined) return;
    if (!others.some(({ call }) => call?.toolCallId === toolCallId)) {
      this.#contents.delete(toolCallId);
    }
  }
}

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

/** The content of a tool call, to be said again; null if that is too much to keep. */
export function keptContent(content: unknown): readonly unknown[] | null {
  if (!Array.isArray(content)) return null;
  return JSON.stringify(content).length <= TERMINAL_CALL_CONTENT_CHARS_MAX ? content : null;
}
