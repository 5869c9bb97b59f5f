import type {
  AccessAnswer,
  AgentListener,
  AgentTurn,
  AskAnswer,
  ConnectRequest,
} from "../../agent/agent.ts";
import type { AgentUpdate, ContentBlock } from "../../core/agent-update.ts";
import type { TurnId, UserId } from "../../core/id.ts";
import {
  ASIDE_ANSWER_CHARS_MAX,
  ASIDE_MS_MAX,
  ASIDES_OPEN_MAX,
  BTW_QUESTION_CHARS_MAX,
} from "../../core/limits.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import { isCount, isTokenUsage, NO_TOKENS } from "../../core/price.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { UsageSuspicion } from "../../core/session/credit-event.ts";
import { cutText } from "../../core/text.ts";
import type { ContextUsage } from "../../core/turn.ts";
import { mergedUsage } from "../../core/turn-cost.ts";
import { pastOf } from "../conversation/past.ts";
import type { LiveSession } from "../live.ts";
import type { AsideUse, ReservationRequest, TurnCredit } from "../meter/meter.ts";
import { reservationRequest } from "../meter/reservation-request.ts";
import type { SessionWorld } from "../world.ts";
import { ownWords, setThrowAway } from "./throw-away.ts";

/**
 * What is asked beside a conversation: a recap of it, or a question by the way. A fresh session of
 * the same agent receives the conversation, answers, and is closed. Nothing of it reaches the
 * session or its streams; and of the store only the ledger, for it is paid for as a turn is.
 */
export class Asides {
  readonly #world: SessionWorld;
  readonly #open = new Map<LiveSession, SessionAsides>();
  readonly #asked = new Set<Promise<unknown>>();
  readonly #stop = new AbortController();

  constructor(world: SessionWorld) {
    this.#world = world;
  }

  /** Asks for a recap; null if the conversation has not begun, or the agent has no answer. */
  recap(live: LiveSession, userId: UserId | null = null): Promise<Result<string | null>> {
    const { signal } = new AbortController();
    const content = [{ type: "text", text: RECAP }];
    return this.#begin(live, { content, needsPast: true, userId, signal });
  }

  /** Returns the agent's answer; null if it has none. The signal ends the aside. */
  btw(
    live: LiveSession,
    question: string,
    signal: AbortSignal,
    userId: UserId | null = null,
  ): Promise<Result<string | null>> {
    const content = [BTW, question].map((text) => ({ type: "text", text }));
    return this.#begin(live, { content, needsPast: false, userId, signal });
  }

