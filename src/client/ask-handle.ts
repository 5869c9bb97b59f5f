import type { JsonObject } from "../core/json.ts";
import { stringAt } from "../core/json.ts";
import type { AskOutcome } from "../core/policy/ask.ts";
import { FermataError } from "./fault.ts";
import type { CallSettings, Transport } from "./transport.ts";

/** One answer that the agent offers. */
export interface AskChoice {
  readonly optionId: string;
  readonly label: string;
  /** ACP's word, as `allow_once` or `reject_always`, or the agent's own. */
  readonly kind: string;
}

/** What is known of an ask where it is found. */
export interface AskFound {
  readonly sessionId: string;
  readonly requestId: string;
  readonly kind: "permission" | "user_question";
  readonly title: string;
  readonly options: readonly AskChoice[];
  /** The tool call, or the questions, as the agent sent them. */
  readonly details: JsonObject;
}

/** Something that waits for a person, and can be answered. Other clients may be faster. */
export class AskHandle implements AskFound {
  readonly sessionId: string;
  readonly requestId: string;
  readonly kind: "permission" | "user_question";
  readonly title: string;
  readonly options: readonly AskChoice[];
  readonly details: JsonObject;
  readonly #transport: Transport;
  #outcome: AskOutcome | null = null;

  constructor(transport: Transport, facts: AskFound) {
    this.#transport = transport;
    this.sessionId = facts.sessionId;
    this.requestId = facts.requestId;
    this.kind = facts.kind;
    this.title = facts.title;
    this.options = facts.options;
    this.details = facts.details;
  }

  /** How it was answered, by any client; null while it is open, as far as this client knows. */
  get outcome(): AskOutcome | null {
    return this.#outcome;
  }

  /** Told by the session's log. */
  resolved(outcome: AskOutcome) {
    this.#outcome = outcome;
  }

  /** Allows it this once. */
  allow(options?: CallSettings): Promise<void> {
    return this.choose(this.#optionOf("allow_once"), options);
  }

  /** Allows it, and what is like it, for the rest of the session. */
  allowAlways(options?: CallSettings): Promise<void> {
    return this.choose(this.#optionOf("allow_always"), options);
  }

  /** Refuses it; the turn goes on without it where the agent offers that, and else ends. */
  deny(options?: CallSettings): Promise<void> {
    const refusing = this.options.find(({ kind }) => kind === "reject_once");
    return refusing === undefined ? this.cancel(options) : this.choose(refusing.optionId, options);
  }

  choose(optionId: string, options?: CallSettings): Promise<void> {
    return this.#vote({ outcome: { outcome: "selected", optionId } }, options);
  }

  /** Answers questions, by their keys; the option is the first that is offered by default. */
  answer(
    answers: Readonly<Record<string, string>>,
    optionId = this.options[0]?.optionId ?? "",
    options?: CallSettings,
  ): Promise<void> {
    return this.#vote({ outcome: { outcome: "selected", optionId }, answers }, options);
  }

  cancel(options?: CallSettings): Promise<void> {
    return this.#vote({ outcome: { outcome: "cancelled" } }, options);
  }

  #optionOf(kind: string): string {
    const found = this.options.find((option) => option.kind === kind);
    if (found !== undefined) return found.optionId;
    throw new FermataError("invalid_option_id", `The agent does not offer ${kind}.`);
  }

  async #vote(body: object, options: CallSettings = {}): Promise<void> {
    const path = `/permission/${encodeURIComponent(this.requestId)}`;
    await this.#transport.call("POST", path, { ...options, body });
  }
}

/** The options of an ask, as the agent offered them. */
export function choicesOf(options: readonly JsonObject[]): readonly AskChoice[] {
  return options.map((option) => {
    const optionId = stringAt(option, "optionId") ?? "";
    const label = stringAt(option, "label") ?? stringAt(option, "name") ?? optionId;
    return { optionId, label, kind: stringAt(option, "kind") ?? "" };
  });
}
