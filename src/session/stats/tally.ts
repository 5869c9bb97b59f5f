import type { AgentUpdate } from "../../core/agent-update.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { AGENT_NAME_CHARS_MAX, MODELS_COUNTED_MAX, TOOLS_COUNTED_MAX } from "../../core/limits.ts";
import { addCounts, isCount } from "../../core/price.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { cutText } from "../../core/text.ts";
import { type CountedCall, countedCalls } from "./tool-calls.ts";

/**
 * What is counted of a session beside the core's own totals: nobody decides with it, so it is not
 * part of the session's state. It grows by what lies between two snapshots, and is kept with them.
 */
export interface Tally {
  readonly tools: ReadonlyMap<string, ToolTally>;
  readonly models: ReadonlyMap<string, ModelTally>;
  readonly linesAdded: number;
  readonly linesRemoved: number;
  /** How full the agent's context was when it last said so. */
  readonly context: ContextFill | null;
}

export interface ToolTally {
  readonly count: number;
  readonly success: number;
  readonly fail: number;
  readonly durationMs: number;
  readonly accept: number;
  readonly reject: number;
  readonly autoAccept: number;
}

/** An agent does not tell of its single calls to a model, so a turn counts as one. */
export interface ModelTally {
  readonly turns: number;
  readonly errors: number;
  readonly durationMs: number;
}

export interface ContextFill {
  readonly model: string | null;
  readonly used: number | null;
  readonly size: number | null;
}

export const EMPTY_TALLY: Tally = {
  tools: new Map(),
  models: new Map(),
  linesAdded: 0,
  linesRemoved: 0,
  context: null,
};

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
 * The tally with some events in it: those since the last snapshot, whichever turns they are of.
 * Each event must be counted once. Raw events are counted whole; folded ones, which a tally that
 * was lost can be made from again, have lost how long things took.
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
  const { models, context } = turnsIn(tally, events);
  return { tools, models, linesAdded, linesRemoved, context };
}

/** A name that is counted apart, or the one that all later ones share. */
function nameIn(counted: ReadonlyMap<string, unknown>, name: string, max: number): string {
  return counted.has(name) || counted.size < max ? name : "other";
}

function withCall(tool: ToolTally, { end, durationMs, decision }: CountedCall): ToolTally {
  const one = (isSo: boolean) => (isSo ? 1 : 0);
  return {
    count: tool.count + 1,
    success: tool.success + one(end === "completed"),
    fail: tool.fail + one(end === "failed"),
    durationMs: addCounts(tool.durationMs, durationMs),
    accept: tool.accept + one(decision === "accept"),
    reject: tool.reject + one(decision === "reject"),
    autoAccept: tool.autoAccept + one(decision === "auto_accept"),
  };
}

function turnsIn(tally: Tally, events: readonly LogEvent[]): Pick<Tally, "models" | "context"> {
  const models = new Map(tally.models);
  const startedAtMs = new Map<string, number>();
  let { context } = tally;
  for (const event of events) {
    const atMs = event._meta.serverTimestamp;
    if (event.type === "session_lifecycle" && event.data.event === "SessionTurnStart") {
      startedAtMs.set(event.data.turnId ?? "", atMs);
    } else if (event.type === "usage_reported") {
      context = filled(context, event.data.usage);
    } else if (event.type === "session_update") {
      context = updated(context, event.data.update);
    } else if (event.type === "turn_complete" || event.type === "turn_error") {
      const { turnId } = event.data;
      if (turnId === undefined) continue; // It never ran.
      const name = nameIn(models, modelOf(context), MODELS_COUNTED_MAX);
      const before = models.get(name) ?? NO_TURNS;
      models.set(name, {
        turns: before.turns + 1,
        errors: before.errors + (event.type === "turn_error" ? 1 : 0),
        durationMs: addCounts(before.durationMs, atMs - (startedAtMs.get(turnId) ?? atMs)),
      });
    }
  }
  return { models, context };
}

/** As the core's totals call it, so that its tokens and its turns meet under one name. */
function modelOf(context: ContextFill | null): string {
  return cutText(context?.model ?? "unknown", AGENT_NAME_CHARS_MAX);
}

/** What a report leaves out is as it was. */
export function filled(before: ContextFill | null, said: ContextFill): ContextFill {
  return {
    model: said.model ?? before?.model ?? null,
    used: said.used ?? before?.used ?? null,
    size: said.size ?? before?.size ?? null,
  };
}

function updated(before: ContextFill | null, update: AgentUpdate): ContextFill | null {
  if (update.sessionUpdate !== "usage_update") return before;
  return filled(before, { model: null, used: countAt(update.used), size: countAt(update.size) });
}

function countAt(value: unknown): number | null {
  return typeof value === "number" && isCount(value) ? value : null;
}

/** Where a tally is kept: a slot of its own, written with every snapshot. */
export const TALLY_SLOT = { owner: "fermata.stats", version: "1" } as const;

export function tallyText({ tools, models, ...rest }: Tally): string {
  return JSON.stringify({ tools: [...tools], models: [...models], ...rest });
}

/** The tally that a stored text holds; null if it is none, and then counting begins again. */
export function readTally(text: string): Tally | null {
  const stored = parsed(text);
  if (stored === null) return null;
  const { linesAdded, linesRemoved } = stored;
  const tools = mapOf(stored.tools, storedTool);
  const models = mapOf(stored.models, storedModel);
  if (tools === null || models === null || !isFigure(linesAdded) || !isFigure(linesRemoved)) {
    return null;
  }
  return { tools, models, linesAdded, linesRemoved, context: storedContext(stored.context) };
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function mapOf<Value>(
  entries: unknown,
  read: (stored: JsonObject) => Value | null,
): ReadonlyMap<string, Value> | null {
  const map = new Map<string, Value>();
  for (const entry of Array.isArray(entries) ? entries : [null]) {
    const [name, stored]: readonly unknown[] = Array.isArray(entry) ? entry : [];
    const value = isObject(stored) ? read(stored) : null;
    if (typeof name !== "string" || value === null) return null;
    map.set(name, value);
  }
  return map;
}

function storedTool(stored: JsonObject): ToolTally | null {
  const { count, success, fail, durationMs, accept, reject, autoAccept } = stored;
  if (!isFigure(count) || !isFigure(success) || !isFigure(fail)) return null;
  if (!isFigure(durationMs) || !isFigure(accept) || !isFigure(reject)) return null;
  if (!isFigure(autoAccept)) return null;
  return { count, success, fail, durationMs, accept, reject, autoAccept };
}

function storedModel({ turns, errors, durationMs }: JsonObject): ModelTally | null {
  if (!isFigure(turns) || !isFigure(errors) || !isFigure(durationMs)) return null;
  return { turns, errors, durationMs };
}

function storedContext(stored: unknown): ContextFill | null {
  if (!isObject(stored)) return null;
  const { model, used, size } = stored;
  return {
    model: typeof model === "string" ? model : null,
    used: isFigure(used) ? used : null,
    size: isFigure(size) ? size : null,
  };
}

function isFigure(value: unknown): value is number {
  return typeof value === "number" && isCount(value);
}
