import { COST_DISAGREES_TIMES_MAX, TOOL_CALLS_PER_RESERVE_MAX } from "./limits.ts";
import { addCounts, costMicro, mostTokens, NO_TOKENS, type Price } from "./price.ts";
import type { Child, TurnState, UsageFigures } from "./turn.ts";

/** Whether the price depends on tokens. One per turn, or of nothing, needs no figures. */
export function isByTokens(price: Price): boolean {
  const { perTurn: _, ...kinds } = price;
  return Object.values(kinds).some((micro) => micro > 0);
}

/**
 * What the figures so far cost. Tokens decide at our price; the agent's own cost decides where its
 * profile says so, where there are no tokens or no price for them, and where the two disagree.
 */
export function spentMicro(price: Price | null, usage: UsageFigures): number {
  const byTokens = costMicro(price, usage.tokens);
  if (price !== null && !isByTokens(price)) return byTokens;
  if ((usage.costMicro ?? 0) === 0) return byTokens;
  // The agent knows what its models cost, and not what the operator takes for a turn.
  const byAgent = addCounts(usage.costMicro ?? 0, price?.perTurn ?? 0);
  if (usage.decidedBy === "cost" || usage.figures === "none" || price === null) return byAgent;
  const isDoubtful = usage.figures === "partial" || costDisagrees(price, usage);
  return isDoubtful ? Math.max(byAgent, byTokens) : byTokens;
}

/** What a turn has cost so far: what its agent and its children have. */
export function turnMicro(turn: TurnState): number {
  let sum = ownMicro(turn);
  for (const child of turn.children.values()) sum = addCounts(sum, child.spentMicro);
  return sum;
}

/** The same without its children. */
function ownMicro({ currentReservation, lastContextUsage: used }: TurnState): number {
  const price = currentReservation?.price ?? null;
  return used === null ? costMicro(price, NO_TOKENS) : spentMicro(price, used);
}

/** Whether the agent's own cost is so much higher than that of its tokens that one is wrong. */
export function costDisagrees(price: Price | null, usage: UsageFigures): boolean {
  if (price === null || !isByTokens(price) || usage.decidedBy === "cost") return false;
  if (usage.figures !== undefined) return false;
  const byAgent = usage.costMicro ?? 0;
  return byAgent > COST_DISAGREES_TIMES_MAX * Math.max(1, costMicro(price, usage.tokens));
}

/** Adds a later report of the same turn: a smaller figure takes nothing back. */
export function mergedUsage<Usage extends UsageFigures>(before: Usage | null, later: Usage): Usage {
  const tokens = mostTokens(before?.tokens ?? NO_TOKENS, later.tokens);
  const cost = Math.max(before?.costMicro ?? 0, later.costMicro ?? 0);
  return { ...later, tokens, ...(cost > 0 && { costMicro: cost }) };
}

/** Whether figures of the agent tell what the whole turn has used. */
export function isTold(usage: UsageFigures | null): boolean {
  if (usage === null) return false;
  return usage.figures === undefined || (usage.costMicro ?? 0) > 0;
}

/**
 * Whether a turn is priced by tokens and its agent, or that of a child, has not told them. A turn
 * that failed before the agent showed any work has used nothing.
 */
export function isUsageUnknown(turn: TurnState, isCompleted: boolean): boolean {
  if ([...turn.children.values()].some((child) => child.hasWorked && isBlind(child))) return true;
  const price = turn.currentReservation?.price ?? null;
  if (price === null || !isByTokens(price) || isTold(turn.lastContextUsage)) return false;
  const hasWorked = turn.hasOutput || turn.hasThought === true;
  return isCompleted || hasWorked || turn.persistedToolCallIds.size > 0;
}

/**
 * What a turn should hold: what it and its children have spent. As long as an agent tells no
 * figures, every so many of its tool calls count as one more usual turn: so one that reports only
 * at the end meets its limits too. A child of which no figures are told counts as one such turn
 * from its beginning, unless it has ended without work.
 */
export function neededMicro(turn: TurnState): number {
  const reservation = turn.currentReservation;
  if (reservation === null) return 0;
  const { spentMicro: spent, estimateMicro = 0, price } = reservation;
  const usual = (calls: number) => Math.ceil(calls / TOOL_CALLS_PER_RESERVE_MAX) * estimateMicro;
  const children = [...turn.children.values()].filter(({ ended, hasWorked }) => {
    return ended === null || hasWorked;
  });
  const isUntold = isBlind({ price, usage: turn.lastContextUsage });
  const own = isUntold ? usual(turn.persistedToolCallIds.size) : ownMicro(turn);
  let sum = children.some(isBlind) ? Math.max(own, estimateMicro) : own;
  for (const child of children) {
    const { calls = 0, spentMicro: childMicro } = child;
    sum = addCounts(sum, isBlind(child) ? Math.max(usual(calls), estimateMicro) : childMicro);
  }
  return Math.max(spent, sum);
}

/** Whether the cost hangs on tokens that the agent has not told. */
function isBlind({ price, usage }: Pick<Child, "price" | "usage">): boolean {
  return price !== null && isByTokens(price) && !isTold(usage);
}
