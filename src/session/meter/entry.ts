import {
  parseTurnId,
  parseUserId,
  type SessionId,
  type TurnId,
  type UserId,
} from "../../core/id.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { type LedgerEntry, settle } from "../../core/ledger.ts";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { addTokens, isCount, isTokenUsage, NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";
import { isByTokens, isTold, spentMicro } from "../../core/turn-cost.ts";
import type { JournalEntry, JournalRow, SessionKey } from "../../store/store.ts";
import type { Written } from "../actor/written.ts";
import type { AsideUse, ReservationRequest, TurnCredit } from "./meter.ts";
import type { Quote } from "./price-table.ts";

/** One entry of the ledger's journal, as it is written: never with the time, which is beside it. */
export interface LedgerLine extends LedgerEntry {
  readonly userId: UserId | null;
  /** Of a charge: what was used, by which agent and model. */
  readonly agent: string | null;
  readonly model: string | null;
  readonly tokens: TokenUsage;
  /** False for work whose price is unknown. */
  readonly isPriced: boolean;
  /** False where the agent did not tell its tokens, and the reserve was charged. */
  readonly isUsageKnown: boolean;
  /** Of a grant or its revocation: what was said about it. */
  readonly note: string | null;
  /** True for what was asked beside a session, which is no turn of it. */
  readonly isAside: boolean;
}

/** The same, with its place in the journal. */
export interface StatementLine extends LedgerLine {
  readonly seq: number;
  readonly atMs: number;
  readonly sessionId: SessionId | null;
}

const PLAIN = {
  agent: null,
  model: null,
  tokens: NO_TOKENS,
  isPriced: true,
  isUsageKnown: true,
  note: null,
};

/** A line of which nothing more is to be said than whose it is. */
export function plainLine(
  { kind, turnId, n, amountMicro }: LedgerEntry,
  userId: UserId | null,
  isAside = false,
): LedgerLine {
  return { ...PLAIN, kind, turnId, n, amountMicro, userId, isAside };
}

export function keyOf({ kind, turnId, n }: LedgerEntry): string {
  return `${turnId} ${kind} ${n}`;
}

export function journalEntry(
  line: LedgerLine,
  sessionId: SessionId | null,
  atMs: number,
): JournalEntry {
  return { journal: "ledger", key: keyOf(line), sessionId, atMs, text: textOf(line) };
}

/** The same line is always the same text: by that a repeat is known from a conflict. */
function textOf(line: LedgerLine): string {
  const { kind, turnId, n, amountMicro, userId, agent, model, tokens, isPriced, note } = line;
  const { isAside, isUsageKnown } = line;
  const charged = {
    ...(model !== null && { model }),
    tokens,
    ...(!isPriced && { priced: false }),
    ...(!isUsageKnown && { usage: "unknown" }),
  };
  return JSON.stringify({
    v: 1,
    kind,
    turnId,
    n,
    amountMicro,
    ...(userId !== null && { userId }),
    ...(agent !== null && { agent }),
    ...(kind === "charge" && charged),
    ...(note !== null && { note }),
    ...(isAside && { aside: true }),
  });
}

/** Null if it is none that we would have written. */
export function readLine({ seq, atMs, sessionId, text }: JournalRow): StatementLine | null {
  const said: unknown = JSON.parse(text);
  if (!isObject(said) || said.v !== 1) return null;
  const { kind, n, amountMicro } = said;
  const turnId = turnIdAt(said);
  if (!isKind(kind) || turnId === null) return null;
  if (typeof n !== "number" || !isCount(n)) return null;
  if (typeof amountMicro !== "number" || !isCount(amountMicro)) return null;
  const tokens = tokensAt(said);
  const user = stringAt(said, "userId");
  return {
    seq,
    atMs,
    sessionId,
    kind,
    turnId,
    n,
    amountMicro,
    userId: user === null ? null : parseUserId(user),
    agent: stringAt(said, "agent"),
    model: stringAt(said, "model"),
    tokens,
    isPriced: said.priced !== false,
    isUsageKnown: said.usage !== "unknown",
    note: stringAt(said, "note"),
    isAside: said.aside === true,
  };
}

