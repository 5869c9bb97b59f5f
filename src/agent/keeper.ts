import type { TenantId } from "../core/id.ts";
import { AGENT_TRACES_MAX } from "../core/limits.ts";
import type { OwnAgentCalls } from "./agent.ts";

/** What an operator sees of a tenant's agent processes, and can do with them. */
export interface AgentKeeper {
  /** What agents are asked outside of sessions. */
  readonly calls: OwnAgentCalls;
  processes(tenantId: TenantId): readonly AgentProcessView[];
  /**
   * Gives no further session to these processes: the unused end at once, the others with their
   * last session. Returns how many there are of each kind.
   */
  restart(tenantId: TenantId, profile: string): AgentRestart;
  /** The agents that are not started for now because they failed again and again. */
  failing(): readonly FailingAgent[];
  /** The error output of a profile's processes, ended ones before running ones. */
  logs(tenantId: TenantId, profile: string): readonly AgentLog[];
  /** Passes on every line until the returned function is called. Null if too many read. */
  trace(tenantId: TenantId, reader: TraceReader): (() => void) | null;
}

export interface AgentProcessView {
  readonly profile: string;
  /** The server's own number for the process, which traces have too. */
  readonly process: number;
  /** Null while it starts. */
  readonly pid: number | null;
  readonly workspace: string;
  /** A `closing` process gets no further sessions. */
  readonly state: "starting" | "ready" | "closing";
  readonly sessions: number;
  /** As last measured. */
  readonly memoryBytes: number;
  readonly runsForMs: number;
}

/** An agent whose starts failed, for one tenant and workspace. */
export interface FailingAgent {
  readonly tenantId: TenantId;
  readonly profile: string;
  readonly workspace: string;
  readonly failures: number;
  /** Why it failed last, as its clients were told. */
  readonly reason: string;
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
  /** The end of the output, without the secrets of the agent's environment. */
  readonly text: string;
}

/** One line between the server and an agent. */
export interface WireLine {
  readonly atMs: number;
  /** As the server sees it: `in` comes from the agent. */
  readonly direction: "in" | "out";
  readonly profile: string;
  readonly process: number;
  readonly line: string;
}

/** Reads a trace. Its calls must be fast, and must not throw. */
export interface TraceReader {
  line(line: WireLine): void;
  /** No further line comes. */
  ended(): void;
}

/** Takes the lines of one process for its readers. */
export interface WireTap {
  readonly process: number;
  /** False if there is no reader, so that a line costs only a lookup. */
  readonly isRead: boolean;
  line(direction: WireLine["direction"], line: string): void;
}

/** The readers of each tenant's traces. */
export class Traces {
  readonly #readers = new Map<TenantId, Set<TraceReader>>();
  #processes = 0;
  #isOver = false;

  /** The tap of the next process, which gets its number here. */
  tap(tenantId: TenantId, profile: string): WireTap {
    this.#processes += 1;
    const process = this.#processes;
    const readers = this.#readers;
    return {
      process,
      get isRead() {
        return readers.has(tenantId);
      },
      line(direction, line) {
        const traced = { atMs: Date.now(), direction, profile, process, line };
        for (const reader of readers.get(tenantId) ?? []) reader.line(traced);
      },
    };
  }

  /** Null if there are too many readers. */
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

  /** Ends the traces of a tenant that is deleted. */
  endOf(tenantId: TenantId) {
    for (const reader of this.#readers.get(tenantId) ?? []) reader.ended();
    this.#readers.delete(tenantId);
  }

  end() {
    this.#isOver = true;
    for (const tenantId of [...this.#readers.keys()]) this.endOf(tenantId);
  }
}
