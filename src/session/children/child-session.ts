import type {
  AccessDecision,
  AgentAsk,
  AgentGone,
  AgentListener,
  AgentSession,
  AskAnswer,
  ConnectRequest,
} from "../../agent/agent.ts";
import type { AgentUpdate, ContentBlock } from "../../core/agent-update.ts";
import { sentenceOf } from "../../core/error.ts";
import type { ChildId, TurnId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { CHILD_RESULT_BYTES_MAX } from "../../core/limits.ts";
import type { Access } from "../../core/policy/access.ts";
import type { ChildLimits } from "../../core/policy/child-limits.ts";
import { type ChildOutcome, childFailure, childText } from "../../core/session/child.ts";
import type { Actor } from "../../core/session/command.ts";
import type { SessionEvent } from "../../core/session/event.ts";
import { cutText } from "../../core/text.ts";
import type { ContextUsage } from "../../core/turn.ts";
import { AskReports, type ReportsDeps } from "../agent/ask-reports.ts";
import { HeldText } from "../agent/held-text.ts";
import { OpenAsks } from "../agent/open-asks.ts";
import type { SessionSeat } from "../participant.ts";
import { ownWords, setThrowAway } from "../side/throw-away.ts";
import { type SessionWorld, stampedBy } from "../world.ts";

/** What a child is begun with, at its agent. */
export interface ChildWork {
  readonly childId: ChildId;
  /** The activation of its parent's agent: with that one it ends. */
  readonly activation: number;
  readonly request: ConnectRequest;
  readonly modelId: string | null;
  readonly content: readonly ContentBlock[];
  /** What a policy has lowered for its parent's users, as it was when this child began. */
  readonly limits: Pick<ChildLimits, "tokens" | "resultBytes">;
}

/**
 * A child at its agent: a throw-away session there, whose words, calls and asks are commands to the
 * parent. What it comes to is a command as well; when it has ended there, `stop` ends it here.
 */
export class ChildSession implements AgentListener {
  readonly #world: SessionWorld;
  readonly #seat: SessionSeat;
  readonly #work: ChildWork;
  readonly #actor: Actor;
  readonly #asks: OpenAsks;
  readonly #reports: AskReports;
  readonly #held: HeldText;
  readonly #giveUp = new AbortController();
  #session: AgentSession | null = null;
  #text = "";
  /** A tool call came after the words so far: those that follow are the answer. */
  #isInterrupted = false;
  #hasEnded = false;

  constructor(world: SessionWorld, seat: SessionSeat, work: ChildWork, deps: ReportsDeps) {
    const { childId, activation } = work;
    this.#world = world;
    this.#seat = seat;
    this.#work = work;
    this.#actor = { kind: "agent", activation };
    const interrupt = () => this.#held.interrupt();
    const asker = { ...deps, actor: this.#actor, childId, interrupt };
    this.#reports = new AskReports(world, seat, asker);
    this.#asks = new OpenAsks(world.ids, this.#reports);
    this.#held = new HeldText({
      world,
      send: (update) => this.#send(update),
      redacted: () => {
        const announcement = { type: "secret_redacted", data: { where: "agent_update" } } as const;
        void seat.submit({
          ...this.#by(),
          actor: { kind: "server" },
          type: "announce",
          announcement,
        });
      },
    });
  }

  /** Resolves when it is at its agent no more. */
  async run(): Promise<void> {
    try {
      await this.#prompt();
    } catch (thrown) {
      this.#ends(childFailure("turn_failed", "", String(thrown)));
    }
    await this.#isOver;
    await this.#leave();
  }

  async #prompt(): Promise<void> {
    const { request, modelId, content } = this.#work;
    const { signal } = this.#giveUp;
    const connected = await this.#world.agents.connect(request, this, signal);
    if (!connected.ok) {
      return this.#ends(childFailure("agent_unavailable", "", sentenceOf(connected.refusal)));
    }
    this.#session = connected.value;
    const refused = await setThrowAway(this.#world, connected.value, request, modelId);
    if (refused !== null) {
      return this.#ends(childFailure("agent_unavailable", "", sentenceOf(refused)));
    }
    if (signal.aborted) return;
    const turn = { turnId: this.#world.ids.turn(), content, params: null };
    const prompted = connected.value.prompt(turn);
    if (!prompted.ok) this.#ends(childFailure("turn_failed", "", sentenceOf(prompted.refusal)));
  }

  /** It has ended for its parent, however it did: nothing more is heard of it. */
  stop() {
    this.#hasEnded = true;
    this.#asks.end();
    this.#held.end();
    this.#giveUp.abort();
  }

  get #isOver(): Promise<void> {
    const { signal } = this.#giveUp;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  }

  /** Its side at the agent goes with it, where the agent can do that. */
  async #leave(): Promise<void> {
    const session = this.#session;
    if (session === null) return;
    await session.close();
    const { owner: _, ...caller } = this.#work.request;
    await this.#world.agentCalls?.delete(caller, session.agentSessionId);
  }

  /** Told once; when that is durable, `stop` follows. */
  #ends(outcome: ChildOutcome) {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { childId, limits } = this.#work;
    const cut = { ...outcome, text: childText(outcome.text, limits.resultBytes) };
    const ended = { type: "child_ended", childId, outcome: cut } as const;
    void this.#seat.submit({ ...this.#by(), ...ended }).then((why) => {
      if (why === null) return;
      const { sessionId } = this.#seat.key;
      this.#world.log("child result dropped", { sessionId, childId, because: why.code });
      this.stop();
    });
  }

  connected() {}

  status(report: Parameters<AgentListener["status"]>[0]) {
    this.#held.release();
    if (report.status === "turn_complete")
      return this.#ends(outcomeOf(report.stopReason, this.#text));
    if (report.status === "turn_error") {
      this.#ends(childFailure("turn_failed", this.#text, report.failure.message));
    } else if (report.status === "error") {
      this.#ends(childFailure("turn_failed", this.#text, report.message));
    }
  }

  update(update: AgentUpdate): Promise<void> | undefined {
    return this.#hasEnded ? undefined : this.#held.pass(update);
  }

  #send(update: AgentUpdate): Promise<void> | undefined {
    const { childId } = this.#work;
    this.#hear(update);
    this.#seat.tell({ ...this.#by(), type: "child_update", childId, update });
    return this.#seat.backpressure();
  }

  /** The answer is what it says after its last tool call. */
  #hear(update: AgentUpdate) {
    const words = ownWords(update);
    if (update.sessionUpdate === "tool_call") this.#isInterrupted = true;
    if (words === null || words === "") return;
    const before = this.#isInterrupted ? "" : this.#text;
    this.#isInterrupted = false;
    // What is longer than it may give back is cut once, and not with each of its words.
    if (before.length > CHILD_RESULT_BYTES_MAX) return;
    this.#text = cutText(before + words, CHILD_RESULT_BYTES_MAX + 1);
  }

  usage(_: TurnId, usage: ContextUsage) {
    const { childId, limits } = this.#work;
    const told = { type: "child_usage", childId, usage, tokensMax: limits.tokens } as const;
    void this.#seat.submit({ ...this.#by(), ...told });
  }

  usageSuspect({ reason, detail }: Parameters<AgentListener["usageSuspect"]>[0]) {
    const { childId } = this.#work;
    this.#world.log("usage suspect", { childId, because: reason, said: detail });
  }

  ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer> {
    return this.#asks.ask(ask, signal);
  }

  access(access: Access, signal: AbortSignal): Promise<AccessDecision> {
    return this.#asks.access(access, signal);
  }

  /** What the session has decided about it is durable. */
  told(event: SessionEvent) {
    this.#asks.told(event);
  }

  async takeMessages() {
    return [];
  }

  hasQueuedPrompt() {
    return false;
  }

  exit({ message }: AgentGone) {
    this.#held.release();
    this.#session = null;
    this.#ends(childFailure("channel_closed", this.#text, message || undefined));
  }

  audit(act: string, details: JsonObject): Promise<void> {
    return this.#seat.recordAct(act, { ...details, childId: this.#work.childId });
  }

  #by() {
    return stampedBy(this.#world.clock, this.#actor);
  }
}

function outcomeOf(stopReason: string, text: string): ChildOutcome {
  if (stopReason === "end_turn" || stopReason === "") return { state: "Closed", text };
  const message = `The agent of the child stopped before it was done: ${stopReason}.`;
  return childFailure("stopped_short", text, message);
}
