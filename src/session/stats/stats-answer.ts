import type { SessionId } from "../../core/id.ts";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { addTokens, NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import type { Session } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";
import type { Use } from "../meter/allowance.ts";
import type { ModelTally, Tally, ToolTally } from "./tally.ts";

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
