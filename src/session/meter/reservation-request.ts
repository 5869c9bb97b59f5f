import type { TurnId, UserId } from "../../core/id.ts";
import type { Session, WaitingPrompt } from "../../core/session/state.ts";
import { type BuiltInName, readSlash, slashTextOf } from "../../core/slash/commands.ts";
import type { SessionKey } from "../../store/store.ts";
import { usedByTurns } from "./allowance.ts";
import type { ReservationRequest } from "./meter.ts";

/** Who wants to begin a turn of this session, and what is known of what it will cost. */
export function reservationRequest(
  key: SessionKey,
  session: Session,
  turn: { readonly turnId: TurnId; readonly userId: UserId | null },
): ReservationRequest {
  const { chosen, surroundings } = session;
  const { chargedMicro: usedMicro, openMicro: heldMicro } = usedByTurns(session);
  return {
    key,
    ...turn,
    agent: chosen.activeAgent,
    model: chosen.modelConfig.modelId ?? surroundings?.model ?? null,
    budgetMicro: chosen.budgetMicro,
    usedMicro,
    heldMicro,
    monthBudgetMicro: chosen.monthBudgetMicro ?? null,
    isAside: false,
  };
}

/** By what a turn was found too dear: another of these is worth another try. */
export function wantsOf({ chosen, surroundings }: Session, { promptId }: WaitingPrompt): string {
  const { activeAgent, modelConfig, budgetMicro, monthBudgetMicro = null } = chosen;
  const model = modelConfig.modelId ?? surroundings?.model ?? null;
  return JSON.stringify([promptId, activeAgent, model, budgetMicro, monthBudgetMicro]);
}

/** Whether the user has told the session to take another model or agent, and it has not yet. */
export function isRepriced({ queue }: Session, userId: UserId | null): boolean {
  return queue.some((prompt) => {
    const text = prompt.userId === userId ? slashTextOf(prompt.content) : null;
    return text !== null && REPRICING.has(readSlash(text)?.name ?? "");
  });
}

const REPRICING: ReadonlySet<string> = new Set(["model", "agent"] satisfies BuiltInName[]);
