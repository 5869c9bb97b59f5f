import type {
  AccessAnswer,
  AgentListener,
  AgentSession,
  AgentTurn,
  AskAnswer,
  ConnectRequest,
} from "../../agent/agent.ts";
import { type AgentUpdate, chunkText, parentToolCallId } from "../../core/agent-update.ts";
import type { TurnId } from "../../core/id.ts";
import { ASIDE_ANSWER_CHARS_MAX } from "../../core/limits.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import { ASKING_UNKNOWN } from "../../core/policy/asking.ts";
import { isTokenUsage, mostTokens, NO_TOKENS } from "../../core/price.ts";
import { cutText } from "../../core/text.ts";
import type { ContextUsage } from "../../core/turn.ts";
import { agentModes } from "../choice/agent-modes.ts";
import type { AsideUse } from "../meter/meter.ts";
import type { SessionWorld } from "../world.ts";

/** Turns that end so have no answer, whatever was said before. */
const WITHOUT_ANSWER: ReadonlySet<string> = new Set(["cancelled", "refusal"]);

const NOTHING_USED: AsideUse = { model: null, tokens: NO_TOKENS };

/**
 * An agent session for one question. What it says is heard here and nowhere else; whatever it asks
 * for is refused; and it touches no file and no terminal, because nothing of it is recorded.
 */
export class ThrowAway implements AgentListener {
  /** What the agent said in all, when its turn has ended well; else null. */
  readonly answer: Promise<string | null>;
  /** Resolves when it has told all that it tells: with its verdict, or when it is let go of. */
  readonly told: Promise<void>;
  readonly #world: SessionWorld;
  readonly #signal: AbortSignal;
  #settle: (answer: string | null) => void = () => {};
  #toldAll: () => void = () => {};
  #said = "";
  #use: AsideUse | null = null;

  constructor(world: SessionWorld, signal: AbortSignal) {
    this.#world = world;
    this.#signal = signal;
    this.answer = new Promise((settle) => {
      this.#settle = settle;
    });
    this.told = new Promise((resolve) => {
      this.#toldAll = resolve;
    });
    signal.addEventListener("abort", () => this.#settle(null));
    if (signal.aborted) this.#settle(null);
  }

  /** What it has used so far; null if the agent never got the question. */
  get use(): AsideUse | null {
    return this.#use;
  }

  /** Answers when the agent session is closed, which may be later than the answer. */
  async run(order: ConnectRequest, turn: AgentTurn): Promise<void> {
    try {
      await this.#ask(order, turn);
    } finally {
      this.#settle(null);
      this.#toldAll();
    }
  }

  async #ask(order: ConnectRequest, turn: AgentTurn): Promise<void> {
    const signal = this.#signal;
    if (signal.aborted) return;
    const connected = await this.#world.agents.connect(order, this, signal);
    if (!connected.ok) return;
    const session = connected.value;
    const asks = await this.#setToAsk(session, order.profile);
    if (asks && !signal.aborted && session.prompt(turn).ok) this.#use ??= NOTHING_USED;
    else this.#settle(null);
    await this.answer;
    await session.close();
  }

  /** False if it does not go into the mode, or take the options, in which it asks. */
  async #setToAsk(session: AgentSession, profile: string): Promise<boolean> {
    const { mode, options } = this.#world.settings.asking.get(profile) ?? ASKING_UNKNOWN;
    const { current, ids } = agentModes(session.offer);
    for (const [id, value] of Object.entries(options)) {
      if (!(await session.setConfigOption(id, value)).ok) return false;
    }
    const isElse = mode !== null && ids.includes(mode) && current !== mode;
    return !isElse || (await session.setMode(mode)).ok;
  }

  connected() {}

  status(report: Parameters<AgentListener["status"]>[0]) {
    const { status } = report;
    if (status === "turn_complete" || status === "turn_error") this.#toldAll();
    if (status === "turn_complete") {
      const text = this.#world.redact(this.#said).trim();
      this.#settle(text === "" || WITHOUT_ANSWER.has(report.stopReason) ? null : text);
    } else if (status === "turn_error" || status === "error") {
      this.#settle(null);
    }
  }

  update(update: AgentUpdate): undefined {
    const isOurs =
      update.sessionUpdate === "agent_message_chunk" && parentToolCallId(update) === null;
    const text = isOurs ? chunkText(update) : null;
    if (text !== null) this.#said = cutText(this.#said + text, ASIDE_ANSWER_CHARS_MAX);
  }

  /** A later report never takes back an earlier one, as in a turn. */
  usage(_: TurnId, { model, tokens }: ContextUsage) {
    if (!isTokenUsage(tokens)) return;
    const before = this.#use ?? NOTHING_USED;
    this.#use = { model: model ?? before.model, tokens: mostTokens(before.tokens, tokens) };
  }

  async ask(): Promise<AskAnswer> {
    return { outcome: CANCELLED };
  }

  async access(): Promise<AccessAnswer> {
    return { allowed: false, reason: "an aside acts on nothing" };
  }

  exit() {
    this.#settle(null);
    this.#toldAll();
  }

  /** An act that cannot be recorded does not happen. */
  async audit(): Promise<void> {
    throw new Error("a throw-away session acts on nothing");
  }
}
