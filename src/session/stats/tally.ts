import { z } from "zod";
import { type AgentUpdate, toolCallNews } from "../../core/agent-update.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import {
  AGENT_NAME_CHARS_MAX,
  MODELS_COUNTED_MAX,
  TOOL_NAME_CHARS_MAX,
  TOOLS_COUNTED_MAX,
} from "../../core/limits.ts";
import type { AskOutcome } from "../../core/policy/ask.ts";
import { addCounts, isCount } from "../../core/price.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { cutText } from "../../core/text.ts";

const count = z.number().refine((value) => isCount(value));

const toolTally = z.object({
  count,
  success: count,
  fail: count,
  durationMs: count,
  accept: count,
  reject: count,
  autoAccept: count,
});

/** Agents do not report their single calls to a model, so a turn counts as one. */
const modelTally = z.object({ turns: count, errors: count, durationMs: count });

/** How full an agent's context is; null is what the agent has not reported. */
const contextFill = z.object({
  model: z.string().nullable().catch(null),
  used: count.nullable().catch(null),
  size: count.nullable().catch(null),
});

const tallySchema = z.object({
  tools: z
    .array(z.tuple([z.string(), toolTally]))
    .transform((tools): ReadonlyMap<string, ToolTally> => new Map(tools)),
  models: z
    .array(z.tuple([z.string(), modelTally]))
    .transform((models): ReadonlyMap<string, ModelTally> => new Map(models)),
  linesAdded: count,
  linesRemoved: count,
  /** As the agent last reported it. */
  context: contextFill.nullable().catch(null),
});

export type ToolTally = Readonly<z.infer<typeof toolTally>>;
export type ModelTally = Readonly<z.infer<typeof modelTally>>;
export type ContextFill = Readonly<z.infer<typeof contextFill>>;

/**
 * What is counted of a session beside the core's own totals. No decision needs it, so it is not
 * part of the session's state. It grows by the events between two snapshots, and is stored with
 * them.
 */
export type Tally = Readonly<z.infer<typeof tallySchema>>;

export const EMPTY_TALLY: Tally = {
  tools: new Map(),
  models: new Map(),
  linesAdded: 0,
  linesRemoved: 0,
  context: null,
};

/** The slot of a tally, written with every snapshot. */
export const TALLY_SLOT = { owner: "fermata.stats", version: "1" } as const;

export function tallyText({ tools, models, ...rest }: Tally): string {
  return JSON.stringify({ tools: [...tools], models: [...models], ...rest });
}

/** Reads a stored tally; null if it is damaged, and then counting begins again. */
export function readTally(text: string): Tally | null {
  try {
    return tallySchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

const NO_CALLS: ToolTally = {
  count: 0,
  success: 0,
  fail: 0,
  durationMs: 0,
  accept: 0,
  reject: 0,
  autoAccept: 0,
};
const NO_TURNS: ModelTally = { turns: 0, errors: 0, durationMs: 0 };

/**
 * Adds events to a tally: those since the last snapshot, of any turns. Each event must be counted
 * once. A lost tally can be made again from folded events, which no longer have durations.
 */
export function withEvents(tally: Tally, events: readonly LogEvent[]): Tally {
  const tools = new Map(tally.tools);
  let { linesAdded, linesRemoved } = tally;
  for (const call of countedCalls(events)) {
    const name = nameIn(tools, call.name, TOOLS_COUNTED_MAX);
    tools.set(name, withCall(tools.get(name) ?? NO_CALLS, call));
    linesAdded = addCounts(linesAdded, call.lines.added);
    linesRemoved = addCounts(linesRemoved, call.lines.removed);
  }
  return { tools, linesAdded, linesRemoved, ...withTurns(tally, events) };
}

/** Returns a name that is counted apart, or the one that all later names share. */
function nameIn(counted: ReadonlyMap<string, unknown>, name: string, max: number): string {
  return counted.has(name) || counted.size < max ? name : "other";
}

function withCall(tool: ToolTally, { end, durationMs, decision }: CountedCall): ToolTally {
  return {
    count: tool.count + 1,
    success: tool.success + Number(end === "completed"),
    fail: tool.fail + Number(end === "failed"),
    durationMs: addCounts(tool.durationMs, durationMs),
    accept: tool.accept + Number(decision === "accept"),
    reject: tool.reject + Number(decision === "reject"),
    autoAccept: tool.autoAccept + Number(decision === "auto_accept"),
  };
}

function withTurns(tally: Tally, events: readonly LogEvent[]): Pick<Tally, "models" | "context"> {
  const models = new Map(tally.models);
  const startedAtMs = new Map<string, number>();
  let { context } = tally;
  for (const event of events) {
    const atMs = event._meta.serverTimestamp;
    if (event.type === "session_lifecycle" && event.data.event === "SessionTurnStart") {
      startedAtMs.set(event.data.turnId ?? "", atMs);
    } else if (event.type === "usage_reported") {
      context = mergeFill(context, event.data.usage);
    } else if (event.type === "session_update") {
      context = withUpdate(context, event.data.update);
    } else if (event.type === "turn_complete" || event.type === "turn_error") {
      const { turnId } = event.data;
      if (turnId === undefined) continue; // It never ran.
      // The core's totals use the same name, so that tokens and turns of a model meet.
      const model = cutText(context?.model ?? "unknown", AGENT_NAME_CHARS_MAX);
      const name = nameIn(models, model, MODELS_COUNTED_MAX);
      const before = models.get(name) ?? NO_TURNS;
      models.set(name, {
        turns: before.turns + 1,
        errors: before.errors + Number(event.type === "turn_error"),
        durationMs: addCounts(before.durationMs, atMs - (startedAtMs.get(turnId) ?? atMs)),
      });
    }
  }
  return { models, context };
}

/** Takes a report of the agent; what the report leaves out stays as it was. */
export function mergeFill(before: ContextFill | null, report: ContextFill): ContextFill {
  return {
    model: report.model ?? before?.model ?? null,
    used: report.used ?? before?.used ?? null,
    size: report.size ?? before?.size ?? null,
  };
}

function withUpdate(before: ContextFill | null, update: AgentUpdate): ContextFill | null {
  if (update.sessionUpdate !== "usage_update") return before;
  const { used, size } = update;
  return mergeFill(before, { model: null, used: countOrNull(used), size: countOrNull(size) });
}

function countOrNull(value: unknown): number | null {
  return typeof value === "number" && isCount(value) ? value : null;
}

/** One tool call, as far as it is counted. */
interface CountedCall {
  readonly name: string;
  readonly end: "open" | "completed" | "failed";
  readonly durationMs: number;
  readonly decision: CallDecision | null;
  readonly lines: LineChanges;
}

/** As the wire has them, without `modify`, which clients cannot do here. */
type CallDecision = "accept" | "reject" | "auto_accept";

/** Counts the tool calls among some events. Folded events no longer have durations. */
function countedCalls(events: readonly LogEvent[]): readonly CountedCall[] {
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

  /** Skips what an agent does between turns, and what children do, as the core's totals do. */
  add(event: LogEvent) {
    const prompt = event.promptId;
    if (prompt === undefined || event.childId !== undefined) return;
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
