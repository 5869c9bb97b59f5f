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
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import { APPROVAL_MODES, approvalMeaning } from "../../core/policy/risk.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
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
  /** The agent did not take what the session is set to. */
  settingRefused(setting: "model" | "mode", value: string, why: Refusal): void;
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
  #chosenModel: string | null = null;
  #mode: string | null = null;
  #firstMode: string | null = null;
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
    const { activeAgent, currentCwd, modelConfig } = session.chosen;
    this.#chosenModel = modelConfig.modelId;
    this.#mode = session.connection.agentMode;
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

  /** Does what the state asks for: another mode, a prompt, or a wish to stop. */
  follow({ running, connection }: Session) {
    if (this.#session === null || this.#isOver) return;
    if (connection.agentMode !== this.#mode) void this.#changeMode(connection.agentMode);
    if (running === null) return;
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

  steer(messageId: string, content: readonly ContentBlock[]): Result<void> {
    if (this.#steered.has(messageId)) return DONE;
    this.#steered.add(messageId);
    return this.#session?.steer(content) ?? fail("no_turn_running");
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
        const { modes } = session.offer;
        this.#firstMode = modes && stringAt(modes, "currentModeId");
        const hasSettings = this.#chosenModel !== null || this.#mode !== null;
        if (!hasSettings && !this.#isInOurMode(session)) this.#ready(session);
        else void this.#setUp(session).then(() => this.#ready(session));
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

  /** What the session is set to is set at the agent before it gets a prompt (P7). */
  async #setUp(session: AgentSession): Promise<void> {
    const modelId = this.#chosenModel;
    const set = modelId === null ? DONE : await session.setModel(modelId);
    if (modelId !== null && !set.ok) this.#refused("model", modelId, set.refusal);
    if (this.#mode !== null) return this.#changeMode(this.#mode);
    if (!this.#isInOurMode(session)) return;
    this.#mode = this.#firstMode;
    await this.#changeMode(null);
  }

  /** An agent that remembers may come back in a mode that was the session's, and is not now. */
  #isInOurMode({ context }: AgentSession): boolean {
    const isRemembered = context === "resumed" || context === "loaded";
    return isRemembered && this.#mode === null && OUR_MODES.has(this.#firstMode);
  }

  #ready({ agentSessionId, context }: AgentSession) {
    if (this.#isOver || this.#giveUp.signal.aborted) return;
    this.#owner.heardStatus({ status: "connected", agentSessionId, context });
  }

  /** No mode of ours is the one that the agent began in. */
  async #changeMode(mode: string | null): Promise<void> {
    const session = this.#session;
    const modeId =
      mode ?? (session && modeBeside(session.offer.modes, this.#firstMode, this.#mode));
    this.#mode = mode;
    const set = modeId === null ? DONE : await session?.setMode(modeId);
    if (modeId !== null && set?.ok === false) this.#refused("mode", modeId, set.refusal);
  }

  /** An agent that is gone or leaving is no news here. */
  #refused(setting: "model" | "mode", value: string, why: Refusal) {
    if (this.#isOver || this.#giveUp.signal.aborted || why.code === "agent_gone") return;
    this.#owner.settingRefused(setting, value, why);
  }

  async #ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer> {
    // One that comes after the farewell finds nobody who would answer it.
    if (this.#isOver || this.#giveUp.signal.aborted) return { outcome: CANCELLED };
    const requestId = this.#world.ids.ask();
    const ended = new Promise<AskAnswer>((resolve) => this.#asks.set(requestId, resolve));
    signal.addEventListener("abort", () => this.#owner.askWithdrawn(requestId), { once: true });
    // Whether it was taken may never be known, if the store is silent; its end comes all the same.
    void this.#owner.heardAsk(requestId, ask).then((isTaken) => {
      if (!isTaken) this.answer(requestId, { outcome: CANCELLED });
    });
    return ended;
  }
}

/** The modes that agents are in because a session wants it. */
const OUR_MODES: ReadonlySet<string | null> = new Set(
  APPROVAL_MODES.flatMap((mode) => approvalMeaning(mode).agentMode ?? []),
);

/** An agent that remembers may have begun in the very mode that is to be left: then any other. */
function modeBeside(
  modes: JsonObject | null,
  first: string | null,
  left: string | null,
): string | null {
  if (first !== left) return first;
  const offered = Array.isArray(modes?.availableModes) ? modes.availableModes : [];
  const ids = offered.map((mode) => (isObject(mode) ? stringAt(mode, "id") : null));
  return ids.find((id) => id !== null && id !== left) ?? null;
}

/** A refusal as a sentence for people. */
export function sentenceOf(refusal: Refusal): string {
  return String(errorBody(refusal).error);
}
