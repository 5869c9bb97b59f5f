import type { Refusal } from "../../core/error.ts";
import {
  AGENT_BACKOFF_MS_MAX,
  AGENT_BACKOFF_MS_MIN,
  AGENT_BREAKERS_MAX,
  AGENT_FAILURES_MAX,
  HEALTH_BREAKER_MS_MAX,
} from "../../core/limits.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { AgentOffer, ConnectRequest } from "../agent.ts";
import { isRestoreMethod } from "../bridge/session-opening.ts";
import type { FailingAgent } from "../keeper.ts";

/**
 * Keeps an agent that cannot start from being started over and over. The first failures only make
 * the next start wait. After several in a row a start is refused, with the reason and the time of
 * the next try.
 */
export class Breaker {
  #failures = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #notBeforeMs = 0;
  #reason = "";

  /** Starts that began together and failed alike count as one failure. */
  failed(reason: string, begunMs: number, nowMs: number) {
    this.#reason = reason;
    if (begunMs < this.#lastMs) return;
    this.#lastMs = nowMs;
    this.#failures += 1;
    const doubled = AGENT_BACKOFF_MS_MIN * 2 ** Math.min(this.#failures - 1, DOUBLINGS_MAX);
    this.#notBeforeMs = nowMs + Math.min(doubled, AGENT_BACKOFF_MS_MAX);
  }

  /** How often the agent failed, if it is given up on and failed within this time; else null. */
  openSince(nowMs: number, withinMs: number) {
    const isOpen = this.#failures >= AGENT_FAILURES_MAX && nowMs - this.#lastMs <= withinMs;
    return isOpen ? { failures: this.#failures, reason: this.#reason } : null;
  }

  /** Whether a start may begin now, has to wait, or is refused. */
  advice(nowMs: number): StartAdvice {
    const waitMs = Math.max(0, Math.ceil(this.#notBeforeMs - nowMs));
    if (waitMs === 0) return { kind: "start" };
    if (this.#failures < AGENT_FAILURES_MAX) return { kind: "wait", waitMs };
    return { kind: "refuse", failures: this.#failures, retryMs: waitMs, reason: this.#reason };
  }
}

export type StartAdvice =
  | { readonly kind: "start" }
  | { readonly kind: "wait"; readonly waitMs: number }
  | {
      readonly kind: "refuse";
      readonly failures: number;
      readonly retryMs: number;
      readonly reason: string;
    };

/** Enough to reach any limit, and few enough for the range of numbers. */
const DOUBLINGS_MAX = 20;

/** One breaker for each key of the pool. The least recently used is evicted. */
export class Breakers {
  readonly #breakers = new BoundedMap<string, Breaker>(AGENT_BREAKERS_MAX);

  of(key: string): Breaker {
    const breaker = this.#breakers.get(key) ?? new Breaker();
    this.#breakers.set(key, breaker);
    return breaker;
  }

  /** The agents that are given up on for now. One that runs steadily was not asked for since. */
  failing(nowMs: number, isSteady: (key: string) => boolean): readonly FailingAgent[] {
    return [...this.#breakers].flatMap(([key, breaker]) => {
      const open = breaker.openSince(nowMs, HEALTH_BREAKER_MS_MAX);
      if (open === null || isSteady(key)) return [];
      const [tenantId, profile, workspace] = JSON.parse(key);
      return [{ tenantId, profile, workspace, ...open }];
    });
  }

  /** An agent that has been running for a while has no failures any more. */
  forgive(key: string) {
    this.#breakers.delete(key);
  }

  /** The same for all keys with this prefix. */
  forgiveAll(prefix: string) {
    for (const key of [...this.#breakers.keys()]) {
      if (key.startsWith(prefix)) this.forgive(key);
    }
  }
}

/** A session's attempt to connect, over all of its retries. */
export class ConnectAttempt {
  #request: ConnectRequest;
  #skipped: AgentOffer["skipped"] = [];
  #hasRetried = false;

  constructor(request: ConnectRequest) {
    this.#request = request;
  }

  get request(): ConnectRequest {
    return this.#request;
  }

  get skipped(): AgentOffer["skipped"] {
    return this.#skipped;
  }

  /**
   * An agent that died of restoring the session does not restore it again: the next one gets the
   * conversation as text (P6). A process that was shared, or is older, may have been about to end
   * or have hung, so that is worth one retry.
   */
  mayRetry({ code, details }: Refusal, isOwn: boolean): boolean {
    if (code !== "agent_gone" && code !== "agent_call_timeout") return false;
    const { past } = this.#request;
    if (past !== null && past.agentSessionId !== null && isRestoreMethod(details.method)) {
      const what = "the agent's own memory of this session";
      const reason = `it ended at ${details.method} (${details.exit})`;
      this.#skipped = [...this.#skipped, { what, reason }];
      this.#request = { ...this.#request, past: { ...past, agentSessionId: null } };
      return true;
    }
    if (isOwn || this.#hasRetried) return false;
    this.#hasRetried = true;
    return true;
  }
}