function turnIdAt(said: JsonObject): TurnId | null {
  const turnId = stringAt(said, "turnId");
  return turnId === null ? null : parseTurnId(turnId);
}

const KINDS: readonly LedgerEntry["kind"][] = ["grant", "revoke", "reserve", "charge", "release"];

function isKind(value: unknown): value is LedgerEntry["kind"] {
  return KINDS.some((kind) => kind === value);
}

function tokensAt(said: JsonObject): TokenUsage {
  const found = objectAt(said, "tokens") ?? {};
  const count = (name: keyof TokenUsage) => {
    const value = found[name];
    return typeof value === "number" ? value : 0;
  };
  const tokens = {
    input: count("input"),
    output: count("output"),
    cachedRead: count("cachedRead"),
    cachedWrite: count("cachedWrite"),
    thought: count("thought"),
  };
  return isTokenUsage(tokens) ? tokens : NO_TOKENS;
}

/**
 * The ledger's entries of a settlement, which are committed with the verdict: after any crash
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
  const isUsageKnown = settled.data.usage !== "unknown";
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
  const line = { ...plainLine(charge, userId), ...usedIn(before), isUsageKnown };
  const released = releasedMicro > 0 ? [entry(release)] : [];
  return [...further, journalEntry(line, sessionId, atMs), ...released];
}

/** What a turn begins with; the model's name is kept as long as a name may be in the ledger. */
export function creditOf(
  { model }: ReservationRequest,
  quote: Quote | null,
  reservedMicro: number,
): TurnCredit {
  return { reservedMicro, price: quote?.price ?? null, model: nameOf(model) };
}

/**
 * The model is the one that the agent has told of in this turn, else the one that the turn began
 * with: what was chosen in the meantime is for the next. A log that did not tell has but the last.
 * What the children of the turn have used is a part of it.
 */
function usedIn({ chosen, connection }: Session) {
  const { currentReservation, lastContextUsage, children } = connection.turn;
  const begunWith = currentReservation?.model;
  const quoted = begunWith === undefined ? chosen.modelConfig.modelId : begunWith;
  return {
    agent: cutText(chosen.activeAgent, AGENT_NAME_CHARS_MAX),
    model: nameOf(lastContextUsage?.model ?? quoted),
    tokens: [...children.values()].reduce(
      (sum, { usage }) => (usage === null ? sum : addTokens(sum, usage.tokens)),
      lastContextUsage?.tokens ?? NO_TOKENS,
    ),
    isPriced: currentReservation !== null && currentReservation.price !== null,
  };
}

/** The same for a question beside a session, whose only record is the ledger. */
export function asideLines(
  { turnId, userId, agent, model }: ReservationRequest,
  { reservedMicro, price }: TurnCredit,
  use: AsideUse,
): readonly LedgerLine[] {
  const spent = spentMicro(price, use);
  const reservation = { turnId, reservedMicro, slices: 1, price, spentMicro: spent };
  const isUsageKnown = price === null || !isByTokens(price) || isTold(use);
  const { furtherMicro, chargedMicro, releasedMicro } = settle(reservation, !isUsageKnown);
  const line = (kind: LedgerEntry["kind"], n: number, amountMicro: number) =>
    plainLine({ kind, turnId, n, amountMicro }, userId, true);
  const charge = {
    ...line("charge", 0, chargedMicro),
    agent: cutText(agent, AGENT_NAME_CHARS_MAX),
    model: nameOf(use.model ?? model),
    tokens: use.tokens,
    isPriced: price !== null,
    isUsageKnown,
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

/** What an id of a grant is, in words. */
export const GRANT_ID_RULE = "1 to 128 letters, digits and . _ : -, as in 2026-05";

/** The id of a grant, which stands in the ledger where a turn's does. */
export function readGrantId(id: string): Result<TurnId> {
  const known = parseTurnId(id);
  if (known !== null) return ok(known);
  return fail("invalid_request", { reason: `A grant's id is ${GRANT_ID_RULE}.` });
}
