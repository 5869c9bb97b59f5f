import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { addTokens, NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";
import type { LiveSession } from "../live.ts";
import { type Use, usedByTurns, usedInAll } from "../meter/allowance.ts";
import type { SessionWorld } from "../world.ts";
import {
  type ContextFill,
  type ModelTally,
  mergeFill,
  type Tally,
  type ToolTally,
} from "./tally.ts";

export type StatsAnswer = ReturnType<typeof statsAnswer>;

/** Returns what a session has used and done so far, including its asides. */
export async function sessionStats(
  { meter, clock }: SessionWorld,
  live: LiveSession,
): Promise<Result<StatsAnswer>> {
  const asides = await meter.usedBeside(live.key);
  if (!asides.ok) return asides;
  const tally = await live.tally();
  if (!tally.ok) return tally;
  const used = usedInAll(usedByTurns(live.session), asides.value);
  return ok(statsAnswer(live.session, tally.value, used, clock.nowMs()));
}

/**
 * Answers `GET …/stats`. `turns` and `cost` are Fermata's additions to the wire. The cost is in
 * micro-credits: what is charged for good, and what is reserved for now; both count in the
 * session's budget, and a budget of null is no limit of its own.
 */
export function statsAnswer(session: Session, tally: Tally, used: Use, nowMs: number) {
  const { sessionId, fixed, chosen, totals } = session;
  return {
    v: 1,
    sessionId,
    workspaceCwd: fixed.workspaceCwd,
    sessionStartTimeMs: fixed.createdAtMs,
    durationMs: Math.max(0, nowMs - fixed.createdAtMs),
    promptCount: totals.promptCount,
    models: modelsStats(tokensNow(session), tally.models),
    tools: toolsStats(tally.tools),
    files: { totalLinesAdded: tally.linesAdded, totalLinesRemoved: tally.linesRemoved },
    turns: { completed: totals.turnsCompleted, failed: totals.turnsFailed },
    cost: { ...used, budgetMicro: chosen.budgetMicro },
  };
}

/** Adds the tokens of the running turn to those of settled turns. */
function tokensNow({ totals, connection }: Session): ReadonlyMap<string, TokenUsage> {
  const usage = connection.turn.lastContextUsage;
  if (usage === null) return totals.tokensByModel;
  const model = cutText(usage.model ?? "unknown", AGENT_NAME_CHARS_MAX);
  const settled = totals.tokensByModel.get(model) ?? NO_TOKENS;
  return new Map(totals.tokensByModel).set(model, addTokens(settled, usage.tokens));
}

function modelsStats(
  tokens: ReadonlyMap<string, TokenUsage>,
  turns: ReadonlyMap<string, ModelTally>,
) {
  const names = new Set([...tokens.keys(), ...turns.keys()]);
  return Object.fromEntries(
    [...names].map((name) => [name, modelStats(tokens.get(name), turns.get(name))]),
  );
}

function modelStats(tokens: TokenUsage = NO_TOKENS, turns?: ModelTally) {
  const { input, output, cachedRead, cachedWrite, thought } = tokens;
  const prompt = input + cachedRead + cachedWrite;
  return {
    api: {
      totalRequests: turns?.turns ?? 0,
      totalErrors: turns?.errors ?? 0,
      totalLatencyMs: turns?.durationMs ?? 0,
    },
    tokens: {
      prompt,
      candidates: output,
      total: prompt + output + thought,
      cached: cachedRead,
      cachedWrite,
      thoughts: thought,
    },
  };
}

function toolsStats(tools: ReadonlyMap<string, ToolTally>) {
  const sum = (figure: keyof ToolTally) =>
    [...tools.values()].reduce((total, tool) => total + tool[figure], 0);
  return {
    totalCalls: sum("count"),
    totalSuccess: sum("success"),
    totalFail: sum("fail"),
    totalDurationMs: sum("durationMs"),
    byName: Object.fromEntries([...tools].map(([name, tool]) => [name, toolStats(tool)])),
  };
}

function toolStats({ accept, reject, autoAccept, ...figures }: ToolTally) {
  return { ...figures, decisions: { accept, reject, modify: 0, auto_accept: autoAccept } };
}

export type ContextUsageAnswer = ReturnType<typeof contextUsageAnswer>;

/** Returns how full the agent's context is. */
export async function contextUsage(
  live: LiveSession,
  showDetails: boolean,
): Promise<Result<ContextUsageAnswer>> {
  const tally = await live.tally();
  return tally.ok ? ok(contextUsageAnswer(live.session, tally.value, showDetails)) : tally;
}

/** Only an agent knows what its context consists of, and ACP has no message for it. */
const NO_BREAKDOWN = {
  systemPrompt: 0,
  builtinTools: 0,
  mcpTools: 0,
  memoryFiles: 0,
  skills: 0,
  messages: 0,
  freeSpace: 0,
  autocompactBuffer: 0,
};

/**
 * Answers `GET …/context-usage`: as the running turn reports it, or else as the agent last did.
 * The state forgets it with its turn, so it comes from the tally.
 */
export function contextUsageAnswer(session: Session, { context }: Tally, showDetails: boolean) {
  const { sessionId, fixed, chosen, connection } = session;
  const live = connection.turn.lastContextUsage;
  const fill = live === null ? context : mergeFill(context, live);
  const used = fill?.used ?? 0;
  const size = fill?.size ?? 0;
  return {
    v: 1,
    sessionId,
    workspaceCwd: fixed.workspaceCwd,
    usage: {
      modelName: fill?.model ?? chosen.modelConfig.modelId ?? "unknown",
      totalTokens: used,
      contextWindowSize: size,
      breakdown: { ...NO_BREAKDOWN, freeSpace: Math.max(0, size - used) },
      builtinTools: [],
      mcpTools: [],
      memoryFiles: [],
      skills: [],
      isEstimated: true,
      showDetails,
    },
    formattedText: fillText(fill),
  };
}

function fillText(fill: ContextFill | null): string {
  const { used = null, size = null } = fill ?? {};
  if (used === null) return "The agent has not said how full its context is.";
  const figure = used.toLocaleString("en-US");
  if (size === null || size === 0) return `The agent's context has ${figure} tokens.`;
  const percent = Math.round((used / size) * 100);
  const all = size.toLocaleString("en-US");
  return `The agent's context has ${figure} of ${all} tokens (${percent} %).`;
}
