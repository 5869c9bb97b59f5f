import type { SessionId } from "../../core/id.ts";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { addTokens, NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";
import type { LiveSession } from "../live.ts";
import { type Use, usedByTurns, usedInAll } from "../meter/allowance.ts";
import type { SessionWorld } from "../world.ts";
import { type ContextFill, filled, type ModelTally, type Tally, type ToolTally } from "./tally.ts";

/** The wire's `GET …/stats`; what it does not have is ours and additive. */
export interface StatsAnswer {
  readonly v: 1;
  readonly sessionId: SessionId;
  readonly workspaceCwd: string;
  readonly sessionStartTimeMs: number;
  readonly durationMs: number;
  readonly promptCount: number;
  readonly models: Readonly<Record<string, ModelStats>>;
  readonly tools: ToolsStats;
  readonly files: { readonly totalLinesAdded: number; readonly totalLinesRemoved: number };
  readonly turns: { readonly completed: number; readonly failed: number };
  /**
   * In micro-credits, with what was asked beside the session: charged for good, and set aside for
   * now. Both count in its budget; null is no limit of the session's own.
   */
  readonly cost: {
    readonly chargedMicro: number;
    readonly openMicro: number;
    readonly budgetMicro: number | null;
  };
}

interface ModelStats {
  readonly api: {
    readonly totalRequests: number;
    readonly totalErrors: number;
    readonly totalLatencyMs: number;
  };
  readonly tokens: {
    /** All that was put in, whether or not it was in a cache. */
    readonly prompt: number;
    readonly candidates: number;
    readonly total: number;
    readonly cached: number;
    readonly cachedWrite: number;
    readonly thoughts: number;
  };
}

interface ToolsStats {
  readonly totalCalls: number;
  readonly totalSuccess: number;
  readonly totalFail: number;
  readonly totalDurationMs: number;
  readonly byName: Readonly<Record<string, ToolStats>>;
}

interface ToolStats {
  readonly count: number;
  readonly success: number;
  readonly fail: number;
  readonly durationMs: number;
  readonly decisions: {
    readonly accept: number;
    readonly reject: number;
    readonly modify: number;
    readonly auto_accept: number;
  };
}

/**
 * The tally is that of the last snapshot; whoever has the events since then adds them first, and
 * the answer is of this moment. Tokens are of this moment anyway.
 */
export function statsAnswer(session: Session, tally: Tally, used: Use, nowMs: number): StatsAnswer {
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

/** Tokens of turns that were settled, and of the one at work. */
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
): StatsAnswer["models"] {
  const names = new Set([...tokens.keys(), ...turns.keys()]);
  return Object.fromEntries(
    [...names].map((name) => [name, modelStats(tokens.get(name), turns.get(name))]),
  );
}

function modelStats(tokens: TokenUsage = NO_TOKENS, turns?: ModelTally): ModelStats {
  const { input, output, cachedRead, cachedWrite, thought } = tokens;
  const prompt = input + cachedRead + cachedWrite;
  const total = prompt + output + thought;
  return {
    api: {
      totalRequests: turns?.turns ?? 0,
      totalErrors: turns?.errors ?? 0,
      totalLatencyMs: turns?.durationMs ?? 0,
    },
    tokens: {
      prompt,
      candidates: output,
      total,
      cached: cachedRead,
      cachedWrite,
      thoughts: thought,
    },
  };
}

function toolsStats(tools: ReadonlyMap<string, ToolTally>): ToolsStats {
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

function toolStats({ accept, reject, autoAccept, ...figures }: ToolTally): ToolStats {
  return { ...figures, decisions: { accept, reject, modify: 0, auto_accept: autoAccept } };
}

/** The wire's `GET …/context-usage`. */
export interface ContextUsageAnswer {
  readonly v: 1;
  readonly sessionId: SessionId;
  readonly workspaceCwd: string;
  readonly usage: {
    readonly modelName: string;
    readonly totalTokens: number;
    readonly contextWindowSize: number;
    readonly breakdown: typeof NO_BREAKDOWN;
    readonly builtinTools: readonly never[];
    readonly mcpTools: readonly never[];
    readonly memoryFiles: readonly never[];
    readonly skills: readonly never[];
    readonly isEstimated: true;
    readonly showDetails: boolean;
  };
  readonly formattedText: string;
}

/** Only an agent knows what its context consists of, and ACP has no words for it. */
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
 * How full the agent's context is: as the turn at work reports it, or else as it was last told.
 * The state forgets it with its turn, so it comes from the tally.
 */
export function contextUsageAnswer(
  session: Session,
  { context }: Tally,
  showDetails: boolean,
): ContextUsageAnswer {
  const { sessionId, fixed, chosen, connection } = session;
  const live = connection.turn.lastContextUsage;
  const fill = live === null ? context : filled(context, live);
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
    formattedText: inWords(fill),
  };
}

function inWords(fill: ContextFill | null): string {
  const { used = null, size = null } = fill ?? {};
  if (used === null) return "The agent has not said how full its context is.";
  const figure = used.toLocaleString("en-US");
  if (size === null || size === 0) return `The agent's context has ${figure} tokens.`;
  const percent = Math.round((used / size) * 100);
  const all = size.toLocaleString("en-US");
  return `The agent's context has ${figure} of ${all} tokens (${percent} %).`;
}

/** What a session has used and done so far, with what was asked beside it. */
export async function sessionStats(
  { meter, clock }: SessionWorld,
  live: LiveSession,
): Promise<Result<StatsAnswer>> {
  const beside = await meter.usedBeside(live.key);
  if (!beside.ok) return beside;
  const tally = await live.tally();
  if (!tally.ok) return tally;
  const used = usedInAll(usedByTurns(live.session), beside.value);
  return ok(statsAnswer(live.session, tally.value, used, clock.nowMs()));
}

/** How full the agent's context is. */
export async function contextUsage(
  live: LiveSession,
  showDetails: boolean,
): Promise<Result<ContextUsageAnswer>> {
  const tally = await live.tally();
  return tally.ok ? ok(contextUsageAnswer(live.session, tally.value, showDetails)) : tally;
}
