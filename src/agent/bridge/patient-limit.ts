import { AGENT_START_TIMES_MAX } from "../../core/limits.ts";
import type { PatientLimit } from "../patience.ts";
import type { AgentProcess } from "../process/process.ts";

/**
 * For calls that agents are slow at when they have just been started: so long if the agent does
 * nothing, and as long as a start may take if it is at work.
 */
export function patientLimit(
  ms: number,
  startMs: number,
  process: Pick<AgentProcess, "isAtWork">,
): PatientLimit {
  const msMax = Math.max(ms, startMs * AGENT_START_TIMES_MAX);
  return { ms, msMax, isAtWork: () => process.isAtWork() };
}
