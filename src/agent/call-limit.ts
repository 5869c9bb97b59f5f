import { AGENT_START_TIMES_MAX } from "../core/limits.ts";
import type { AgentProcess } from "./process/process.ts";

/** The timeout of a call: fixed, or longer while the agent is working. */
export type CallLimit = number | PatientLimit;

export interface PatientLimit {
  readonly ms: number;
  /** The most in all, even if the agent is working. */
  readonly msMax: number;
  /** Watches for a while whether the agent does anything. */
  isWorking(): Promise<boolean>;
}

/** A timeout that can be paused: an answer that the server does not read yet is not late. */
export class CallTimer {
  readonly #limit: CallLimit;
  readonly #late: (waitedMs: number) => void;
  readonly #msMax: number;
  #leftMs: number;
  /** The time that was added because the agent was working. */
  #addedMs = 0;
  #sinceMs = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Counts starts and stops, so that an outdated look at the agent has no effect. */
  #runs = 0;

  constructor(limit: CallLimit, late: (waitedMs: number) => void) {
    this.#limit = limit;
    this.#late = late;
    this.#leftMs = typeof limit === "number" ? limit : limit.ms;
    this.#msMax = typeof limit === "number" ? limit : limit.msMax;
  }

  run() {
    if (this.#timer !== null) return;
    this.#runs += 1;
    const run = this.#runs;
    this.#sinceMs = performance.now();
    this.#timer = setTimeout(() => void this.#passed(run), this.#leftMs);
  }

  stop() {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#runs += 1;
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#sinceMs));
  }

  /** Gives an agent that is working more time, up to the most. */
  async #passed(run: number): Promise<void> {
    const limit = this.#limit;
    if (typeof limit === "number") return this.#late(limit);
    while (limit.ms + this.#addedMs < this.#msMax) {
      const sinceMs = performance.now();
      const isWorking = await limit.isWorking();
      if (run !== this.#runs) return;
      if (!isWorking) break;
      this.#addedMs += Math.ceil(performance.now() - sinceMs);
    }
    this.#late(Math.min(limit.ms + this.#addedMs, this.#msMax));
  }
}

/**
 * For calls that agents are slow at when they have just started: `ms` if the agent is idle, and as
 * long as a start may take while it is working.
 */
export function patientLimit(
  ms: number,
  startMs: number,
  process: Pick<AgentProcess, "isWorking">,
): PatientLimit {
  const msMax = Math.max(ms, startMs * AGENT_START_TIMES_MAX);
  return { ms, msMax, isWorking: () => process.isWorking() };
}
