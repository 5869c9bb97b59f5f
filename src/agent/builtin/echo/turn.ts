import type { JsonObject } from "../../../core/json.ts";
import { CLIENT_METHODS } from "../../../wire/acp.ts";
import type { RpcError, RpcId } from "../../../wire/rpc.ts";
import type { ClientLink, Reply } from "./client-link.ts";
import type { Flags } from "./flags.ts";
import type { Directive, UsageArguments } from "./language.ts";
import { ASK_AFTER_CANCEL_MS_MAX, STEERED_PROMPTS_MAX, TEXT_KEPT_CHARS_MAX } from "./limits.ts";
import type { Outbox } from "./outbox.ts";
import type { Session } from "./session.ts";

/** How a turn ends, if a directive says so. */
export type Ending =
  | { readonly kind: "stop"; readonly stopReason: string }
  | { readonly kind: "error"; readonly error: RpcError };

/** What doing a directive comes to; mostly nothing, and then the next one follows. */
export type Step = Promise<Ending | undefined> | Ending | undefined;

/** What there is around a turn. */
export interface Stage {
  readonly flags: Flags;
  readonly outbox: Outbox;
  readonly link: ClientLink;
  sessionIds(): readonly string[];
}

/** What is known of a prompt at work, and what its directives work with. */
export class Turn {
  readonly requestId: RpcId;
  readonly session: Session;
  readonly stage: Stage;
  /** Text that came in front of the user's words. */
  readonly context: readonly string[];
  readonly openCalls = new Set<string>();
  readonly #queue: Directive[] = [];
  readonly #cancel = new AbortController();
  readonly #askCancel = new AbortController();
  readonly #ended = Promise.withResolvers<Reply>();
  #steered = 0;
  #said = "";
  usage: UsageArguments | null = null;
  messageId: string | null = null;
  ignoresCancel = false;
  /** How often the prompt is answered: once, unless it is told to do it wrong. */
  answers = 1;

  constructor(requestId: RpcId, session: Session, stage: Stage, context: readonly string[]) {
    this.requestId = requestId;
    this.session = session;
    this.stage = stage;
    this.context = context;
  }

  get said(): string {
    return this.#said;
  }

  get isCancelled(): boolean {
    return this.#cancel.signal.aborted;
  }

  add(directives: readonly Directive[]) {
    this.#queue.push(...directives);
  }

  /** The prompt's answer, once there is one. */
  get ended(): Promise<Reply> {
    return this.#ended.promise;
  }

  end(reply: Reply) {
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

  /** Asks get some time more: the client is bound to take them back, and should be seen to. */
  cancel() {
    if (this.isCancelled) return;
    this.#cancel.abort();
    setTimeout(() => this.#askCancel.abort(), ASK_AFTER_CANCEL_MS_MAX).unref();
  }

  say(text: string): Promise<undefined> | undefined {
    if (this.#said.length < TEXT_KEPT_CHARS_MAX) this.#said += text;
    return this.update({ sessionUpdate: "agent_message_chunk", ...this.#chunk(text) });
  }

  think(text: string): Promise<undefined> | undefined {
    return this.update({ sessionUpdate: "agent_thought_chunk", ...this.#chunk(text) });
  }

  #chunk(text: string): JsonObject {
    const content = { type: "text", text };
    return this.messageId === null ? { content } : { content, messageId: this.messageId };
  }

  update(update: JsonObject): Promise<undefined> | undefined {
    return this.stage.link.notify(CLIENT_METHODS.update, { sessionId: this.session.id, update });
  }

  /** A call to the client about this session, given up when the turn is cancelled. */
  call(method: string, params: JsonObject): Promise<Reply> {
    return this.#call(method, params, this.#cancel.signal);
  }

  /** A call that people have to answer. */
  ask(method: string, params: JsonObject): Promise<Reply> {
    return this.#call(method, params, this.#askCancel.signal);
  }

  /** A call that is made even by a cancelled turn: it cleans up. */
  callAnyway(method: string, params: JsonObject): Promise<Reply> {
    return this.ask(method, params);
  }

  #call(method: string, params: JsonObject, signal: AbortSignal): Promise<Reply> {
    return this.stage.link.call(method, { sessionId: this.session.id, ...params }, signal);
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
