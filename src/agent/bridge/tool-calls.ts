import type { AgentUpdate } from "../../core/agent-update.ts";
import { type JsonObject, stringAt, withoutNulls } from "../../core/json.ts";
import { AGENT_TOOL_CALLS_KNOWN_MAX } from "../../core/limits.ts";

/**
 * What an agent has said of its tool calls, so that an ask which names a call and says no more can
 * still be judged by what the call does. The oldest calls are forgotten first.
 */
export class KnownToolCalls {
  readonly #calls = new Map<string, JsonObject>();

  heard(update: AgentUpdate) {
    const { sessionUpdate, ...said } = update;
    if (sessionUpdate !== "tool_call" && sessionUpdate !== "tool_call_update") return;
    const id = stringAt(update, "toolCallId");
    if (id === null) return;
    const known = { ...this.#calls.get(id), ...withoutNulls(said) };
    this.#calls.delete(id);
    if (known.status === "completed" || known.status === "failed") return;
    this.#calls.set(id, known);
    const [oldest] = this.#calls.keys();
    if (this.#calls.size > AGENT_TOOL_CALLS_KNOWN_MAX && oldest !== undefined) {
      this.#calls.delete(oldest);
    }
  }

  get(toolCallId: string | null): JsonObject {
    return (toolCallId === null ? null : this.#calls.get(toolCallId)) ?? {};
  }

  clear() {
    this.#calls.clear();
  }
}