  /** Ends all asides: waiting callers get no answer, and what was used is charged. */
  async end(): Promise<void> {
    this.#stop.abort();
    while (this.#asked.size > 0) await Promise.all(this.#asked);
  }

  #begin(live: LiveSession, question: Question): Promise<Result<string | null>> {
    if (this.#stop.signal.aborted) return Promise.resolve(fail("server_stopping"));
    return this.#awaited(this.#ask(live, question));
  }

  /** The end of all asides waits for it. */
  #awaited<Value>(work: Promise<Value>): Promise<Value> {
    const awaited = work.finally(() => this.#asked.delete(awaited));
    this.#asked.add(awaited);
    return awaited;
  }

  async #ask(live: LiveSession, question: Question): Promise<Result<string | null>> {
    const beside = this.#open.get(live) ?? { asking: 0, closed: Promise.resolve() };
    if (beside.asking >= ASIDES_OPEN_MAX) return fail("agent_busy");
    beside.asking += 1;
    this.#open.set(live, beside);
    const late = new AbortController();
    const callOff = this.#world.clock.after(ASIDE_MS_MAX, () => late.abort());
    try {
      const record = await this.#world.store.readRecord(live.key);
      if (!record.ok) return record;
      const { messageCount } = record.value;
      if (question.needsPast && messageCount === 0) return ok(null);
      const bill = this.#bill(live, question);
      const credit = await this.#world.meter.reserve(bill);
      if (!credit.ok) return credit;
      const signal = AbortSignal.any([question.signal, late.signal, this.#stop.signal]);
      const aside = new AsideSession(this.#world, signal);
      const { turnId } = bill;
      const turn = { turnId, content: question.content, params: null };
      // The one before has answered, and is closed before the next begins.
      const request = this.#connectRequest(live, messageCount);
      const { modelId } = live.session.chosen.modelConfig;
      beside.closed = beside.closed.then(() => aside.run(request, turn, modelId));
      const paid = this.#paid(live, bill, credit.value, aside);
      const answer = await aside.answer;
      // With an answer, the charge is in the account; without one, the caller need not wait.
      if (answer !== null) await paid;
      return ok(answer);
    } finally {
      callOff();
      beside.asking -= 1;
      void beside.closed.then(() => {
        if (beside.asking === 0) this.#open.delete(live);
      });
    }
  }

  /** As for a turn of the session, beside which it is. */
  #bill({ key, session }: LiveSession, { userId }: Question): ReservationRequest {
    const turn = { turnId: this.#world.ids.turn(), userId };
    return { ...reservationRequest(key, session, turn), isAside: true };
  }

  /** Charges what the agent reports as used; releases the credits if it never got the question. */
  #paid(
    live: LiveSession,
    bill: ReservationRequest,
    credit: TurnCredit,
    aside: AsideSession,
  ): Promise<void> {
    const { meter, tenants } = this.#world;
    const paid = aside.reported.then(async () => {
      const { use } = aside;
      if (use !== null) {
        await live.credit.asideCharged(await meter.settleAside(bill, credit, use));
      } else if (credit.reservedMicro > 0) {
        await meter.giveBack(bill.key, bill.turnId);
      }
    });
    return this.#awaited(tenants.count(bill.key.tenantId, paid));
  }

  #connectRequest({ key, session }: LiveSession, messageCount: number): ConnectRequest {
    const { store, log } = this.#world;
    const messages = () =>
      pastOf({
        messageCount,
        read: (range) => store.readMessages(key, range),
        missed: (reason) =>
          log("message not told to the agent", { sessionId: key.sessionId, reason }),
      });
    return {
      tenantId: key.tenantId,
      userId: session.fixed.createdBy ?? null,
      profile: session.chosen.activeAgent,
      // In any security mode: what it asks for is refused, and unasked it would act.
      asks: true,
      workspace: session.fixed.workspaceCwd,
      cwd: session.chosen.currentCwd,
      mcpServers: [],
      systemPrompt: null,
      // Its own id would load the session itself, and the aside would stay in it.
      past: messageCount === 0 ? null : { agentSessionId: null, messages },
    };
  }
}

/** The asides of one session. */
interface SessionAsides {
  /** How many have no answer yet. */
  asking: number;
  closed: Promise<void>;
}

interface Question {
  readonly content: readonly ContentBlock[];
  /** Whether it means nothing without a conversation. */
  readonly needsPast: boolean;
  /** Who asks, and pays for it. */
  readonly userId: UserId | null;
  readonly signal: AbortSignal;
}

/** Says in a sentence what is wrong with a question; null if nothing is. */
export function questionFault(question: string): string | null {
  const isFine = question.trim() !== "" && question.length <= BTW_QUESTION_CHARS_MAX;
  return isFine ? null : `A question has 1 to ${BTW_QUESTION_CHARS_MAX} characters.`;
}

const RULES =
  "Answer from what you know and from the conversation so far. Use no tools, change nothing, and " +
  "ask nothing back. Your answer does not become part of the conversation.";

const RECAP =
  "I have been away from this conversation. In at most three short sentences, tell me what it is " +
  `about, where the work stands and what comes next. ${RULES} Say the recap and nothing else, in ` +
  "the language of the conversation.";

const BTW = `A question by the way, to be answered briefly. ${RULES}`;

/** Turns with these stop reasons have no answer, even if the agent wrote text. */
const WITHOUT_ANSWER: ReadonlySet<string> = new Set(["cancelled", "refusal"]);

const NOTHING_USED: AsideUse = { model: null, tokens: NO_TOKENS, figures: "none" };

/**
 * An agent session for one question. Its text is received only here; all that it asks for is
 * refused; and it touches no file and no terminal, because nothing of it is recorded.
 */
export class AsideSession implements AgentListener {
  /** All text of the agent, when its turn has ended well; else null. */
  readonly answer: Promise<string | null>;
  /** Resolves when the agent has reported all its usage: with its verdict, or when it ends. */
  readonly reported: Promise<void>;
  readonly #world: SessionWorld;
  readonly #signal: AbortSignal;
  #settle: (answer: string | null) => void = () => {};
  #allReported: () => void = () => {};
  #text = "";
  #use: AsideUse | null = null;
  readonly #suspected = new Set<UsageSuspicion["reason"]>();

