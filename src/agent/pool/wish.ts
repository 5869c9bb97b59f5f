import type { Refusal } from "../../core/error.ts";
import type { AgentOffer, AgentOrder } from "../agent.ts";
import { diedOfRestoring } from "../bridge/arrive.ts";

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
