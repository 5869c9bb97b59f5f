import { type AgentUpdate, toolCallNews } from "../../core/agent-update.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { TOOL_NAME_CHARS_MAX } from "../../core/limits.ts";
import type { AskOutcome } from "../../core/policy/ask.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { cutText } from "../../core/text.ts";

/** One tool call, as far as it is counted. */
export interface CountedCall {
  readonly name: string;
  readonly end: "open" | "completed" | "failed";
  readonly durationMs: number;
  readonly decision: CallDecision | null;
  readonly lines: LineChanges;
}

/** As the wire has them, without `modify`, which clients cannot do here. */
type CallDecision = "accept" | "reject" | "auto_accept";

/** Counts the tool calls among some events. Folded events no longer have durations. */
export function countedCalls(events: readonly LogEvent[]): readonly CountedCall[] {
  const calls = new CallCounter();
  for (const event of events) calls.add(event);
  return calls.counted();
}

interface TrackedCall {
  name: string;
  end: CountedCall["end"];
  readonly startedAtMs: number;
  endedAtMs: number;
  content: readonly unknown[];
  decision: CallDecision | null;
}

class CallCounter {
  readonly #calls = new Map<string, TrackedCall>();
  /** The call of each ask, and the options of the ask that allow it. */
  readonly #asks = new Map<
    string,
    { readonly call: TrackedCall; readonly allowing: readonly string[] }
  >();

  /** Skips what an agent does between turns, as the core's totals do. */
  add(event: LogEvent) {
    const prompt = event.promptId;
    if (prompt === undefined) return;
    const atMs = event._meta.serverTimestamp;
    switch (event.type) {
      case "session_update":
        return this.#update(prompt, event.data.update, atMs);
      case "permission_request": {
        const allowing = event.data.options.filter(allows).map(({ optionId }) => optionId);
        const call = this.#asked(prompt, event.data.toolCall, atMs);
        if (call !== null) this.#asks.set(event.data.requestId, { call, allowing });
        return;
      }
      case "permission_resolved":
        return this.#resolved(event.data.requestId, event.data.outcome, event.data.reason);
      case "permission_decided": {
        const call = this.#asked(prompt, event.data.toolCall, atMs);
        if (call !== null) call.decision = event.data.allowed ? "auto_accept" : "reject";
        return;
      }
      default:
        return;
    }
  }

  #update(prompt: string, update: AgentUpdate, atMs: number) {
    const kind = update.sessionUpdate;
    if (kind !== "tool_call" && kind !== "tool_call_update") return;
    const news = toolCallNews(update);
    if (news === null) return;
    const call = this.#call(prompt, news.toolCallId, atMs);
    call.name = toolName(update) ?? call.name;
    if (Array.isArray(update.content)) call.content = update.content;
    if (call.end !== "open" || news.status === "open") return;
    call.end = news.status;
    call.endedAtMs = atMs;
  }

  /** An ask may come before its call is announced. */
  #asked(prompt: string, toolCall: JsonObject, atMs: number): TrackedCall | null {
    const toolCallId = stringAt(toolCall, "toolCallId");
    if (toolCallId === null) return null;
    const call = this.#call(prompt, toolCallId, atMs);
    if (call.name === UNNAMED) call.name = toolName(toolCall) ?? UNNAMED;
    return call;
  }

  #call(prompt: string, toolCallId: string, atMs: number): TrackedCall {
    const key = `${prompt} ${toolCallId}`;
    const known = this.#calls.get(key);
    if (known !== undefined) return known;
    const times = { startedAtMs: atMs, endedAtMs: atMs };
    const call: TrackedCall = { name: UNNAMED, end: "open", ...times, content: [], decision: null };
    this.#calls.set(key, call);
    return call;
  }

  /** Only a vote or its timeout is a decision of people; the end of a turn decides nothing. */
  #resolved(requestId: string, outcome: AskOutcome, reason: string) {
    const ask = this.#asks.get(requestId);
    if (ask === undefined || (reason !== "vote" && reason !== "timeout")) return;
    const isAllowed = outcome.outcome === "selected" && ask.allowing.includes(outcome.optionId);
    ask.call.decision = isAllowed ? "accept" : "reject";
  }

  counted(): readonly CountedCall[] {
    return [...this.#calls.values()].map((call) => ({
      name: call.name,
      end: call.end,
      durationMs: Math.max(0, call.endedAtMs - call.startedAtMs),
      // A gate that refuses chooses an option too; the call that it refused then fails.
      decision: call.decision === "auto_accept" && call.end === "failed" ? "reject" : call.decision,
      lines: call.end === "completed" ? linesIn(call.content) : { added: 0, removed: 0 },
    }));
  }
}

const UNNAMED = "other";

const allows = (option: JsonObject) => stringAt(option, "kind")?.startsWith("allow") === true;

/**
 * ACP has no name for tools: a title is a sentence, and a kind is one of ten. Agents that report
 * the name do so in `_meta`, in one of two fields.
 */
function toolName(call: JsonObject): string | null {
  const meta = objectAt(call, "_meta") ?? {};
  const claude = objectAt(meta, "claudeCode") ?? {};
  const name =
    (stringAt(meta, "toolName") ?? stringAt(claude, "toolName")) || stringAt(call, "kind");
  return name ? cutText(name, TOOL_NAME_CHARS_MAX) : null;
}

function linesIn(content: readonly unknown[]): LineChanges {
  let added = 0;
  let removed = 0;
  for (const part of content) {
    if (!isObject(part) || part.type !== "diff") continue;
    const changes = lineChanges(stringAt(part, "oldText"), stringAt(part, "newText") ?? "");
    added += changes.added;
    removed += changes.removed;
  }
  return { added, removed };
}

interface LineChanges {
  readonly added: number;
  readonly removed: number;
}

/**
 * Counts the lines that an edit added and removed. It ignores their order: a line that moved is
 * neither, and a large file costs no more than its length.
 */
export function lineChanges(before: string | null, after: string): LineChanges {
  const old = linesOf(before ?? "");
  const fresh = linesOf(after);
  const left = new Map<string, number>();
  for (const line of old) left.set(line, (left.get(line) ?? 0) + 1);
  let kept = 0;
  for (const line of fresh) {
    const count = left.get(line) ?? 0;
    if (count === 0) continue;
    left.set(line, count - 1);
    kept += 1;
  }
  return { added: fresh.length - kept, removed: old.length - kept };
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}
