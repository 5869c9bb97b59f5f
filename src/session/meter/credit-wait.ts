import type { Refusal } from "../../core/error.ts";
import type { CreditScope } from "../../core/ledger.ts";
import type { Announcements, CreditWait } from "../../core/session/event.ts";

/** The prompt that waits at the head of the queue, and what it waits for. */
export type WaitingForCredit = Announcements["credits_waiting"];

/** What a prompt waits for; null if more credit, another price or another model would not help. */
export function creditWait({ code, details }: Refusal): CreditWait | null {
  const { scope, neededMicro, availableMicro, agent, model } = details;
  if (code === "price_unknown") return { code, agent: `${agent}`, model: `${model}` };
  if (code !== "insufficient_credits" || !isScope(scope)) return null;
  const figures = { neededMicro: Number(neededMicro), availableMicro: Number(availableMicro) };
  return { code, scope, ...figures };
}

/** Whether it is the same wait, however much is missing by now. */
export function isSameWait(one: WaitingForCredit, other: WaitingForCredit | null): boolean {
  return (["promptId", "code", "scope"] as const).every((name) => one[name] === other?.[name]);
}

const SCOPES = { balance: true, tenant: true, user: true, session: true } as const satisfies Record<
  CreditScope,
  true
>;

function isScope(scope: unknown): scope is CreditScope {
  return typeof scope === "string" && Object.hasOwn(SCOPES, scope);
}
