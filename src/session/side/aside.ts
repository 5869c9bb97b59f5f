import type { ConnectRequest } from "../../agent/agent.ts";
import type { ContentBlock } from "../../core/agent-update.ts";
import type { UserId } from "../../core/id.ts";
import { ASIDE_MS_MAX, ASIDES_OPEN_MAX, BTW_QUESTION_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { pastOf } from "../conversation/index.ts";
import type { LiveSession } from "../live.ts";
import type { TurnCredit, TurnOrder } from "../meter/meter.ts";
import { turnOrder } from "../meter/session-credit.ts";
import type { SessionWorld } from "../world.ts";
import { ThrowAway } from "./throw-away.ts";

/**
 * What is asked beside a conversation: a recap of it, or a question by the way. A fresh session of
 * the same agent is told the conversation, answers, and is thrown away. Nothing of it reaches the
 * session or its streams; and of the store only the ledger, for it is paid for as a turn is.
 */
export class Asides {
  readonly #world: SessionWorld;
  readonly #open = new Map<LiveSession, Beside>();
  readonly #asked = new Set<Promise<unknown>>();
  readonly #stop = new AbortController();

  constructor(world: SessionWorld) {
    this.#world = world;
  }

  /** Where the conversation stands; null if it has not begun, or its agent cannot say. */
  recap(live: LiveSession, userId: UserId | null = null): Promise<Result<string | null>> {
    const { signal } = new AbortController();
    const content = [{ type: "text", text: RECAP }];
    return this.#begin(live, { content, needsPast: true, userId, signal });
  }

  /** The agent's answer; null if it has none. The signal ends it, as when its caller is gone. */
  btw(
    live: LiveSession,
    question: string,
    signal: AbortSignal,
    userId: UserId | null = null,
  ): Promise<Result<string | null>> {
    const content = [BTW, question].map((text) => ({ type: "text", text }));
    return this.#begin(live, { content, needsPast: false, userId, signal });
  }

  /** Whoever still waits has no answer, nothing is asked any more, and all of it is paid for. */
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
      const aside = new ThrowAway(this.#world, signal);
      const { turnId } = bill;
      const turn = { turnId, content: question.content, params: null };
      // The one before has answered, and is closed before the next begins.
      const order = this.#order(live, messageCount);
      beside.closed = beside.closed.then(() => aside.run(order, turn));
      const paid = this.#paid(live, bill, credit.value, aside);
      const answer = await aside.answer;
      // Who has an answer finds it in the account; who has none need not wait for the agent's end.
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
  #bill({ key, session }: LiveSession, { userId }: Question): TurnOrder {
    const turn = { turnId: this.#world.ids.turn(), userId };
    return { ...turnOrder(key, session, turn), isAside: true };
  }

  /** Charged when the agent has told what it used; given back if it never got the question. */
  #paid(live: LiveSession, bill: TurnOrder, credit: TurnCredit, aside: ThrowAway): Promise<void> {
    const { meter, tenants } = this.#world;
    const paid = aside.told.then(async () => {
      const { use } = aside;
      if (use !== null) {
        await live.credit.asideCharged(await meter.settleAside(bill, credit, use));
      } else if (credit.reservedMicro > 0) {
        await meter.giveBack(bill.key, bill.turnId);
      }
    });
    return this.#awaited(tenants.count(bill.key.tenantId, paid));
  }

  #order({ key, session }: LiveSession, messageCount: number): ConnectRequest {
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
      profile: session.chosen.activeAgent,
      // Whatever the session lets happen: what it asks for is refused, and unasked it would act.
      asks: true,
      workspace: session.fixed.workspaceCwd,
      cwd: session.chosen.currentCwd,
      mcpServers: [],
      systemPrompt: null,
      // Its own name would give it the session itself, and what is said aside would stay in it.
      past: messageCount === 0 ? null : { agentSessionId: null, messages },
    };
  }
}

/** What stands beside one session. */
interface Beside {
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

/** What is wrong with a question, in a sentence; null if nothing is. */
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
