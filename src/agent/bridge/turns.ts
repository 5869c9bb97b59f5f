import type { AgentUpdate, ContentBlock } from "../../core/agent-update.ts";
import { sentenceOf } from "../../core/error.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import type { AgentFailure } from "../../core/session/command.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import type { AgentListener, AgentTurn } from "../agent.ts";
import type { CallOutcome } from "../connection.ts";
import { fitContent } from "./capability.ts";
import type { AgentReplay } from "./replay.ts";
import { errorText } from "./request.ts";
import type { SessionHost } from "./session.ts";
import { UsageMeter } from "./usage.ts";
import type { RpcError } from "../../wire/rpc.ts";

/** The session that turns belong to. */
interface TurnsOwner {
  readonly listener: AgentListener;
  sessionId(): string;
  model(): string | null;
  /** Tells the listener something when all has been told that the agent said before. */
  tell(act: () => void): void;
  /** The turn has ended, and its verdict is what is told next. */
  settling(): void;
}

/** A session's turns, one after the other: prompts to the agent, and verdicts from it. */
export class Turns {
  readonly #host: SessionHost;
  readonly #owner: TurnsOwner;
  readonly #usage: UsageMeter;
  #turn: OpenTurn | null = null;
  /** What the agent may still say of the past, which the first prompt waits for. */
  replay: AgentReplay | null = null;
  /** Stands in front of every prompt until the agent has taken it in. */
  preface: readonly ContentBlock[] = [];

  constructor(host: SessionHost, owner: TurnsOwner) {
    this.#host = host;
    this.#owner = owner;
    this.#usage = new UsageMeter(host.usageScope);
  }

  get isAtWork(): boolean {
    return this.#turn !== null;
  }

  begin(order: AgentTurn): Result<void> {
    if (this.#turn !== null) return fail("session_busy");
    const turn = new OpenTurn(order);
    const { replay } = this;
    if (replay === null || replay.mayPrompt()) {
      const given = this.#give(turn);
      if (!given.ok) return given;
    } else {
      replay.whenOver(() => this.#giveLate(turn));
    }
    this.#turn = turn;
    this.#owner.tell(() => this.#owner.listener.status({ status: "turn_started" }));
    return DONE;
  }

  steer(content: readonly ContentBlock[]): Result<void> {
    if (!this.#host.abilities.steer) return fail("agent_unsupported", { method: "steering" });
    if (this.#turn === null || !this.#turn.isSent) return fail("no_turn_running");
    return this.#send(this.#turn, content, null, () => {});
  }

  /** One that waits for the end of a replay is over at once: the agent knows nothing of it. */
  cancel() {
    if (this.#turn === null) return;
    this.#turn.isCancelled = true;
    if (this.#turn.isSent) return this.#sendCancel();
    this.replay?.stopWaiting();
    this.#complete(this.#turn, "cancelled");
  }

  /** Answers whether it said something of what the turn has used. */
  heard(update: AgentUpdate): boolean {
    this.#turn?.heard();
    if (update.sessionUpdate === "usage_update") {
      this.#usage.updated(update);
      return true;
    }
    const meta = update.sessionUpdate === "agent_message_chunk" ? objectAt(update, "_meta") : null;
    const call = meta && objectAt(meta, "usage");
    if (call === null) return false;
    this.#usage.called(call);
    return true;
  }

  tellUsage() {
    if (this.#turn === null) return;
    const { turnId } = this.#turn.order;
    const usage = this.#usage.reading(this.#owner.model());
    this.#owner.tell(() => this.#owner.listener.usage(turnId, usage));
  }

  #give(turn: OpenTurn): Result<void> {
    const { order } = turn;
    // What was not told with a command is told with the next prompt.
    const preface = order.isCommand ? [] : this.preface;
    const sent = this.#send(turn, [...preface, ...order.content], order.params, () => {
      if (!order.isCommand) this.preface = [];
    });
    if (sent.ok) this.#usage.turnBegins();
    return sent;
  }

  /** It was begun, so if the agent does not take it now it has failed. */
  #giveLate(turn: OpenTurn) {
    const given = this.#give(turn);
    if (given.ok) return;
    const { code } = given.refusal;
    this.#fail(turn, { code, message: sentenceOf(given.refusal), errorKind: null });
  }

  /** `taken` is called when the agent has taken the prompt into its conversation. */
  #send(
    turn: OpenTurn,
    content: readonly ContentBlock[],
    params: JsonObject | null,
    taken: () => void,
  ): Result<void> {
    const { connection, abilities } = this.#host;
    const prompt = fitContent(content, abilities.capabilities);
    const all = { ...params, sessionId: this.#owner.sessionId(), prompt };
    const sent = connection.call(AGENT_METHODS.prompt, all, null, (reply) => {
      const { result } = reply.kind === "result" ? reply : { result: null };
      if (isObject(result) && result.stopReason !== "refusal") taken();
      this.#answered(turn, reply);
    });
    if (!sent.ok) return sent;
    turn.prompted();
    this.replay?.sent(prompt);
    return sent;
  }

  #sendCancel() {
    const sessionId = this.#owner.sessionId();
    this.#host.connection.notify(AGENT_METHODS.cancel, { sessionId });
  }

  #answered(turn: OpenTurn, reply: CallOutcome) {
    // Of an agent that is gone the listener hears by its exit, and that is enough.
    if (reply.kind !== "result" && reply.kind !== "error") return;
    const answer = reply.kind === "result" && isObject(reply.result) ? reply.result : {};
    const isRepeated = turn.answered(answer.usage);
    // A prompt that was refused in mid-turn says nothing of what the turn has used.
    const isCounted = reply.kind === "result" && !isRepeated;
    if (isCounted && this.#usage.answered(answer.usage)) this.tellUsage();
    if (!turn.isSettled) {
      // An agent with a queue goes on to the next prompt, which is to be stopped as well.
      if (turn.isCancelled) this.#sendCancel();
      return;
    }
    if (reply.kind === "error") {
      this.#fail(turn, failureOf(reply.error, errorText(reply.error, this.#host.redacted)));
    } else {
      this.#complete(turn, stringAt(answer, "stopReason") ?? "end_turn");
    }
  }

  #end() {
    this.#turn = null;
    this.#owner.settling();
  }

  #complete({ order: { turnId } }: OpenTurn, stopReason: string) {
    this.#end();
    const { listener, tell } = this.#owner;
    tell(() => listener.status({ status: "turn_complete", turnId, stopReason }));
  }

  #fail({ order: { turnId } }: OpenTurn, failure: AgentFailure) {
    this.#end();
    const { listener, tell } = this.#owner;
    tell(() => listener.status({ status: "turn_error", turnId, failure }));
  }
}

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
