import { SANDBOX_IDLE_MS_MAX, SANDBOX_PROVISIONING_MS_MAX } from "../limits.ts";
import type { Connection, SandboxState } from "../turn.ts";

/** All that a sandbox can be, as whoever runs it says. */
export const SANDBOX_STATES = [
  "none",
  "provisioning",
  "ready",
  "timed_out",
] as const satisfies readonly SandboxState[];

/**
 * When a sandbox counts as timed out if nothing is heard of it until then; null if never. A tool
 * call that is open is work, however long it says nothing.
 */
export function sandboxDueAtMs(connection: Connection): number | null {
  const { sandboxState, lastSandboxActivity, turn } = connection;
  if (lastSandboxActivity === null) return null;
  if (sandboxState === "provisioning") return lastSandboxActivity + SANDBOX_PROVISIONING_MS_MAX;
  const isIdle = sandboxState === "ready" && turn.pendingToolCalls.size === 0;
  return isIdle ? lastSandboxActivity + SANDBOX_IDLE_MS_MAX : null;
}
