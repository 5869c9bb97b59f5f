import { type AgentUpdate, toolCallNews } from "../../core/agent-update.ts";
import { stringAt } from "../../core/json.ts";
import {
  TERMINAL_REPEATS_MAX,
  TERMINAL_SHOWN_HEAD_BYTES_MAX,
  TERMINAL_SHOWN_TAIL_BYTES_MAX,
  TERMINALS_TOLD_BY_AGENT_MAX,
} from "../../core/limits.ts";
import {
  exitIn,
  isToolCall,
  outputDeltas,
  type TerminalExit,
  type TerminalOutput,
  terminalNamed,
  withOutput,
} from "../../core/terminal-output.ts";
import { OutputExcerpt } from "../process/output.ts";
import { keptContent, ShownTerminals } from "./shown-terminals.ts";

/** Shows the output of all commands of one session to clients, with their tool calls. */
export class ShownOutput {
  /** Terminals that the server runs. */
  readonly terminals: ShownTerminals;
  /** Terminals that the agent runs. */
  readonly #agentTerminals = new AgentTerminals();
  readonly #send: (update: AgentUpdate) => void;
  readonly #known: (toolCallId: string) => unknown;

  /** `known` returns the content of a tool call as the agent sent it last. */
  constructor(send: (update: AgentUpdate) => void, known: (toolCallId: string) => unknown) {
    this.#send = send;
    this.#known = known;
    this.terminals = new ShownTerminals(send);
  }

  /** The update without what the agent claims of terminals of the server. */
  withoutClaims(update: AgentUpdate): AgentUpdate {
    return isToolCall(update) ? this.terminals.withoutClaims(update) : update;
  }

  /** The same update as clients get it. */
  before(update: AgentUpdate): AgentUpdate {
    if (!isToolCall(update)) return update;
    this.#agentTerminals.learn(update, this.#known);
    return this.terminals.filled(update);
  }

  /** Called when the update is in the inbox: sends what has to follow it. */
  after(update: AgentUpdate) {
    if (!isToolCall(update)) return;
    this.terminals.learn(update);
    const following = this.#agentTerminals.following(update);
    if (following !== null) this.#send(following);
  }

  /** Sends what is left before the verdict. */
  turnEnds() {
    this.terminals.turnEnds();
    for (const update of this.#agentTerminals.turnEnds()) this.#send(update);
  }

  end() {
    this.terminals.end();
    this.#agentTerminals.turnEnds();
  }
}

interface AgentTerminal {
  readonly excerpt: OutputExcerpt;
  /** The whole output for clients; null as long as more may come. */
  text: string | null;
  exit: TerminalExit | null;
}

interface AgentTerminalCall {
  readonly terminals: Map<string, AgentTerminal>;
  content: readonly unknown[] | null;
  /** How often the whole output was sent. */
  repeats: number;
}

/**
 * Terminals that an agent runs itself and whose output it sends piece by piece, in `_meta`. Those
 * updates go to clients unchanged; when such a call has ended, its content gets the output too,
 * for clients that read nothing else.
 */
class AgentTerminals {
  readonly #calls = new Map<string, AgentTerminalCall>();

  /** `known` is the earlier content of the call. */
  learn(update: AgentUpdate, known: (toolCallId: string) => unknown) {
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

  /** What has to follow this update: the whole output of a call that ends with it. */
  following(update: AgentUpdate): AgentUpdate | null {
    const toolCallId = stringAt(update, "toolCallId");
    const call = toolCallId === null ? undefined : this.#calls.get(toolCallId);
    if (toolCallId === null || call === undefined) return null;
    const isEnd = toolCallNews(update)?.status !== "open" || exitIn(update) !== null;
    return isEnd || isNamedAgain(call, update) ? shown(toolCallId, call) : null;
  }

  /** The calls of the turn that have not ended, with their output so far. */
  turnEnds(): readonly AgentUpdate[] {
    const open = [...this.#calls].filter(([, { repeats }]) => repeats === 0);
    this.#calls.clear();
    return open.flatMap(([toolCallId, call]) => shown(toolCallId, call) ?? []);
  }

  #begin(toolCallId: string, content: unknown): AgentTerminalCall {
    const call = {
      terminals: new Map(),
      content: content == null ? [] : keptContent(content),
      repeats: 0,
    };
    this.#calls.set(toolCallId, call);
    return call;
  }

  /** Null if there are too many: the agent's own updates are stored in any case. */
  #terminal(call: AgentTerminalCall, terminalId: string): AgentTerminal | null {
    const { terminals } = call;
    const known = terminals.get(terminalId);
    if (known !== undefined) return known.text === null ? known : null;
    if (!this.#makeCapacity(call)) return null;
    const bounds = {
      headBytesMax: TERMINAL_SHOWN_HEAD_BYTES_MAX,
      tailBytesMax: TERMINAL_SHOWN_TAIL_BYTES_MAX,
    };
    const begun = { excerpt: new OutputExcerpt(bounds), text: null, exit: null };
    terminals.set(terminalId, begun);
    return begun;
  }

  /** Evicts the oldest other call that has any. Answers whether there is capacity then. */
  #makeCapacity(call: AgentTerminalCall): boolean {
    const counts = [...this.#calls.values()].map(({ terminals }) => terminals.size);
    if (counts.reduce((sum, size) => sum + size, 0) < TERMINALS_TOLD_BY_AGENT_MAX) return true;
    const others = [...this.#calls].filter(([, other]) => other !== call);
    const [oldest] = others.find(([, { terminals }]) => terminals.size > 0) ?? [];
    return oldest !== undefined && this.#calls.delete(oldest);
  }
}

/** An agent that names its terminal again has removed the server's text from the content. */
function isNamedAgain(
  { terminals, repeats }: AgentTerminalCall,
  { content }: AgentUpdate,
): boolean {
  const names = Array.isArray(content) ? content.map(terminalNamed) : [];
  return repeats > 0 && names.some((id) => id !== null && terminals.has(id));
}

function shown(toolCallId: string, call: AgentTerminalCall): AgentUpdate | null {
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
