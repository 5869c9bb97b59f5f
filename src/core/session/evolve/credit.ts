import { MODELS_COUNTED_MAX } from "../../limits.ts";
import { addTokens, costMicro, NO_TOKENS } from "../../price.ts";
import type { ContextUsage, CreditReservation } from "../../turn.ts";
import type { SessionEvent } from "../event.ts";
import { inTurn, type Session, type Totals } from "../state.ts";

/** The first slice opens the turn's reservation, each further one adds to it. */
export function reserved(session: Session, { data }: SessionEvent<"credits_reserved">): Session {
  const { turnId, amountMicro, price } = data;
  const open = session.connection.turn.currentReservation;
  const currentReservation: CreditReservation =
    open === null
      ? {
          turnId,
          reservedMicro: amountMicro,
          slices: 1,
          price,
          spentMicro: costMicro(price, NO_TOKENS),
        }
      : { ...open, reservedMicro: open.reservedMicro + amountMicro, slices: open.slices + 1 };
  return inTurn(session, { currentReservation });
}

/** What an agent reports covers its whole turn so far, so the latest report is the one. */
export function usageReported(session: Session, { data }: SessionEvent<"usage_reported">): Session {
  const open = session.connection.turn.currentReservation;
  if (open === null || open.turnId !== data.turnId) return session;
  const spentMicro = costMicro(open.price, data.usage.tokens);
  return inTurn(session, {
    lastContextUsage: data.usage,
    currentReservation: { ...open, spentMicro },
  });
}

export function settled(session: Session, { data }: SessionEvent<"credits_settled">): Session {
  const usage = session.connection.turn.lastContextUsage;
  const totals = {
    ...session.totals,
    chargedMicro: session.totals.chargedMicro + data.chargedMicro,
    tokensByModel: usage === null ? session.totals.tokensByModel : withUsage(session.totals, usage),
  };
  return inTurn({ ...session, totals }, { currentReservation: null });
}

function withUsage({ tokensByModel }: Totals, usage: ContextUsage): Totals["tokensByModel"] {
  const named = usage.model ?? "unknown";
  const full = tokensByModel.size >= MODELS_COUNTED_MAX && !tokensByModel.has(named);
  const model = full ? "other" : named;
  const tokens = addTokens(tokensByModel.get(model) ?? NO_TOKENS, usage.tokens);
  return new Map(tokensByModel).set(model, tokens);
}
