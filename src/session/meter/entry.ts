import {
  parseTurnId,
  parseUserId,
  type SessionId,
  type TurnId,
  type UserId,
} from "../../core/id.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import type { LedgerEntry } from "../../core/ledger.ts";
import { isCount, isTokenUsage, NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import type { JournalEntry, JournalRow } from "../../store/store.ts";

/** One entry of the ledger's journal, as it is written: never with the time, which is beside it. */
export interface LedgerLine extends LedgerEntry {
  readonly userId: UserId | null;
  /** Of a charge: what was used, by which agent and model. */
  readonly agent: string | null;
  readonly model: string | null;
  readonly tokens: TokenUsage;
  /** False for work whose price nobody knew. */
  readonly isPriced: boolean;
  /** Of a grant: what was said about it. */
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

const PLAIN = { agent: null, model: null, tokens: NO_TOKENS, isPriced: true, note: null };

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
  const { isAside } = line;
  const charged = { ...(model !== null && { model }), tokens, ...(!isPriced && { priced: false }) };
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
    note: stringAt(said, "note"),
    isAside: said.aside === true,
  };
}

function turnIdAt(said: JsonObject): TurnId | null {
  const turnId = stringAt(said, "turnId");
  return turnId === null ? null : parseTurnId(turnId);
}

const KINDS: readonly LedgerEntry["kind"][] = ["grant", "reserve", "charge", "release"];

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
