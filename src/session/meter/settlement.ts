import { type LedgerEntry, settle } from "../../core/ledger.ts";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { costMicro, NO_TOKENS } from "../../core/price.ts";
import type { Session } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";
import type { JournalEntry, SessionKey } from "../../store/store.ts";
import type { Written } from "../actor/written.ts";
import { journalEntry, type LedgerLine, plainLine } from "./entry.ts";
import type { AsideUse, TurnCredit, TurnOrder } from "./meter.ts";
import type { Quote } from "./price-table.ts";

/**
 * The ledger's entries of a settlement, which are committed with the verdict: whatever crashes,
 * there is never one without the other. What was reserved before is in the ledger already; what
 * was overspent is reserved here, so that reserved = charged + released (P9). A turn that cost
 * nothing has its charge too: by these, usage is counted.
 */
export function settlementEntries(
  { sessionId }: SessionKey,
  before: Session,
  written: readonly Written[],
): readonly JournalEntry[] {
  const settled = written.find(({ event }) => event.type === "credits_settled")?.event;
  if (settled?.type !== "credits_settled") return [];
  const { turnId, chargedMicro, releasedMicro } = settled.data;
  const userId = before.running?.userId ?? null;
  const atMs = settled._meta.serverTimestamp;
  const entry = (one: LedgerEntry) => journalEntry(plainLine(one, userId), sessionId, atMs);
  const further = written.flatMap(({ event }) => {
    if (event.type !== "credits_reserved") return [];
    const { n, amountMicro } = event.data;
    return [entry({ kind: "reserve", turnId, n, amountMicro })];
  });
  const release = { kind: "release", turnId, n: 0, amountMicro: releasedMicro } as const;
  const charge = { kind: "charge", turnId, n: 0, amountMicro: chargedMicro } as const;
  const line = { ...plainLine(charge, userId), ...usedIn(before) };
  const released = releasedMicro > 0 ? [entry(release)] : [];
  return [...further, journalEntry(line, sessionId, atMs), ...released];
}

/** What a turn begins with; the model's name is kept as long as a name may be in the ledger. */
export function creditOf(
  { model }: TurnOrder,
  quote: Quote | null,
  reservedMicro: number,
): TurnCredit {
  return { reservedMicro, price: quote?.price ?? null, model: nameOf(model) };
}

/**
 * The model is the one that the agent has told of in this turn, else the one that the turn began
 * with: what was chosen in the meantime is for the next. A log that did not tell has but the last.
 */
function usedIn({ chosen, connection }: Session) {
  const { currentReservation, lastContextUsage } = connection.turn;
  const begunWith = currentReservation?.model;
  const quoted = begunWith === undefined ? chosen.modelConfig.modelId : begunWith;
  return {
    agent: cutText(chosen.activeAgent, AGENT_NAME_CHARS_MAX),
    model: nameOf(lastContextUsage?.model ?? quoted),
    tokens: lastContextUsage?.tokens ?? NO_TOKENS,
    isPriced: currentReservation !== null && currentReservation.price !== null,
  };
}

/** The same for a question beside a session, whose only record is the ledger. */
export function asideLines(
  { turnId, userId, agent, model }: TurnOrder,
  { reservedMicro, price }: TurnCredit,
  use: AsideUse,
): readonly LedgerLine[] {
  const spentMicro = costMicro(price, use.tokens);
  const reservation = { turnId, reservedMicro, slices: 1, price, spentMicro };
  const { furtherMicro, chargedMicro, releasedMicro } = settle(reservation);
  const line = (kind: LedgerEntry["kind"], n: number, amountMicro: number) =>
    plainLine({ kind, turnId, n, amountMicro }, userId, true);
  const charge = {
    ...line("charge", 0, chargedMicro),
    agent: cutText(agent, AGENT_NAME_CHARS_MAX),
    model: nameOf(use.model ?? model),
    tokens: use.tokens,
    isPriced: price !== null,
  };
  return [
    ...(furtherMicro > 0 ? [line("reserve", 1, furtherMicro)] : []),
    charge,
    ...(releasedMicro > 0 ? [line("release", 0, releasedMicro)] : []),
  ];
}

function nameOf(model: string | null): string | null {
  return model && cutText(model, AGENT_NAME_CHARS_MAX);
}
