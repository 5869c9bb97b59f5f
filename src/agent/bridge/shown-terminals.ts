import { type AgentUpdate, parentToolCallId } from "../../core/agent-update.ts";
import { stringAt } from "../../core/json.ts";
import {
  COMMAND_SHOWN_CHARS_MAX,
  TERMINAL_CALL_CONTENT_CHARS_MAX,
  TERMINAL_CLAIM_MS_MAX,
  TERMINAL_LINE_CHARS_MAX,
  TERMINAL_NEWS_MAX,
  TERMINAL_NEWS_MS_MAX,
  TERMINAL_NEWS_MS_MIN,
  TERMINAL_NEWS_ROUND_MAX,
  TERMINAL_REPEATS_MAX,
  TERMINAL_SHOWN_HEAD_BYTES_MAX,
  TERMINAL_SHOWN_SHARE_BYTES_MIN,
  TERMINAL_SHOWN_SHARES_MAX,
  TERMINAL_SHOWN_TAIL_BYTES_MAX,
  TERMINALS_ENDED_KEPT_MAX,
  TERMINALS_SHOWN_TURN_BYTES_MAX,
} from "../../core/limits.ts";
import {
  outputUpdate,
  type TerminalExit,
  type TerminalOutput,
  terminalNamed,
  whereNamed,
  withOutput,
  withoutClaims,
} from "../../core/terminal-output.ts";
import { cutText } from "../../core/text.ts";
import { type ExcerptBounds, OutputExcerpt } from "../process/output.ts";
import type { TerminalObserver } from "../workspace/terminal.ts";
import type { TerminalsObserver } from "../workspace/terminals.ts";

/**
 * The terminals of one session as clients see them: the output of each is part of the tool call in
 * which the agent has named it, and at its end the call's content has it as text. A terminal that
 * no call names gets a call of its own, so that no command runs unseen.
 */
export class ShownTerminals implements TerminalsObserver, ShownTerminalObserver {
  readonly #send: (update: AgentUpdate) => void;
  readonly #terminals = new Map<string, ShownTerminal>();
  /** The agent's content of calls with terminals of the server; null if that is too much. */
  readonly #contents = new Map<string, readonly unknown[] | null>();
  #turnBytesLeft = TERMINALS_SHOWN_TURN_BYTES_MAX;

  constructor(send: (update: AgentUpdate) => void) {
    this.#send = send;
  }

