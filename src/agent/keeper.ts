import type { TenantId } from "../core/id.ts";
import { AGENT_TRACES_MAX } from "../core/limits.ts";

/** What whoever runs agents sees of their processes and can do about them, tenant by tenant. */
export interface AgentKeeper {
  processes(tenantId: TenantId): readonly AgentProcessView[];
  /**
   * From now on no session is given to these processes: the unused end at once, the others with
   * their last session. Answers how many are of which kind.
   */
  restart(tenantId: TenantId, profile: string): AgentRestart;
  /** What processes of a profile wrote to their error output, those that run last. */
  logs(tenantId: TenantId, profile: string): readonly AgentLog[];
  /** Every line to and from agents, from now on, until it is called off. Null if too many read. */
  trace(tenantId: TenantId, reader: TraceReader): (() => void) | null;
}

export interface AgentProcessView {
  readonly profile: string;
  /** The server's own number for it; a trace has it too. */
  readonly process: number;
  /** Null while it is on its way. */
  readonly pid: number | null;
  readonly workspace: string;
  /** `closing` is one that gets no further sessions. */
  readonly state: "starting" | "ready" | "closing";
  readonly sessions: number;
  /** When it was last looked at. */
  readonly memoryBytes: number;
  readonly runsForMs: number;
}

export interface AgentRestart {
  readonly ended: number;
  readonly closing: number;
}

export interface AgentLog {
  readonly profile: string;
  readonly process: number;
  readonly pid: number;
  readonly isRunning: boolean;
  /** The end of it, without the secrets that the agent was given. */
  readonly text: string;
}

/** One line between the server and an agent. */
export interface WireLine {
  readonly atMs: number;
  /** As the server sees it: `in` is what an agent said. */
  readonly direction: "in" | "out";
  readonly profile: string;
  readonly process: number;
  readonly line: string;
}

/** Whoever reads a trace. It must not take long, and must not throw. */
export interface TraceReader {
  line(line: WireLine): void;
  /** There will be no more. */
  ended(): void;
}

/** Where the lines of one process go. */
export interface WireTap {
  readonly process: number;
  /** While nobody reads them, a line costs a look into a map. */
  readonly isRead: boolean;
  line(direction: WireLine["direction"], line: string): void;
}

/** Whose lines are read by whom. */
export class Traces {
  readonly #readers = new Map<TenantId, Set<TraceReader>>();
  #processes = 0;
  #isOver = false;

  /** For the next process, which gets its number here. */
  tap(tenantId: TenantId, profile: string): WireTap {
    this.#processes += 1;
    const process = this.#processes;
    const readers = () => this.#readers.get(tenantId) ?? [];
    return {
      process,
      get isRead() {
        return [...readers()].length > 0;
      },
      line(direction, line) {
        const told = { atMs: Date.now(), direction, profile, process, line };
        for (const reader of readers()) reader.line(told);
      },
    };
  }

  /** Null if as many read already as may. */
  read(tenantId: TenantId, reader: TraceReader): (() => void) | null {
    const readers = this.#readers.get(tenantId) ?? new Set();
    if (this.#isOver || readers.size >= AGENT_TRACES_MAX) return null;
    readers.add(reader);
    this.#readers.set(tenantId, readers);
    return () => {
      readers.delete(reader);
      if (readers.size === 0) this.#readers.delete(tenantId);
    };
  }

  /** Of a tenant that is no more. */
  endOf(tenantId: TenantId) {
    for (const reader of this.#readers.get(tenantId) ?? []) reader.ended();
    this.#readers.delete(tenantId);
  }

  end() {
    this.#isOver = true;
    for (const tenantId of [...this.#readers.keys()]) this.endOf(tenantId);
  }
}
