import type { AgentUpdate } from "../../core/agent-update.ts";
import { isObject, type JsonObject, objectAt, stringAt, withoutNulls } from "../../core/json.ts";
import { AGENT_TOOL_CALLS_KNOWN_CHARS_MAX, AGENT_TOOL_CALLS_KNOWN_MAX } from "../../core/limits.ts";

/**
 * What an agent has said of its tool calls, so that an ask which names a call and says no more can
 * still be judged by what the call does. The oldest calls are forgotten first.
 */
export class KnownToolCalls {
  readonly #calls = new Map<string, JsonObject>();
  /** No less than what they take: a field that is said again is counted again, until it matters. */
  #chars = 0;

  heard(update: AgentUpdate, chars: number) {
    const { sessionUpdate, ...said } = update;
    if (sessionUpdate !== "tool_call" && sessionUpdate !== "tool_call_update") return;
    const id = stringAt(update, "toolCallId");
    if (id === null) return;
    const news = withoutNulls(said);
    const known = { ...argumentsIn(news), ...this.#calls.get(id), ...news };
    this.#calls.delete(id);
    if (known.status === "completed" || known.status === "failed") return;
    this.#calls.set(id, known);
    this.#chars += chars;
    if (this.#calls.size > AGENT_TOOL_CALLS_KNOWN_MAX) this.#forgetOldest();
    if (this.#chars > AGENT_TOOL_CALLS_KNOWN_CHARS_MAX) this.#shrink(id, news);
  }

  get(toolCallId: string | null): JsonObject {
    return (toolCallId === null ? null : this.#calls.get(toolCallId)) ?? {};
  }

  clear() {
    this.#calls.clear();
    this.#chars = 0;
  }

  /** To the half, so that it is seldom done. The newest call keeps at least its newest words. */
  #shrink(newestId: string, news: JsonObject) {
    const sizes = new Map([...this.#calls].map(([id, known]) => [id, sizeOf(known)]));
    this.#chars = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const [id, size] of sizes) {
      if (this.#chars <= AGENT_TOOL_CALLS_KNOWN_CHARS_MAX / 2) return;
      this.#chars -= size;
      this.#calls.delete(id);
      if (id === newestId) {
        this.#calls.set(id, news);
        this.#chars += sizeOf(news);
      }
    }
  }

  #forgetOldest() {
    const [oldest] = this.#calls.keys();
    if (oldest !== undefined) this.#calls.delete(oldest);
  }
}

/**
 * Some agents tell the arguments of a call as its text while the model writes them, and as
 * `rawInput` only after they have asked for permission.
 */
function argumentsIn({ content }: JsonObject): JsonObject {
  const [only, more] = Array.isArray(content) ? content : [];
  const block = isObject(only) && more === undefined ? objectAt(only, "content") : null;
  const text = block === null ? null : stringAt(block, "text");
  if (text === null || !text.startsWith("{") || !text.endsWith("}")) return {};
  try {
    const rawInput: unknown = JSON.parse(text);
    return isObject(rawInput) ? { rawInput } : {};
  } catch {
    return {}; // Half of them, as yet.
  }
}

function sizeOf(known: JsonObject): number {
  return JSON.stringify(known).length;
}
