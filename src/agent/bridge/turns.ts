import { type AgentUpdate, type ContentBlock, promptText } from "../../core/agent-update.ts";
import { sentenceOf } from "../../core/error.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { COST_HELD_MS_MAX } from "../../core/limits.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import type { AgentFailure } from "../../core/session/command.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS, type RpcError } from "../../wire/rpc.ts";
import type { AgentListener, AgentTurn, ConnectRequest } from "../agent.ts";
import type { CallOutcome } from "../connection.ts";
import { fitContent } from "./capability.ts";
import type { AgentHost } from "./host.ts";
import type { AgentReplay } from "./replay.ts";
import { errorText } from "./request.ts";
import { signInRequired } from "./sign-in.ts";
import { UsageMeter } from "./usage.ts";

/** The session that the turns belong to. */
interface TurnsContext {
  readonly listener: AgentListener;
  readonly request: ConnectRequest;
  sessionId(): string;
  model(): string | null;
  /** Calls the listener after all that the agent sent before. */
  deliver(call: () => void): void;
  /** The turn has ended, and its verdict comes next. */
  turnEnds(): void;
  /** Closes it at the agent, so that its next prompt is for another process. */
  close(): Promise<void>;
}

/** A session's turns, one after the other: prompts to the agent, and its verdicts. */
export class Turns {
  readonly #host: AgentHost;
  readonly #session: TurnsContext;
  readonly #usage: UsageMeter;
  #turn: AgentTurnState | null = null;
  /** Runs while a cost waits for tokens. */
  #costTimer: NodeJS.Timeout | undefined;
  /** A replay that the agent may still send; the first prompt waits for its end. */
  replay: AgentReplay | null = null;
  /** Goes in front of every prompt until the agent has taken one. */
  preface: readonly ContentBlock[] = [];

  constructor(host: AgentHost, session: TurnsContext) {
    this.#host = host;
    this.#session = session;
    this.#usage = new UsageMeter(host.profile.usage);
  }

  get isRunning(): boolean {
    return this.#turn !== null;
  }

