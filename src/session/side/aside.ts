import type { AgentOrder } from "../../agent/agent.ts";
import type { ContentBlock } from "../../core/agent-update.ts";
import { ASIDE_MS_MAX, ASIDES_OPEN_MAX, BTW_QUESTION_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { pastOf } from "../conversation/index.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";
import { ThrowAway } from "./throw-away.ts";

/**
 * What is asked beside a conversation: a recap of it, or a question by the way. A fresh session of
 * the same agent is told the conversation, answers, and is thrown away. Nothing of it reaches the
 * session, its streams or the store.
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
  recap(live: LiveSession): Promise<Result<string | null>> {
    const { signal } = new AbortController();
    return this.#begin(live, { content: [{ type: "text", text: RECAP }], needsPast: true, signal });
  }

  /** The agent's answer; null if it has none. The signal ends it, as when its caller is gone. */
  btw(live: LiveSession, question: string, signal: AbortSignal): Promise<Result<string | null>> {
    const content = [BTW, question].map((text) => ({ type: "text", text }));
    return this.#begin(live, { content, needsPast: false, signal });
  }

  /** Whoever still waits has no answer, and nothing is asked any more. */
  async end(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#asked);
  }

  #begin(live: LiveSession, question: Question): Promise<Result<string | null>> {
    if (this.#stop.signal.aborted) return Promise.resolve(fail("server_stopping"));
    const asked = this.#ask(live, question).finally(() => this.#asked.delete(asked));
    this.#asked.add(asked);
    return asked;
  }

  async #ask(
    live: LiveSession,
    { content, needsPast, signal: caller }: Question,
  ): Promise<Result<string | null>> {
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
      if (needsPast && messageCount === 0) return ok(null);
      const order = this.#order(live, messageCount);
      const signal = AbortSignal.any([caller, late.signal, this.#stop.signal]);
      const aside = new ThrowAway(this.#world, signal);
      // The one before has answered, and is closed before the next begins.
      beside.closed = beside.closed.then(() => aside.run(order, content));
      return ok(await aside.answer);
    } finally {
      callOff();
      beside.asking -= 1;
      void beside.closed.then(() => {
        if (beside.asking === 0) this.#open.delete(live);
      });
    }
  }

  #order({ key, session }: LiveSession, messageCount: number): AgentOrder {
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
