import type { AccessAnswer, AccessDecision, AgentAsk, AskAnswer } from "../../agent/agent.ts";
import { sentenceOf } from "../../core/error.ts";
import type { AskId } from "../../core/id.ts";
import { type Access, guardReason, outcomeForAgent, whyRefused } from "../../core/policy/access.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import type { SessionEvent } from "../../core/session/event.ts";
import { COMPLETED, WITHDRAWN } from "../../core/session/reason.ts";
import type { SessionWorld } from "../world.ts";
import type { AskReports } from "./ask-reports.ts";

/**
 * What one agent waits for an answer to: its asks, and what it wants the server to do. How each of
 * them ends is decided by the session and told here; when the agent is let go of, all of them end.
 */
export class OpenAsks {
  readonly #ids: SessionWorld["ids"];
  readonly #reports: AskReports;
  readonly #asks = new Map<AskId, (answer: AskAnswer) => void>();
  readonly #accesses = new Map<AskId, (answer: AccessAnswer) => void>();
  #isOver = false;

  constructor(ids: SessionWorld["ids"], reports: AskReports) {
    this.#ids = ids;
    this.#reports = reports;
  }

  async ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer> {
    // One that comes after the farewell finds no session that would answer it.
    if (this.#isOver) return { outcome: CANCELLED };
    const requestId = this.#ids.ask();
    const ended = new Promise<AskAnswer>((resolve) => this.#asks.set(requestId, resolve));
    this.#watch(requestId, signal);
    // Whether it was taken may never be known, if the store is silent; its end comes all the same.
    void this.#reports.ask(requestId, ask).then((isTaken) => {
      if (!isTaken) this.answer(requestId, { outcome: CANCELLED });
    });
    const { outcome, ...answer } = await ended;
    return { ...answer, outcome: outcomeForAgent(ask, outcome) };
  }

  async access(access: Access, signal: AbortSignal): Promise<AccessDecision> {
    if (this.#isOver) return SESSION_OVER;
    const requestId = this.#ids.ask();
    const ended = new Promise<AccessAnswer>((resolve) => this.#accesses.set(requestId, resolve));
    this.#watch(requestId, signal);
    const heard = await Promise.race([this.#reports.access(requestId, access), ended]);
    if (heard === "people") return { people: ended };
    if (typeof heard === "object" && "code" in heard) {
      this.permitted(requestId, { allowed: false, reason: sentenceOf(heard).replace(/\.$/, "") });
    }
    return ended;
  }

  /** Something of an ask, perhaps of another agent's, is durable. */
  told(event: SessionEvent) {
    if (event.type === "permission_decided" || event.type === "permission_resolved") {
      const { requestId, outcome } = event.data;
      const answers = "answers" in event.data ? event.data.answers : undefined;
      const ended = "reason" in event.data ? { ended: event.data.reason } : {};
      const reason = "guard" in event.data && event.data.guard && guardReason(event.data.guard);
      this.answer(requestId, {
        outcome,
        ...(answers !== undefined && { answers }),
        ...(reason && { reason }),
        ...ended,
      });
      // A vote on an access is an event of its own.
      if (event.type === "permission_resolved" && event.data.reason !== "vote") {
        const end = event.data.reason;
        const reason = `the permission request for it ended without an answer (${end})`;
        this.permitted(requestId, { allowed: false, reason });
      }
    } else if (event.type === "agent_access") {
      const { requestId, allowed, by, guard } = event.data;
      this.permitted(requestId, { allowed, reason: whyRefused(by, guard) });
    }
  }

  /** An ask has ended, and this is how. */
  answer(requestId: AskId, answer: AskAnswer) {
    this.#asks.get(requestId)?.(answer);
    this.#asks.delete(requestId);
  }

  /** It is decided whether the server may do what the agent wants of it. */
  permitted(requestId: AskId, answer: AccessAnswer) {
    this.#accesses.get(requestId)?.(answer);
    this.#accesses.delete(requestId);
  }

  /** All of them, and those to come: the agent is let go of. */
  end() {
    this.#isOver = true;
    for (const requestId of [...this.#asks.keys()]) this.answer(requestId, { outcome: CANCELLED });
    for (const requestId of [...this.#accesses.keys()]) this.permitted(requestId, SESSION_OVER);
  }

  #watch(requestId: AskId, signal: AbortSignal) {
    const withdrawn = () => {
      const isOpen = this.#asks.has(requestId) || this.#accesses.has(requestId);
      if (isOpen) this.#reports.askWithdrawn(requestId, withdrawalOf(signal));
    };
    signal.addEventListener("abort", withdrawn, { once: true });
  }
}

function withdrawalOf({ reason }: AbortSignal) {
  return reason === WITHDRAWN || reason === COMPLETED ? reason : "agent_gone";
}

const SESSION_OVER: AccessAnswer = { allowed: false, reason: "the session is over" };
