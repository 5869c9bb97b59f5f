import type { PromptId } from "../../core/id.ts";
import type { ReplayEvent } from "../../core/replay/window.ts";
import type { SessionEvent } from "../../core/session/event.ts";
import { isoTime } from "./summary.ts";

/** How a prompt has ended, in the wire's four words (4.3). */
export interface PromptTerminal {
  readonly v: 1;
  readonly promptId: PromptId;
  readonly terminal: "completed" | "cancelled" | "error" | "interrupted";
  readonly code?: string;
  readonly stopReason?: string;
  readonly at: string;
}

/** The prompts among these events that have their verdict, in order. */
export function promptTerminals(events: readonly ReplayEvent[]): readonly PromptTerminal[] {
  return events.flatMap((event) => {
    const isVerdict = event.type === "turn_complete" || event.type === "turn_error";
    return isVerdict ? [terminalOf(event)] : [];
  });
}

function terminalOf(event: SessionEvent<"turn_complete" | "turn_error">): PromptTerminal {
  const { promptId } = event.data;
  const at = isoTime(event._meta.serverTimestamp);
  if (event.type === "turn_complete") {
    const { stopReason } = event.data;
    const terminal = stopReason === "cancelled" ? "cancelled" : "completed";
    return { v: 1, promptId, terminal, stopReason, at };
  }
  const { code } = event.data;
  if (!INTERRUPTED.has(code)) return { v: 1, promptId, terminal: "error", code, at };
  return { v: 1, promptId, terminal: "interrupted", code: "daemon_lost", at };
}

/** These prompts were at work when their server, or its store, failed. */
const INTERRUPTED: ReadonlySet<string> = new Set(["SERVER_RESTART", "STORE_FAILURE"]);
