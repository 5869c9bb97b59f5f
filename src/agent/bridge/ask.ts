import type { AgentUpdate } from "../../core/agent-update.ts";
import { isObject, type JsonObject, objectAt, stringAt, withoutNulls } from "../../core/json.ts";
import { AGENT_TOOL_CALLS_KNOWN_CHARS_MAX, AGENT_TOOL_CALLS_KNOWN_MAX } from "../../core/limits.ts";
import type { AskOption } from "../../core/policy/ask.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { AgentAsk, AskAnswer } from "../agent.ts";

/** An agent's requests for permission, and what is known of the calls that they are about. */

export function permissionAsk(params: JsonObject, calls: KnownToolCalls): AgentAsk {
  const toolCall = objectAt(params, "toolCall") ?? {};
  const known = calls.get(stringAt(toolCall, "toolCallId"));
  const kind = isQuestion({ ...known, ...withoutNulls(toolCall) }) ? "user_question" : "permission";
  return { kind, toolCall, known, options: readOptions(params.options) };
}

/**
 * Whether a call does nothing but ask. A question passes no gate, and users answer their own; so a
 * call that does anything else is about permission, even if its input has questions as well.
 */
function isQuestion(call: JsonObject): boolean {
  const input = objectAt(call, "rawInput") ?? {};
  const { questions } = input;
  if (!Array.isArray(questions) || questions.length === 0) return false;
  const isAsking = call.kind === undefined || QUESTION_KINDS.includes(call.kind);
  return (
    isAsking &&
    questions.every(isObject) &&
    Object.keys(input).every((field) => QUESTION_FIELDS.has(field))
  );
}

/** As agents send their question tools: most as `other`, Qwen Code as `think`. */
const QUESTION_KINDS: readonly unknown[] = ["other", "think"];

/** The input of AskUserQuestion, which most agents have taken over from Claude Code. */
const QUESTION_FIELDS: ReadonlySet<string> = new Set([
  "questions",
  "answers",
  "annotations",
  "metadata",
]);

function readOptions(options: unknown): readonly AskOption[] {
  if (!Array.isArray(options)) return [];
  return options.filter(isObject).map((option) => {
    return { ...option, optionId: stringAt(option, "optionId") ?? "" };
  });
}

/** The protocol has no place for a reason but the one for everything else. */
export function permissionAnswer({ outcome, answers, reason }: AskAnswer): JsonObject {
  return {
    outcome,
    ...(answers !== undefined && { answers }),
    ...(reason !== undefined && { _meta: { reason } }),
  };
}

/**
 * What an agent has said of its tool calls, so that an ask which only names a call can be judged
 * by what the call does. The oldest calls are evicted first.
 */
export class KnownToolCalls {
  readonly #calls = new BoundedMap<string, JsonObject>(AGENT_TOOL_CALLS_KNOWN_MAX);
  /** At least what the calls take: a repeated field counts again, until `#shrink` recounts. */
  #chars = 0;

  learn(update: AgentUpdate, chars: number) {
    const { sessionUpdate, ...fields } = update;
    if (sessionUpdate !== "tool_call" && sessionUpdate !== "tool_call_update") return;
    const id = stringAt(update, "toolCallId");
    if (id === null) return;
    const latest = withoutNulls(fields);
    const known = { ...argumentsIn(latest), ...this.#calls.get(id), ...latest };
    this.#calls.delete(id);
    if (known.status === "completed" || known.status === "failed") return;
    this.#calls.set(id, known);
    this.#chars += chars;
    if (this.#chars > AGENT_TOOL_CALLS_KNOWN_CHARS_MAX) this.#shrink(id, latest);
  }

  get(toolCallId: string | null): JsonObject {
    return (toolCallId === null ? null : this.#calls.get(toolCallId)) ?? {};
  }

  clear() {
    this.#calls.clear();
    this.#chars = 0;
  }

  /** To half the limit, so that it is rare. The newest call keeps at least its newest update. */
  #shrink(newestId: string, latest: JsonObject) {
    const sizes = new Map([...this.#calls].map(([id, known]) => [id, sizeOf(known)]));
    this.#chars = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const [id, size] of sizes) {
      if (this.#chars <= AGENT_TOOL_CALLS_KNOWN_CHARS_MAX / 2) return;
      this.#chars -= size;
      this.#calls.delete(id);
      if (id === newestId) {
        this.#calls.set(id, latest);
        this.#chars += sizeOf(latest);
      }
    }
  }
}

/**
 * Some agents send the arguments of a call as its text while the model writes them, and as
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
    return {}; // Not complete yet.
  }
}

function sizeOf(known: JsonObject): number {
  return JSON.stringify(known).length;
}
