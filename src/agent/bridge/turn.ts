import { isObject, stringAt } from "../../core/json.ts";
import type { AgentFailure } from "../../core/session/command.ts";
import type { RpcError } from "../../wire/rpc.ts";
import type { AgentTurn } from "../agent.ts";

/**
 * A turn at work. It is one prompt, and those that were steered into it: some agents take them
 * into what they do and answer all alike, others do them one after the other. Either way the turn
 * has ended when the last of them has been answered, and that answer is its verdict (P2).
 */
export class OpenTurn {
  readonly order: AgentTurn;
  /** Prompts without an answer. */
  #open = 0;
  #lastUsage: string | null = null;
  isCancelled = false;
  /** Whether the agent has been given any of it. */
  isSent = false;

  constructor(order: AgentTurn) {
    this.order = order;
  }

  get isSettled(): boolean {
    return this.#open === 0;
  }

  /** One more prompt went out. */
  prompted() {
    this.#open += 1;
    this.isSent = true;
  }

  /** The agent said something, so that its next answer is to something else. */
  heard() {
    this.#lastUsage = null;
  }

  /**
   * One prompt was answered. Whether its usage was counted before: an agent that has made one of
   * two prompts answers both in one breath, with the same figures.
   */
  answered(usage: unknown): boolean {
    this.#open -= 1;
    const figures = isObject(usage) ? JSON.stringify(usage) : null;
    const isRepeated = figures !== null && figures === this.#lastUsage;
    this.#lastUsage = figures;
    return isRepeated;
  }
}

/** The wire's word for a model's answer that broke off, which agents report as `terminated`. */
const INTERRUPTED = "model_stream_interrupted";

/** An agent's refusal of a prompt; `message` is what people are shown of it. */
export function failureOf({ code, message, data }: RpcError, words: string): AgentFailure {
  const named = isObject(data) ? stringAt(data, "errorKind") : null;
  const errorKind = named ?? (message === "terminated" ? INTERRUPTED : null);
  return { code: String(code), message: words, errorKind };
}