  begin(turn: AgentTurn): Result<void> {
    if (this.#turn !== null) return fail("session_busy");
    const state = new AgentTurnState(turn);
    const { replay } = this;
    if (replay === null || replay.mayPrompt()) {
      const sent = this.#sendPrompt(state);
      if (!sent.ok) return sent;
    } else {
      replay.whenOver(() => this.#sendLate(state));
    }
    this.#turn = state;
    this.#session.deliver(() => this.#session.listener.status({ status: "turn_started" }));
    return DONE;
  }

  steer(content: readonly ContentBlock[]): Result<void> {
    if (!this.#host.abilities.steer) return fail("agent_unsupported", { method: "steering" });
    if (this.#turn === null || !this.#turn.isSent) return fail("no_turn_running");
    return this.#send(this.#turn, content, null, () => {});
  }

  /** What was said into the turn, as an agent that fetches it reads it. */
  async takeMessages() {
    const { listener } = this.#session;
    const { capabilities } = this.#host.abilities;
    const messages = this.isRunning ? await listener.takeMessages() : [];
    const items = messages.map(({ messageId, content }) => {
      const displayText = promptText(content);
      return { messageId, displayText, content: fitContent(content, capabilities) };
    });
    const hasQueuedPrompt = listener.hasQueuedPrompt();
    return { messages: items.map(({ displayText }) => displayText), items, hasQueuedPrompt };
  }

  /** Whether the agent may go on by itself: only in its turn, and if nothing waits for its end. */
  mayGoOn() {
    const hasQueuedPrompt = this.#session.listener.hasQueuedPrompt();
    return { claimed: this.isRunning && !hasQueuedPrompt, hasQueuedPrompt };
  }

  /** A turn that waits for the end of a replay ends at once: the agent does not know of it. */
  cancel() {
    if (this.#turn === null) return;
    this.#turn.isCancelled = true;
    if (this.#turn.isSent) return this.#sendCancel();
    this.replay?.stopWaiting();
    this.#complete(this.#turn, "cancelled");
  }

  /** Learns from an update. Answers whether it reports usage. */
  learn(update: AgentUpdate): boolean {
    const isAboutUsage = this.#usage.learn(update);
    if (this.#usage.holdsCost) this.#awaitTokens();
    return isAboutUsage;
  }

  /** A cost waits for tokens only so long: a silent agent must meet its budget too (P9). */
  #awaitTokens() {
    this.#costTimer ??= setTimeout(() => this.deliverHeldCost(), COST_HELD_MS_MAX).unref();
  }

  /** Delivers a cost that no tokens came with, as far as the agent has told. */
  deliverHeldCost() {
    clearTimeout(this.#costTimer);
    this.#costTimer = undefined;
    if (this.#turn !== null && this.#usage.takeHeldCost()) this.deliverUsage();
  }

  /** The agent may go on counting from where it was when it had the session before. */
  restored() {
    this.#usage.restored();
  }

  deliverUsage() {
    const { listener } = this.#session;
    const turnId = this.#turn?.turn.turnId ?? null;
    const suspicions = this.#usage.takeSuspicions();
    const about = turnId === null ? {} : { turnId };
    for (const suspicion of suspicions) {
      this.#session.deliver(() => listener.usageSuspect({ ...suspicion, ...about }));
    }
    if (turnId === null) return;
    const usage = this.#usage.reading(this.#session.model());
    this.#session.deliver(() => listener.usage(turnId, usage));
  }

  #sendPrompt(state: AgentTurnState): Result<void> {
    const { content, params, isCommand } = state.turn;
    // A command takes no preface; it goes with the next prompt.
    const preface = isCommand ? [] : this.preface;
    const sent = this.#send(state, [...preface, ...content], params, () => {
      if (!isCommand) this.preface = [];
    });
    if (sent.ok) this.#usage.turnBegins();
    return sent;
  }

  /** The turn has begun already, so a prompt that cannot be sent fails it. */
  #sendLate(state: AgentTurnState) {
    const sent = this.#sendPrompt(state);
    if (sent.ok) return;
    const { code } = sent.refusal;
    this.#fail(state, { code, message: sentenceOf(sent.refusal), errorKind: null });
  }

  /** Calls `taken` when the prompt is part of the agent's conversation. */
  #send(
    turn: AgentTurnState,
    content: readonly ContentBlock[],
    params: JsonObject | null,
    taken: () => void,
  ): Result<void> {
    const { connection, abilities } = this.#host;
    const prompt = fitContent(content, abilities.capabilities);
    const all = { ...params, sessionId: this.#session.sessionId(), prompt };
    const sent = connection.call(AGENT_METHODS.prompt, all, null, (outcome) => {
      const { result } = outcome.kind === "result" ? outcome : { result: null };
      if (isObject(result) && result.stopReason !== "refusal") taken();
      this.#answered(turn, outcome);
    });
    if (!sent.ok) return sent;
    turn.prompted();
    this.replay?.sent(prompt);
    return sent;
  }

  #sendCancel() {
    const sessionId = this.#session.sessionId();
    this.#host.connection.notify(AGENT_METHODS.cancel, { sessionId });
  }

  #answered(turn: AgentTurnState, outcome: CallOutcome) {
    // When the agent's process ends, the listener gets `exit`, and that is enough.
    if (outcome.kind !== "result" && outcome.kind !== "error") return;
    const answer = outcome.kind === "result" && isObject(outcome.result) ? outcome.result : {};
    turn.answered();
    // A prompt that the agent refused in mid-turn reports no usage.
    if (outcome.kind === "result" && this.#usage.answered(answer)) this.deliverUsage();
    if (!turn.isSettled) {
      // An agent with a queue goes on to the next prompt, which must stop as well.
      if (turn.isCancelled) this.#sendCancel();
      return;
    }
    if (outcome.kind === "error") {
      this.#fail(turn, this.#failureOf(outcome.error));
    } else {
      this.#complete(turn, stringAt(answer, "stopReason") ?? "end_turn");
    }
  }

  /** A sign-in cannot be made up for in mid-turn: a prompt never runs twice (P2). */
  #failureOf(error: RpcError): AgentFailure {
    const failure = failureOf(error, errorText(error, this.#host.redacted));
    if (error.code !== RPC_ERRORS.authRequired) return failure;
    this.#host.retire();
    const context = this.#host.signInContext(this.#session.request);
    const refusal = signInRequired(context, failure.message);
    return { ...failure, code: refusal.code, message: sentenceOf(refusal) };
  }

  #complete({ turn: { turnId } }: AgentTurnState, stopReason: string) {
    this.#end({ status: "turn_complete", turnId, stopReason });
  }

  #fail({ turn: { turnId } }: AgentTurnState, failure: AgentFailure) {
    this.#end({ status: "turn_error", turnId, failure });
    // A process that has not found its log-in may not look for it again.
    if (failure.code === "agent_auth_required") {
      this.#session.deliver(() => void this.#session.close());
    }
  }

  #end(verdict: Parameters<AgentListener["status"]>[0]) {
    this.deliverHeldCost();
    this.#turn = null;
    this.#usage.turnEnds();
    this.#session.turnEnds();
    this.#session.deliver(() => this.#session.listener.status(verdict));
  }
}

/**
 * A running turn: one prompt, and those that were steered into it. Some agents merge them and
 * answer all alike, others do them one after the other. Either way the turn has ended when the
 * agent has answered the last of them, and that answer is its verdict (P2).
 */
export class AgentTurnState {
  readonly turn: AgentTurn;
  /** Prompts without an answer. */
  #open = 0;
  isCancelled = false;
  /** Whether the agent has got any of it. */
  isSent = false;

  constructor(turn: AgentTurn) {
    this.turn = turn;
  }

  get isSettled(): boolean {
    return this.#open === 0;
  }

  /** Counts one more prompt. */
  prompted() {
    this.#open += 1;
    this.isSent = true;
  }

  /** Counts an answer. */
  answered() {
    this.#open -= 1;
  }
}

/** The error kind of a model's answer that broke off, which agents report as `terminated`. */
const INTERRUPTED = "model_stream_interrupted";

/** An agent's error for a prompt; `words` is the text for people. */
function failureOf({ code, message, data }: RpcError, words: string): AgentFailure {
  const named = isObject(data) ? stringAt(data, "errorKind") : null;
  const errorKind = named ?? (message === "terminated" ? INTERRUPTED : null);
  return { code: String(code), message: words, errorKind };
}
