import type { JsonObject } from "../../../core/json.ts";
import { CLIENT_METHODS } from "../../../wire/acp.ts";
import { notificationLine, type RpcError, type RpcId } from "../../../wire/rpc.ts";
import type { ClientLink, EchoReply, Outbox } from "./client-link.ts";
import type { Flags } from "./flags.ts";
import type { Arguments, Directive, Verb } from "./language.ts";
import { ASK_AFTER_CANCEL_MS_MAX, STEERED_PROMPTS_MAX, TEXT_KEPT_CHARS_MAX } from "./limits.ts";
import type { EchoSession } from "./session.ts";

/** How a turn ends, if a directive says so. */
export type TurnEnding =
  | { readonly kind: "stop"; readonly stopReason: string }
  | { readonly kind: "error"; readonly error: RpcError };

/** What performs each directive. Without an ending the next directive follows. */
export type Performers = {
  readonly [V in Verb]: (
    turn: Turn,
    args: Arguments[V],
  ) => Promise<TurnEnding | undefined> | TurnEnding | undefined;
};

/** What all sessions of this process share. */
export interface EchoDeps {
  readonly flags: Flags;
  readonly outbox: Outbox;
  readonly link: ClientLink;
  sessionIds(): readonly string[];
}

/** A running prompt, and what its directives work with. */
export class Turn {
  readonly requestId: RpcId;
  readonly session: EchoSession;
  readonly deps: EchoDeps;
  /** Text blocks that came before the user's own. */
  readonly context: readonly string[];
  readonly openCalls = new Set<string>();
  readonly #queue: Directive[] = [];
  readonly #cancel = new AbortController();
  readonly #askCancel = new AbortController();
  readonly #ended = Promise.withResolvers<EchoReply>();
  #steered = 0;
  #said = "";
  usage: Arguments["usage"] | null = null;
  messageId: string | null = null;
  ignoresCancel = false;
  /** How often echo answers the prompt: once, unless the script wants the fault. */
  answers = 1;

  constructor(requestId: RpcId, session: EchoSession, deps: EchoDeps, context: readonly string[]) {
    this.requestId = requestId;
    this.session = session;
    this.deps = deps;
    this.context = context;
  }

  get said(): string {
    return this.#said;
  }

  get outbox(): Outbox {
    return this.deps.outbox;
  }

  get isCancelled(): boolean {
    return this.#cancel.signal.aborted;
  }

  add(directives: readonly Directive[]) {
    this.#queue.push(...directives);
  }

  /** The prompt's answer, once there is one. */
  get ended(): Promise<EchoReply> {
    return this.#ended.promise;
  }

  end(reply: EchoReply) {
    this.#ended.resolve(reply);
  }

  /** False if there have been too many already. */
  steer(directives: readonly Directive[]): boolean {
    if (this.#steered >= STEERED_PROMPTS_MAX) return false;
    this.#steered += 1;
    this.add(directives);
    return true;
  }

  next(): Directive | undefined {
    return this.#queue.shift();
  }

  /** Asks stay open a little longer: the client has to withdraw them, and tests watch for it. */
  cancel() {
    if (this.isCancelled) return;
    this.#cancel.abort();
    setTimeout(() => this.#askCancel.abort(), ASK_AFTER_CANCEL_MS_MAX).unref();
  }

  say(text: string): Promise<undefined> | undefined {
    if (this.#said.length < TEXT_KEPT_CHARS_MAX) this.#said += text;
    return this.#chunk("agent_message_chunk", text);
  }

  think(text: string): Promise<undefined> | undefined {
    return this.#chunk("agent_thought_chunk", text);
  }

  #chunk(sessionUpdate: string, text: string): Promise<undefined> | undefined {
    const { messageId } = this;
    const chunk = { sessionUpdate, content: { type: "text", text } };
    return this.update(messageId === null ? chunk : { ...chunk, messageId });
  }

  update(update: JsonObject): Promise<undefined> | undefined {
    return this.outbox.send(this.updateLine(update));
  }

  updateLine(update: JsonObject): string {
    return notificationLine(CLIENT_METHODS.update, { sessionId: this.session.id, update });
  }

  /** Calls the client about this session. A cancel of the turn gives the call up. */
  call(method: string, params: JsonObject): Promise<EchoReply> {
    return this.#call(method, params, this.#cancel.signal);
  }

  /** The same for what a person answers, or cleans up: it may outlast a cancel for a while. */
  ask(method: string, params: JsonObject): Promise<EchoReply> {
    return this.#call(method, params, this.#askCancel.signal);
  }

  #call(method: string, params: JsonObject, signal: AbortSignal): Promise<EchoReply> {
    return this.deps.link.call(method, { sessionId: this.session.id, ...params }, signal);
  }

  /** Ends early if the turn is cancelled. */
  pause(ms: number): Promise<undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms, undefined);
      this.#onCancel(() => {
        clearTimeout(timer);
        resolve(undefined);
      });
    });
  }

  untilCancelled(): Promise<undefined> {
    return new Promise((resolve) => this.#onCancel(() => resolve(undefined)));
  }

  #onCancel(act: () => void) {
    if (this.isCancelled) act();
    else this.#cancel.signal.addEventListener("abort", act, { once: true });
  }
}
