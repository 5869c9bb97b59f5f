import type { AgentListener, AgentOrder, AskAnswer } from "../../agent/agent.ts";
import {
  type AgentUpdate,
  type ContentBlock,
  chunkText,
  parentToolCallId,
} from "../../core/agent-update.ts";
import { ASIDE_ANSWER_CHARS_MAX } from "../../core/limits.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import { cutText } from "../../core/text.ts";
import type { SessionWorld } from "../world.ts";

/** Turns that end so have no answer, whatever was said before. */
const WITHOUT_ANSWER: ReadonlySet<string> = new Set(["cancelled", "refusal"]);

/**
 * An agent session for one question. What it says is heard here and nowhere else; whatever it asks
 * for is refused; and it touches no file and no terminal, because nothing of it is recorded.
 */
export class ThrowAway implements AgentListener {
  /** What the agent said in all, when its turn has ended well; else null. */
  readonly answer: Promise<string | null>;
  readonly #world: SessionWorld;
  readonly #signal: AbortSignal;
  #settle: (answer: string | null) => void = () => {};
  #said = "";

  constructor(world: SessionWorld, signal: AbortSignal) {
    this.#world = world;
    this.#signal = signal;
    this.answer = new Promise((settle) => {
      this.#settle = settle;
    });
    signal.addEventListener("abort", () => this.#settle(null));
    if (signal.aborted) this.#settle(null);
  }

  /** Answers when the agent session is closed, which may be later than the answer. */
  async run(order: AgentOrder, content: readonly ContentBlock[]): Promise<void> {
    const signal = this.#signal;
    if (signal.aborted) return;
    const connected = await this.#world.agents.connect(order, this, signal);
    if (!connected.ok) return this.#settle(null);
    const session = connected.value;
    const turn = { turnId: this.#world.ids.turn(), content, params: null };
    if (signal.aborted || !session.prompt(turn).ok) this.#settle(null);
    await this.answer;
    await session.close();
  }

  connected() {}

  status(report: Parameters<AgentListener["status"]>[0]) {
    const { status } = report;
    if (status === "turn_complete") {
      const text = this.#world.redact(this.#said).trim();
      this.#settle(text === "" || WITHOUT_ANSWER.has(report.stopReason) ? null : text);
    } else if (status === "turn_error" || status === "error") {
      this.#settle(null);
    }
  }

  update(update: AgentUpdate): undefined {
    const isOurs =
      update.sessionUpdate === "agent_message_chunk" && parentToolCallId(update) === null;
    const text = isOurs ? chunkText(update) : null;
    if (text !== null) this.#said = cutText(this.#said + text, ASIDE_ANSWER_CHARS_MAX);
  }

  usage() {}

  async ask(): Promise<AskAnswer> {
    return { outcome: CANCELLED };
  }

  exit() {
    this.#settle(null);
  }

  /** An act that cannot be recorded does not happen. */
  async audit(): Promise<void> {
    throw new Error("a throw-away session acts on nothing");
  }
}
