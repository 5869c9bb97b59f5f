import { parseAskId, parseChildId, parseTurnId } from "../id.ts";
import type { JsonObject } from "../json.ts";
import type { Access, Permit } from "../policy/access.ts";
import { type Ask, type AskOption, MEDIATION_POLICIES, type Mediation } from "../policy/ask.ts";
import { AUTONOMY_PROFILES, RISK_TIERS } from "../policy/risk.ts";
import type { Price, TokenUsage } from "../price.ts";
import {
  CHILD_STATES,
  type Child,
  type ChildRules,
  type ContextUsage,
  type CreditReservation,
  type PendingToolCall,
  type TurnState,
} from "../turn.ts";
import {
  atLeastOne,
  type Codec,
  count,
  either,
  type Fields,
  flag,
  foreign,
  id,
  list,
  map,
  mapBy,
  object,
  oneOf,
  optional,
  orNull,
  set,
  text,
  whole,
  yes,
} from "./slot-codec.ts";

/** What every field of a turn is in the slot of its session, and what a session has as well. */

export const turnId = id(parseTurnId);
export const askId = id(parseAskId);
export const childId = id(parseChildId);

/** A clock may have been before 1970; it was never at half a millisecond. */
export const timeMs = whole;

export const riskTier = oneOf(...RISK_TIERS);

export const jsonObject = foreign((_): _ is JsonObject => true);
const askOption = foreign((option): option is AskOption => typeof option.optionId === "string");

export const TOKENS: Fields<TokenUsage> = {
  input: count,
  output: count,
  cachedRead: count,
  cachedWrite: count,
  thought: count,
};

const PRICE: Fields<Price> = { ...TOKENS, perTurn: count };

const MEDIATION: Fields<Mediation> = {
  policy: oneOf(...MEDIATION_POLICIES),
  designated: orNull(text),
  voters: list(text),
  quorum: atLeastOne,
  owners: optional(yes),
};

type TerminalAccess = Extract<Access, { action: "terminal" }>;

const access: Codec<Access> = either(
  (value: Access): value is TerminalAccess => value.action === "terminal",
  object({ action: oneOf("terminal"), command: text, cwd: text }),
  object({ action: oneOf("write", "read"), path: text }),
);

export const PERMIT: Fields<Permit> = {
  requestId: askId,
  toolCallId: orNull(text),
  keys: list(text),
  allowed: flag,
};

const ASK: Fields<Ask> = {
  requestId: askId,
  kind: oneOf("permission", "user_question"),
  toolCall: jsonObject,
  options: list(askOption),
  keys: list(text),
  covers: optional(list(text)),
  tier: riskTier,
  access: optional(access),
  mediation: object(MEDIATION),
  votes: map(text, text),
  askedAtMs: timeMs,
  deadlineAtMs: orNull(timeMs),
  childId: optional(childId),
};

const TOOL_CALL: Fields<PendingToolCall> = { toolName: text, startedAt: timeMs };

const RESERVATION: Fields<CreditReservation> = {
  turnId,
  reservedMicro: count,
  slices: atLeastOne,
  price: orNull(object(PRICE)),
  spentMicro: count,
  model: optional(orNull(text)),
  estimateMicro: optional(count),
};

const CONTEXT_USAGE: Fields<ContextUsage> = {
  model: orNull(text),
  used: orNull(count),
  size: orNull(count),
  tokens: object(TOKENS),
  figures: optional(oneOf("none", "partial")),
  costMicro: optional(count),
  decidedBy: optional(oneOf("cost")),
};

const CHILD_RULES: Fields<ChildRules> = {
  autonomyProfile: oneOf(...AUTONOMY_PROFILES),
  isPlanning: flag,
  grants: set(text),
  readOnly: flag,
};

const CHILD: Fields<Child> = {
  childId,
  callId: text,
  title: text,
  agent: text,
  model: orNull(text),
  startedAtMs: timeMs,
  deadlineAtMs: timeMs,
  rules: object(CHILD_RULES),
  permits: list(object(PERMIT)),
  openCalls: set(text),
  hasWorked: flag,
  calls: optional(count),
  price: orNull(object(PRICE)),
  usage: orNull(object(CONTEXT_USAGE)),
  spentMicro: count,
  ended: orNull(oneOf(...CHILD_STATES)),
};

export const TURN: Fields<TurnState> = {
  turnId: orNull(turnId),
  hasOutput: flag,
  hasThought: optional(flag),
  pendingToolCalls: map(text, object(TOOL_CALL)),
  completedToolIds: set(text),
  persistedToolCallIds: set(text),
  openAsks: mapBy(object(ASK), ({ requestId }) => requestId),
  currentReservation: orNull(object(RESERVATION)),
  lastContextUsage: orNull(object(CONTEXT_USAGE)),
  children: mapBy(object(CHILD), (child) => child.childId),
};
