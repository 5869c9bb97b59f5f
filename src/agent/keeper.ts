import type { TenantId } from "../core/id.ts";
import type { TraceReader } from "./trace.ts";

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