  opened(terminalId: string, line: string): TerminalObserver {
    const terminal = new ShownTerminal(terminalId, line, this.#share(), this);
    this.#evictOldest();
    this.#terminals.set(terminalId, terminal);
    return terminal;
  }

  released(terminalId: string) {
    const terminal = this.#terminals.get(terminalId);
    if (terminal !== undefined && terminal.call === null) this.unnamed(terminal);
  }

  /** Removes what the agent says of a terminal of the server, which knows better. */
  withoutClaims(update: AgentUpdate): AgentUpdate {
    if (this.#terminals.size === 0) return update;
    return withoutClaims(update, (terminalId) => this.#terminals.has(terminalId));
  }

  /**
   * The update as clients get it: where it names a terminal that has ended, they see its output.
   * After `TERMINAL_REPEATS_MAX` times the update stays as it is.
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

  /** Called when the update is in the inbox. The first call that names a terminal shows it. */
  learn(update: AgentUpdate) {
    const toolCallId = stringAt(update, "toolCallId");
    if (toolCallId === null || this.#terminals.size === 0) return;
    const free = this.#namedIn(update).filter(({ call }) => call === null);
    if (free.length > 0 || this.#contents.has(toolCallId)) this.#keep(toolCallId, update);
    const call = { toolCallId, parentId: parentToolCallId(update), isOurs: false };
    for (const terminal of free) terminal.showIn(call);
  }

  /** The server's content replaces the agent's, so it has to have all of that in it. */
  #keep(toolCallId: string, { content }: AgentUpdate) {
    if (content == null) return;
    this.#contents.set(toolCallId, keptContent(content));
  }

  /** Sends all that there is before the verdict; later output belongs to no call of the turn. */
  turnEnds() {
    for (const terminal of [...this.#terminals.values()]) {
      if (terminal.call === null && terminal.hasUnsent) this.unnamed(terminal);
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

  output(terminal: ShownTerminal, call: ShownCall, data: string, exit: TerminalExit | null) {
    const { terminalId } = terminal;
    const { toolCallId, parentId, isOurs } = call;
    const update = outputUpdate(toolCallId, { terminalId, data, exit });
    const parent = parentId === null ? {} : { parentToolCallId: parentId };
    const sent = { ...update, _meta: { ...update._meta, ...parent } };
    // Twice, because the end of the terminal sends it again as part of the whole.
    this.#turnBytesLeft -= 2 * data.length;
    if (exit === null) return this.#send(sent);
    const known = this.#contents.get(toolCallId);
    const content = known === null ? null : withOutput(known, this.#endedIn(toolCallId));
    const status = isOurs ? { status: exit.exitCode === 0 ? "completed" : "failed" } : {};
    this.#send({ ...sent, ...status, ...(content && { content }) });
  }

  unnamed(terminal: ShownTerminal) {
    terminal.parts += 1;
    const { terminalId, line, parts } = terminal;
    const toolCallId = parts === 1 ? terminalId : `${terminalId}-${parts}`;
    this.#send({
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

  /** The output of the ended terminals of a call. */
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

  /** Only ended ones; `Terminals` bounds the running ones. */
  #evictOldest() {
    const ended = [...this.#terminals.values()].filter(({ isDone }) => isDone);
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

/** The tool call in which clients see a terminal. */
export interface ShownCall {
  readonly toolCallId: string;
  /** The call of the sub-agent that made it. */
  readonly parentId: string | null;
  /** Made by the server, for a terminal that no call of the agent has named. */
  readonly isOurs: boolean;
}

/** Receives the gathered output of a terminal. */
export interface ShownTerminalObserver {
  /** It has written some more, or has ended: then there is an exit, and this comes once. */
  output(terminal: ShownTerminal, call: ShownCall, data: string, exit: TerminalExit | null): void;
  /** It has output, and no call has named it for `TERMINAL_CLAIM_MS_MAX`. */
  unnamed(terminal: ShownTerminal): void;
}

/**
 * Gathers the output of one terminal for clients, so that a busy command does not make an event
 * for each line, and holds it until a tool call has named the terminal.
 */
export class ShownTerminal implements TerminalObserver {
  readonly terminalId: string;
  readonly line: string;
  readonly #observer: ShownTerminalObserver;
  readonly #excerpt: OutputExcerpt;
  #call: ShownCall | null = null;
  /** The output that was sent in this call. */
  #sent = "";
  /** The last output, once it has ended. */
  #last = "";
  #exit: TerminalExit | null = null;
  #isEndSent = false;
  #updates = 0;
  #timer: NodeJS.Timeout | null = null;
  /** How many calls the server has made for it. */
  parts = 0;
  /** How often an update that names it got its whole output. */
  repeats = 0;

  constructor(
    terminalId: string,
    line: string,
    bounds: ExcerptBounds,
    observer: ShownTerminalObserver,
  ) {
    this.terminalId = terminalId;
    this.line = line;
    this.#excerpt = new OutputExcerpt(bounds);
    this.#observer = observer;
  }

  get call(): ShownCall | null {
    return this.#call;
  }

  /** Whether there is output, or an end, that was not sent. */
  get hasUnsent(): boolean {
    return !this.#isEndSent && (this.#exit !== null || this.#excerpt.hasUntaken);
  }

  /** It has ended, and everything was sent. */
  get isDone(): boolean {
    return this.#isEndSent;
  }

  /** The whole output in this call, once it has ended. */
  get whole(): TerminalOutput | null {
    const exit = this.#exit;
    return exit === null ? null : { text: this.#sent + this.#last, exit };
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

  /** Later output belongs to another call. */
  leaveCall() {
    this.flush();
    this.#call = null;
    this.#sent = "";
  }

  /** Sends all that can be sent now. */
  flush() {
    this.#stopWaiting();
    const call = this.#call;
    if (call === null || this.#isEndSent) return;
    const data = this.#exit === null ? this.#excerpt.take() : this.#last;
    if (data === "" && this.#exit === null) return;
    this.#last = "";
    this.#sent += data;
    this.#updates += 1;
    this.#isEndSent = this.#exit !== null;
    this.#observer.output(this, call, data, this.#exit);
  }

  /** Stops sending. */
  forget() {
    this.#stopWaiting();
    this.#isEndSent = true;
  }

  #wait() {
    if (this.#timer !== null || this.#isEndSent) return;
    const isNamed = this.#call !== null;
    if (isNamed && (!this.#excerpt.hasUntaken || this.#updates >= TERMINAL_NEWS_MAX)) return;
    const round = Math.floor(this.#updates / TERMINAL_NEWS_ROUND_MAX);
    const ms = isNamed ? TERMINAL_NEWS_MS_MIN * 2 ** round : TERMINAL_CLAIM_MS_MAX;
    this.#timer = setTimeout(() => this.#waited(), Math.min(ms, TERMINAL_NEWS_MS_MAX));
    this.#timer.unref();
  }

  #waited() {
    this.#timer = null;
    if (this.#call === null) this.#observer.unnamed(this);
    else this.flush();
  }

  #stopWaiting() {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/** The content of a tool call, to be sent again; null if that is too much to keep. */
export function keptContent(content: unknown): readonly unknown[] | null {
  if (!Array.isArray(content)) return null;
  return JSON.stringify(content).length <= TERMINAL_CALL_CONTENT_CHARS_MAX ? content : null;
}
