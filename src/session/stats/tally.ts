import { z } from "zod";
import type { AgentUpdate } from "../../core/agent-update.ts";
import { AGENT_NAME_CHARS_MAX, MODELS_COUNTED_MAX, TOOLS_COUNTED_MAX } from "../../core/limits.ts";
import { addCounts, isCount } from "../../core/price.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { cutText } from "../../core/text.ts";
import { type CountedCall, countedCalls } from "./tool-calls.ts";

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
