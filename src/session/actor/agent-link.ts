import type {
  AgentAsk,
  AgentListener,
  AgentPast,
  AgentSession,
  AskAnswer,
} from "../../agent/agent.ts";
import type { AgentUpdate, ContentBlock } from "../../core/agent-update.ts";
import { errorBody, type Refusal } from "../../core/error.ts";
import type { AskId, TurnId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import type { AgentStatusReport } from "../../core/session/command.ts";
import type { AgentExit } from "../../core/session/event.ts";
import type { RunningPrompt, Session } from "../../core/session/state.ts";
import type { ContextUsage } from "../../core/turn.ts";
import type { SessionPlace, SessionWorld } from "../world.ts";

/** What a link tells the session that it belongs to. */
export interface LinkOwner {
  heardStatus(report: AgentStatusReport): void;
  heardUpdate(update: AgentUpdate): Promise<void> | undefined;
  heardUsage(turnId: TurnId, usage: ContextUsage): void;
  /** Answers whether it was taken; its end comes later, by `answer`. */
  heardAsk(requestId: AskId, ask: AgentAsk): Promise<boolean>;
  askWithdrawn(requestId: AskId): void;
  heardExit(exit: AgentExit & { readonly message: string }): void;
  /** Nobody could be connected. */
  notConnected(why: Refusal): void;
  audit(act: string, details: JsonObject): Promise<void>;
}

/**
 * One activation of a session's agent. It is told what the session's state is, and does what that
 * asks for and has not been done yet: so whatever was missed in between is made up for, and
 * nothing is done twice.
 */
export class AgentLink {
  readonly activation: number;
  readonly #world: SessionWorld;
  readonly #owner: LinkOwner;
  readonly #asks = new Map<AskId, (answer: AskAnswer) => void>();
  readonly #steered = new Set<string>();
  readonly #giveUp = new AbortController();
  #session: AgentSession | null = null;
  #prompted: TurnId | null = null;
  #cancelled: TurnId | null = null;
  #isOver = false;

  constructor(world: SessionWorld, activation: number, owner: LinkOwner) {
    this.#world = world;
    this.activation = activation;
    this.#owner = owner;
  }

  /** Whether a further prompt may be sent while one is at work. */
  get canSteer(): boolean {
    return this.#session?.offer.canSteer ?? false;
  }

  get agent(): AgentSession | null {
    return this.#session;
  }

  async connect(place: SessionPlace, session: Session, past: AgentPast | null): Promise<void> {
    const { activeAgent, currentCwd } = session.chosen;
    const order = {
      tenantId: place.tenantId,
      profile: activeAgent,
      workspace: session.fixed.workspaceCwd,
      cwd: currentCwd,
      mcpServers: [],
      systemPrompt: null,
      past,
    };
    const { signal } = this.#giveUp;
    const connected = await this.#world.agents.connect(order, this.#listener(), signal);
    if (!connected.ok && !this.#isOver) this.#owner.notConnected(connected.refusal);
  }

  /** Does what the state asks for: a prompt, a word in between, or a wish to stop. */
  follow({ running }: Session) {
    if (running === null || this.#session === null || this.#isOver) return;
    if (this.#prompted !== running.turnId) this.#prompt(running);
    if (running.stopCause !== null && this.#cancelled !== running.turnId) {
      this.#cancelled = running.turnId;
      this.#session.cancel();
    }
  }

  #prompt(running: RunningPrompt) {
    const { turnId, content, params, shellContext } = running;
    this.#prompted = turnId;
    this.#steered.clear();
    const told = shellContext.map((text): ContentBlock => ({ type: "text", text }));
    const given = this.#session?.prompt({ turnId, content: [...told, ...content], params });
    if (given?.ok !== false) return;
    const { code } = given.refusal;
    const failure = { code, message: sentenceOf(given.refusal), errorKind: null };
    this.#owner.heardStatus({ status: "turn_error", turnId, failure });
  }

  steer(messageId: string, content: readonly ContentBlock[]) {
    if (this.#steered.has(messageId)) return;
    this.#steered.add(messageId);
    this.#session?.steer(content);
  }

  /** An ask has ended, and this is how. */
  answer(requestId: AskId, answer: AskAnswer) {
    this.#asks.get(requestId)?.(answer);
    this.#asks.delete(requestId);
  }

  /** Lets the agent go in good order. */
  async close(): Promise<void> {
    this.#cancelAsks();
    if (this.#session === null) this.#isOver = true;
    this.#giveUp.abort();
    await this.#session?.close();
  }

  /**
   * From now on nothing of this agent is heard. If it is still at work on a turn, its process gets
   * no further sessions and ends with the last that it has.
   */
  async discard(): Promise<void> {
    this.#isOver = true;
    this.#cancelAsks();
    this.#giveUp.abort();
    await this.#session?.close();
  }

  #cancelAsks() {
    for (const requestId of [...this.#asks.keys()]) this.answer(requestId, { outcome: CANCELLED });
  }

  #listener(): AgentListener {
    const owner = this.#owner;
    const unlessOver = (act: () => void) => {
      if (!this.#isOver) act();
    };
    return {
      connected: (session) => {
        this.#session = session;
        const { agentSessionId, context } = session;
        unlessOver(() => owner.heardStatus({ status: "connected", agentSessionId, context }));
      },
      status: (report) => {
        // It was asked for, so this is no news; and late it would wake a session that was stopped.
        if (report.status !== "created") unlessOver(() => owner.heardStatus(report));
      },
      update: (update) => (this.#isOver ? undefined : owner.heardUpdate(update)),
      usage: (turnId, usage) => unlessOver(() => owner.heardUsage(turnId, usage)),
      ask: (ask, signal) => this.#ask(ask, signal),
      exit: (exit) => {
        unlessOver(() => owner.heardExit(exit));
        this.#isOver = true;
        this.#cancelAsks();
      },
      audit: (act, details) => owner.audit(act, details),
    };
  }

  async #ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer> {
    if (this.#isOver) return { outcome: CANCELLED };
    const requestId = this.#world.ids.ask();
    const ended = new Promise<AskAnswer>((resolve) => this.#asks.set(requestId, resolve));
    signal.addEventListener("abort", () => this.#owner.askWithdrawn(requestId), { once: true });
    const isTaken = await this.#owner.heardAsk(requestId, ask);
    if (!isTaken) this.answer(requestId, { outcome: CANCELLED });
    return ended;
  }
}

/** A refusal as a sentence for people. */
export function sentenceOf(refusal: Refusal): string {
  return String(errorBody(refusal).error);
}
