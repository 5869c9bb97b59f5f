import type { AgentExit } from "../../core/session/event.ts";

/** How a process ended, with the end of what it wrote to its error output. */
export type Gone = AgentExit & { readonly message: string };

export function describeExit({ exitCode, signalCode }: AgentExit): string {
  return signalCode === null ? `exit code ${exitCode ?? "unknown"}` : `signal ${signalCode}`;
}

/** The same with its last words, which usually are the reason. */
export function describeGone(gone: Gone): string {
  const exit = describeExit(gone);
  return gone.message === "" ? exit : `${exit}; it said: ${gone.message}`;
}
