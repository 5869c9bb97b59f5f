import type { AgentUpdate } from "../../core/agent-update.ts";
import { AGENT_QUEUE_CHARS_MAX } from "../../core/limits.ts";
import type { FaultLog } from "../fault.ts";

interface Heard {
  readonly update: AgentUpdate;
  readonly chars: number;
}

/**
 * What an agent sends again while it loads a session. The conversation is dropped, because our own
 * log is the truth; of what says how things are now, the latest of each kind is kept.
 */
export class Replay {
  readonly #states = new Map<string, Heard>();
  readonly #faults: FaultLog;

  constructor(faults: FaultLog) {
    this.#faults = faults;
  }

  heard(update: AgentUpdate, chars: number) {
    const { sessionUpdate } = update;
    if (!STATE_KINDS.has(sessionUpdate)) return;
    if (chars > AGENT_QUEUE_CHARS_MAX) this.#faults.add("dropped_update", sessionUpdate);
    else this.#states.set(sessionUpdate, { update, chars });
  }

  get states(): readonly Heard[] {
    return [...this.#states.values()];
  }
}

const STATE_KINDS: ReadonlySet<string> = new Set([
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
  "session_info_update",
  "usage_update",
]);
