import { type AgentUpdate, toolCallNews } from "../../core/agent-update.ts";
import { isToolCall, exitIn, outputDeltas, type TerminalExit, type TerminalOutput, terminalNamed, withOutput } from "../../core/terminal-output.ts";
import { ShownTerminals, keptContent } from "./shown-terminals.ts";
import { stringAt } from "../../core/json.ts";
import { TERMINAL_REPEATS_MAX, TERMINAL_SHOWN_HEAD_BYTES_MAX, TERMINAL_SHOWN_TAIL_BYTES_MAX, TERMINALS_TOLD_BY_AGENT_MAX } from "../../core/limits.ts";
import { OutputExcerpt } from "../workspace/output.ts";

/** What the commands of one session write, whoever runs them: people see it with the tool call. */
export class ShownOutput {
  /** Those that we run. */
  readonly terminals: ShownTerminals;
  /** Those that the agent runs. */
  readonly #told = new ToldTerminals();
  readonly #tell: (update: AgentUpdate) => void;
  readonly #known: (toolCallId: string) => unknown;

  /** `known` gives the content of a call as the agent said it last. */
  constructor(tell: (update: AgentUpdate) => void, known: (toolCallId: string) => unknown) {
    this.#tell = tell;
    this.#known = known;
    this.terminals = new ShownTerminals(tell);
  }

  /** An update of the agent, as far as it has a say in it. */
  heard(update: AgentUpdate): AgentUpdate {
    return isToolCall(update) ? this.terminals.withoutClaims(update) : update;
  }

  /** The same, as it is told. */
  before(update: AgentUpdate): AgentUpdate {
    if (!isToolCall(update)) return update;
    this.#told.heard(update, this.#known);
    return this.terminals.filled(update);
  }

  /** It is on its way, and what follows from it comes behind. */
  after(update: AgentUpdate) {
    if (!isToolCall(update)) return;
    this.terminals.heard(update);
    const behind = this.#told.behind(update);
    if (behind !== null) this.#tell(behind);
  }

  /** To be told before the verdict. */
  turnEnds() {
    this.terminals.turnEnds();
    for (const update of this.#told.turnEnds()) this.#tell(update);
  }

  end() {
    this.terminals.end();
    this.#told.turnEnds();
  }
}

interface ToldTerminal {
  readonly excerpt: OutputExcerpt;
  /** What people are shown as the whole; null as long as more may come. */
  text: string | null;
  exit: TerminalExit | null;
}

interface ToldCall {
  readonly terminals: Map<string, ToldTerminal>;
  content: readonly unknown[] | null;
  /** How often the whole was shown. */
  repeats: number;
}

/**
 * Terminals that an agent runs itself and whose output it tells piece by piece, in `_meta`. Its
 * words are told as they are; when such a call has ended, what it wrote is shown in the call's
 * content too, for all who read nothing else.
 */
export class ToldTerminals {
  readonly #calls = new Map<string, ToldCall>();

  /** `known` is what was said of the call before. */
  heard(update: AgentUpdate, known: (toolCallId: string) => unknown) {
    const toolCallId = isToolCall(update) ? stringAt(update, "toolCallId") : null;
    if (toolCallId === null) return;
    const deltas = outputDeltas(update);
    if (deltas.length === 0 && !this.#calls.has(toolCallId)) return;
    const call = this.#calls.get(toolCallId) ?? this.#begin(toolCallId, known(toolCallId));
    if (update.content != null) call.content = keptContent(update.content);
    for (const { terminalId, data } of deltas) {
      this.#terminal(call, terminalId)?.excerpt.push(Buffer.from(data));
    }
    const ended = exitIn(update);
    const terminal = ended && call.terminals.get(ended.terminalId);
    if (terminal) terminal.exit = ended.exit;
  }

  /** What is to be told behind this update: the whole output of a call that ends by it. */
  behind(update: AgentUpdate): AgentUpdate | null {
    const toolCallId = stringAt(update, "toolCallId");
    const call = toolCallId === null ? undefined : this.#calls.get(toolCallId);
    if (toolCallId === null || call === undefined) return null;
    const isEnd = toolCallNews(update)?.status !== "open" || exitIn(update) !== null;
    return isEnd || isNamedAgain(call, update) ? shown(toolCallId, call) : null;
  }

  /** The calls of the turn that have not ended, with what they have written so far. */
  turnEnds(): readonly AgentUpdate[] {
    const open = [...this.#calls].filter(([, { repeats }]) => repeats === 0);
    this.#calls.clear();
    return open.flatMap(([toolCallId, call]) => shown(toolCallId, call) ?? []);
  }

  #begin(toolCallId: string, content: unknown): ToldCall {
    const call = {
      terminals: new Map(),
      content: content == null ? [] : keptContent(content),
      repeats: 0,
    };
    this.#calls.set(toolCallId, call);
    return call;
  }

  /** None where there are too many of them: what an agent says is stored all the same. */
  #terminal(call: ToldCall, terminalId: string): ToldTerminal | null {
    const { terminals } = call;
    const known = terminals.get(terminalId);
    if (known !== undefined) return known.text === null ? known : null;
    if (!this.#makeRoom(call)) return null;
    const bounds = {
      headBytesMax: TERMINAL_SHOWN_HEAD_BYTES_MAX,
      tailBytesMax: TERMINAL_SHOWN_TAIL_BYTES_MAX,
    };
    const begun = { excerpt: new OutputExcerpt(bounds), text: null, exit: null };
    terminals.set(terminalId, begun);
    return begun;
  }

  /** The oldest other call that has any is forgotten. Answers whether there is room then. */
  #makeRoom(call: ToldCall): boolean {
    const counts = [...this.#calls.values()].map(({ terminals }) => terminals.size);
    if (counts.reduce((sum, size) => sum + size, 0) < TERMINALS_TOLD_BY_AGENT_MAX) return true;
    const others = [...this.#calls].filter(([, other]) => other !== call);
    const [oldest] = others.find(([, { terminals }]) => terminals.size > 0) ?? [];
    return oldest !== undefined && this.#calls.delete(oldest);
  }
}

/** An agent that names its terminal once more has taken our text away again. */
function isNamedAgain({ terminals, repeats }: ToldCall, { content }: AgentUpdate): boolean {
  const names = Array.isArray(content) ? content.map(terminalNamed) : [];
  return repeats > 0 && names.some((id) => id !== null && terminals.has(id));
}

function shown(toolCallId: string, call: ToldCall): AgentUpdate | null {
  if (call.content === null || call.repeats >= TERMINAL_REPEATS_MAX) return null;
  call.repeats += 1;
  const outputs = new Map<string, TerminalOutput>();
  for (const [terminalId, terminal] of call.terminals) {
    terminal.text ??= terminal.excerpt.end();
    outputs.set(terminalId, { text: terminal.text, exit: terminal.exit });
  }
  const content = withOutput(call.content, outputs);
  return { sessionUpdate: "tool_call_update", toolCallId, content };
}
