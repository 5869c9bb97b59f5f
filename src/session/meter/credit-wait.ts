import type { Refusal } from "../../core/error.ts";
import { BUDGET_PERIODS, type BudgetPeriod, type CreditScope } from "../../core/ledger.ts";
import { CREDIT_RETRY_MS, MONTH_WAIT_MS_MAX } from "../../core/limits.ts";
import type { CreditWait } from "../../core/session/credit-event.ts";
import type { Announcements } from "../../core/session/event.ts";

/** The prompt that waits at the head of the queue, and what it waits for. */
export type WaitingForCredit = Announcements["credits_waiting"];

/** What a prompt waits for; null if more credit, another price or another model would not help. */
export function creditWait({ code, details }: Refusal): CreditWait | null {
  const { scope, period, renewsAt, neededMicro, availableMicro, agent, model } = details;
  if (code === "price_unknown") return { code, agent: `${agent}`, model: `${model}` };
  if (code !== "insufficient_credits" || !isScope(scope)) return null;
  const figures = { neededMicro: Number(neededMicro), availableMicro: Number(availableMicro) };
  const renewal = typeof renewsAt === "string" ? { renewsAt } : {};
  return { code, scope, ...(isPeriod(period) && { period }), ...figures, ...renewal };
}

/** Whether it is the same wait, however much is missing by now. */
export function isSameWait(one: WaitingForCredit, other: WaitingForCredit | null): boolean {
  return (["promptId", "code", "scope", "period"] as const).every(
    (name) => one[name] === other?.[name],
  );
}

function isPeriod(period: unknown): period is BudgetPeriod {
  return BUDGET_PERIODS.some((one) => one === period);
}

const SCOPES = { balance: true, tenant: true, user: true, session: true } as const satisfies Record<
  CreditScope,
  true
>;

function isScope(scope: unknown): scope is CreditScope {
  return typeof scope === "string" && Object.hasOwn(SCOPES, scope);
}

/** Only more credit, another price or another model helps. */
export function isPoor(code: string): boolean {
  return code === "insufficient_credits" || code === "price_unknown";
}

/**
 * After how long it is worth another attempt although nothing was raised: soon if the store could
 * not answer, at the next month if a monthly budget is used up, else never. A timer does not see
 * that a clock was set, so a long wait is taken in parts.
 */
export function retryTimes({ code, details }: Refusal, nowMs: number): readonly number[] {
  if (!isPoor(code)) return [CREDIT_RETRY_MS];
  const { renewsAt } = details;
  if (typeof renewsAt !== "string") return [];
  const leftMs = Math.max(0, Date.parse(renewsAt) - nowMs);
  return [Math.min(leftMs, MONTH_WAIT_MS_MAX)];
}
