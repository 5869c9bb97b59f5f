import { AGENT_BACKOFF_MS_MAX, AGENT_BACKOFF_MS_MIN, AGENT_BREAKERS_MAX, AGENT_FAILURES_MAX } from "../../core/limits.ts";
import type { Refusal } from "../../core/error.ts";
import type { AgentOffer, AgentOrder } from "../agent.ts";
import { diedOfRestoring } from "../bridge/arrive.ts";

/**
 * Keeps an agent that cannot be started from being started over and over. The first failures only
 * make the next try wait; after some in a row nobody waits any more, but is told why there is no
 * agent and when the next try may be made.
 */
export class Breaker {
  #failures = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #notBeforeMs = 0;
  #reason = "";

  /** Several that were begun together and failed alike are one failure, not several in a row. */
  failed(reason: string, begunMs: number, nowMs: number) {
    this.#reason = reason;
    if (begunMs < this.#lastMs) return;
    this.#lastMs = nowMs;
    this.#failures += 1;
    const doubled = AGENT_BACKOFF_MS_MIN * 2 ** Math.min(this.#failures - 1, DOUBLINGS_MAX);
    this.#notBeforeMs = nowMs + Math.min(doubled, AGENT_BACKOFF_MS_MAX);
  }

  /** What a start has to do now: go on at once, wait a moment, or not be made at all. */
  advice(nowMs: number): Advice {
    const waitMs = Math.max(0, this.#notBeforeMs - nowMs);
    if (waitMs === 0) return { kind: "start" };
    if (this.#failures < AGENT_FAILURES_MAX) return { kind: "wait", waitMs };
    return { kind: "refuse", failures: this.#failures, retryMs: waitMs, reason: this.#reason };
  }
}

export type Advice =
  | { readonly kind: "start" }
  | { readonly kind: "wait"; readonly waitMs: number }
  | {
      readonly kind: "refuse";
      readonly failures: number;
      readonly retryMs: number;
      readonly reason: string;
    };

/** Far enough to reach any limit, and no further than numbers go. */
const DOUBLINGS_MAX = 20;

/** One for each place; what has not been used for longest is forgiven first. */
export class Breakers {
  readonly #breakers = new Map<string, Breaker>();

  of(place: string): Breaker {
    const breaker = this.#breakers.get(place) ?? new Breaker();
    this.#breakers.delete(place);
    this.#breakers.set(place, breaker);
    const [oldest] = this.#breakers.keys();
    if (this.#breakers.size > AGENT_BREAKERS_MAX && oldest !== undefined) this.forgive(oldest);
    return breaker;
  }

  /** An agent that has been running for a while has made good for what was before. */
  forgive(place: string) {
    this.#breakers.delete(place);
  }

  /** The same for all whose names begin like this. */
  forgiveAll(beginning: string) {
    for (const place of [...this.#breakers.keys()]) {
      if (place.startsWith(beginning)) this.forgive(place);
    }
  }
}

/** What one session wants, and what has come of it so far. */
export class Wish {
  #order: AgentOrder;
  #skipped: AgentOffer["skipped"] = [];
  #wasUnlucky = false;

  constructor(order: AgentOrder) {
    this.#order = order;
  }

  get order(): AgentOrder {
    return this.#order;
  }

  get skipped(): AgentOffer["skipped"] {
    return this.#skipped;
  }

  /**
   * An agent that died of remembering is not asked to again: the next one is told (P6). And whoever
   * came to a process that others use, or used before, may have come to its end, or found it hung;
   * once is bad luck.
   */
  mayTryAgain({ code, details }: Refusal, isOwn: boolean): boolean {
    if (code !== "agent_gone" && code !== "agent_call_timeout") return false;
    const { past } = this.#order;
    if (past !== null && past.agentSessionId !== null && diedOfRestoring(details.method)) {
      const what = "the agent's own memory of this session";
      const reason = `it ended at ${details.method} (${details.exit})`;
      this.#skipped = [...this.#skipped, { what, reason }];
      this.#order = { ...this.#order, past: { ...past, agentSessionId: null } };
      return true;
    }
    if (isOwn || this.#wasUnlucky) return false;
    this.#wasUnlucky = true;
    return true;
  }
}