  constructor(world: SessionWorld, signal: AbortSignal) {
    this.#world = world;
    this.#signal = signal;
    this.answer = new Promise((settle) => {
      this.#settle = settle;
    });
    this.reported = new Promise((resolve) => {
      this.#allReported = resolve;
    });
    signal.addEventListener("abort", () => this.#settle(null));
    if (signal.aborted) this.#settle(null);
  }

  /** What it has used so far; null if the agent never got the question. */
  get use(): AsideUse | null {
    return this.#use;
  }

  /** Answers when the agent session is closed, which may be later than the answer. */
  async run(
    request: ConnectRequest,
    turn: AgentTurn,
    modelId: string | null = null,
  ): Promise<void> {
    try {
      await this.#ask(request, turn, modelId);
    } finally {
      this.#settle(null);
      this.#allReported();
    }
  }

  async #ask(request: ConnectRequest, turn: AgentTurn, modelId: string | null): Promise<void> {
    const signal = this.#signal;
    if (signal.aborted) return;
    const connected = await this.#world.agents.connect(request, this, signal);
    if (!connected.ok) return;
    const session = connected.value;
    // Under a policy an aside has the session's model.
    const model = this.#world.policies === undefined ? null : modelId;
    const why = await setThrowAway(this.#world, session, request, model);
    if (why === null && !signal.aborted && session.prompt(turn).ok) this.#use ??= NOTHING_USED;
    else this.#settle(null);
    await this.answer;
    await session.close();
  }

  connected() {}

  status(report: Parameters<AgentListener["status"]>[0]) {
    const { status } = report;
    if (status === "turn_complete" || status === "turn_error") this.#allReported();
    if (status === "turn_complete") {
      const text = this.#world.redact(this.#text).trim();
      this.#settle(text === "" || WITHOUT_ANSWER.has(report.stopReason) ? null : text);
    } else if (status === "turn_error" || status === "error") {
      this.#settle(null);
    }
  }

  update(update: AgentUpdate): undefined {
    const text = ownWords(update);
    if (text !== null) this.#text = cutText(this.#text + text, ASIDE_ANSWER_CHARS_MAX);
  }

  /** A later report never takes back an earlier one, as in a turn. */
  usage(_: TurnId, { used: _used, size: _size, ...later }: ContextUsage) {
    if (!isTokenUsage(later.tokens) || !isCount(later.costMicro ?? 0)) return;
    const before = this.#use ?? NOTHING_USED;
    this.#use = mergedUsage(before, { ...later, model: later.model ?? before.model });
  }

  /** Each reason once. */
  usageSuspect({ reason, detail }: UsageSuspicion) {
    if (this.#suspected.has(reason)) return;
    this.#suspected.add(reason);
    this.#world.log("usage suspect", { because: reason, said: detail });
  }

  async ask(): Promise<AskAnswer> {
    return { outcome: CANCELLED };
  }

  async access(): Promise<AccessAnswer> {
    return { allowed: false, reason: "an aside acts on nothing" };
  }

  async takeMessages() {
    return [];
  }

  hasQueuedPrompt() {
    return false;
  }

  exit() {
    this.#settle(null);
    this.#allReported();
  }

  /** An act that cannot be recorded does not happen. */
  async audit(): Promise<void> {
    throw new Error("a throw-away session acts on nothing");
  }
}
