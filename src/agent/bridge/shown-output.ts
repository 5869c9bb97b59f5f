import type { AgentUpdate } from "../../core/agent-update.ts";
import { isToolCall } from "../../core/terminal-output.ts";
import { ShownTerminals } from "./shown-terminals.ts";
import { ToldTerminals } from "./told-terminals.ts";

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
