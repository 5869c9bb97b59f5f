import { totalmem } from "node:os";
import { AGENT_MEMORY_PERCENT_MAX } from "../../core/limits.ts";

const MEBIBYTE = 1_024 * 1_024;

/** What all agents together may take: what was chosen, else their share; null is no limit. */
export function agentMemoryBytes(chosenMb: number | null, machineBytes: number): number | null {
  if (chosenMb === 0) return null;
  if (chosenMb !== null) return chosenMb * MEBIBYTE;
  return Math.floor((machineBytes / 100) * AGENT_MEMORY_PERCENT_MAX);
}

/** What there is: in a container what that may have, where the system tells. */
export function memoryOfMachine(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}
