import type { AgentUpdate, ContentBlock } from "../../core/agent-update.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import type { AgentListener, AgentTurn } from "../agent.ts";
import type { Reply } from "../connection.ts";
import { fitContent } from "./content.ts";
import { wordsOf } from "./request.ts";
import type { SessionHost } from "./session.ts";
import { failureOf, OpenTurn } from "./turn.ts";
import { UsageMeter } from "./usage.ts";

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
    // What was not told with a command is told with the next prompt.
    const preface = order.isCommand ? [] : this.preface;
    const sent = this.#send(turn, [...preface, ...order.content], order.params, () => {
      if (!order.isCommand) this.preface = [];
    });
    if (!sent.ok) return sent;
    this.#turn = turn;
    this.#usage.turnBegins();
    this.#owner.tell(() => this.#owner.listener.status({ status: "turn_started" }));
    return DONE;
  }

  steer(content: readonly ContentBlock[]): Result<void> {
    if (!this.#host.abilities.steer) return fail("agent_unsupported", { method: "steering" });
    if (this.#turn === null) return fail("no_turn_running");
    return this.#send(this.#turn, content, null, () => {});
  }

  cancel() {
    if (this.#turn === null) return;
    this.#turn.isCancelled = true;
    this.#sendCancel();
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
    if (sent.ok) turn.prompted();
    return sent;
  }

  #sendCancel() {
    const sessionId = this.#owner.sessionId();
    this.#host.connection.notify(AGENT_METHODS.cancel, { sessionId });
  }

  #answered(turn: OpenTurn, reply: Reply) {
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
    this.#turn = null;
    this.#owner.settling();
    const { listener } = this.#owner;
    const { turnId } = turn.order;
    if (reply.kind === "error") {
      const failure = failureOf(reply.error, wordsOf(reply.error, this.#host.redacted));
      this.#owner.tell(() => listener.status({ status: "turn_error", turnId, failure }));
      return;
    }
    const stopReason = stringAt(answer, "stopReason") ?? "end_turn";
    this.#owner.tell(() => listener.status({ status: "turn_complete", turnId, stopReason }));
  }
}
