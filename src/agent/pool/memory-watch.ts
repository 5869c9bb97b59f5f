import { AGENT_MEMORY_LOOK_MS, AGENT_MEMORY_PAUSE_MS } from "../../core/limits.ts";
import { AgentProcess } from "../process/process.ts";
import type { PoolMember } from "./members.ts";

/**
 * Measures the memory of a pool's processes: of all at intervals, and of one that got a session
 * soon after. To find what belongs to an agent the whole list of processes has to be read, so that
 * is done once for all that are due, and after a pause.
 */
export class MemoryWatch {
  readonly #members: ReadonlySet<PoolMember>;
  readonly #measured: (member: PoolMember) => void;
  readonly #interval: NodeJS.Timeout;
  readonly #due = new Set<PoolMember>();
  #soon: NodeJS.Timeout | null = null;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(members: ReadonlySet<PoolMember>, measured: (member: PoolMember) => void) {
    this.#members = members;
    this.#measured = measured;
    this.#interval = setInterval(() => void this.#measureAll(), AGENT_MEMORY_LOOK_MS);
    this.#interval.unref();
  }

  /** It has got a session: measures it at once or, if others were measured just now, later. */
  grown(member: PoolMember) {
    this.#due.add(member);
    if (this.#soon !== null) return;
    const dueMs = this.#lastMs + AGENT_MEMORY_PAUSE_MS - performance.now();
    const measureDue = () => {
      this.#soon = null;
      const due = [...this.#due].filter((one) => this.#members.has(one));
      this.#due.clear();
      void this.#measureAndTell(due);
    };
    this.#soon = setTimeout(measureDue, Math.max(0, dueMs));
    this.#soon.unref();
  }

  /** Those that never were: a process that needs capacity waits for no others. */
  async measureNew(): Promise<void> {
    await this.#measure([...this.#members].filter(({ bytes }) => bytes === 0));
  }

  end() {
    clearInterval(this.#interval);
    if (this.#soon !== null) clearTimeout(this.#soon);
  }

  #measureAll(): Promise<void> {
    return this.#measureAndTell([...this.#members]);
  }

  async #measureAndTell(members: readonly PoolMember[]): Promise<void> {
    await this.#measure(members);
    for (const member of members) this.#measured(member);
  }

  async #measure(members: readonly PoolMember[]): Promise<void> {
    if (members.length === 0) return;
    this.#lastMs = performance.now();
    const bytes = await AgentProcess.memoryOf(members.map(({ host }) => host.process));
    for (const [index, member] of members.entries()) member.bytes = bytes?.[index] ?? 0;
  }
}
