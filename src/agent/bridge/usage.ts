import { type AgentUpdate, type ToolCallNews, toolCallNews } from "../../core/agent-update.ts";
import { type JsonObject, objectAt } from "../../core/json.ts";
import {
  SUSPECT_DETAIL_CHARS_MAX,
  TOOL_CALLS_TRACKED_MAX,
  TURN_COST_MICRO_MAX,
  TURN_TOKENS_MAX,
} from "../../core/limits.ts";
import { NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import type { SuspectReason, UsageSuspicion } from "../../core/session/credit-event.ts";
import { cutText } from "../../core/text.ts";
import type { ContextUsage, MissingFigures } from "../../core/turn.ts";
import type { UsageScope } from "../profile/profile.ts";
import {
  countAt,
  eachKind,
  eachOnce,
  modelOfUpdate,
  NO_USAGE,
  type ReportedUsage,
  readAnswer,
  readCost,
  readUsage,
  TOKEN_KEYS,
} from "./figures.ts";

/**
 * The one reading of what an agent reports of its usage, by what the agent's profile says that its
 * figures are of. Of totals only the growth counts, so that no token is paid for twice (P9). What
 * cannot be right is not counted, and is kept as a suspicion.
 */
export class UsageMeter {
  readonly #scope: UsageScope;
  #used: number | null = null;
  #size: number | null = null;
  #model: string | null = null;
  /** The prompts of this turn that the agent has answered. */
  #counted: TokenUsage = NO_TOKENS;
  /** The running prompt, by its updates so far. */
  #running: TokenUsage = NO_TOKENS;
  #hasFigures = false;
  /** What the agent told last of the running prompt was no figure. */
  #isUnread = false;
  /** A part of the turn stays unknown, even if further figures come. */
  #isPartUnknown = false;
  /** The figures of the last answer, until the agent goes on. */
  #lastAnswer: string | null = null;
  #turnCostMicro = 0;
  /** A cost that may be followed by tokens, which would decide. */
  #heldCostMicro = 0;
  /** The highest totals of the session so far; null if the agent may count from before. */
  #totals: ReportedUsage | null = NO_USAGE;
  #costMicro: number | null = 0;
  readonly #calls = new ModelCalls();
  #isInTurn = false;
  #suspicions: UsageSuspicion[] = [];

  constructor(scope: UsageScope) {
    this.#scope = scope;
  }

  turnBegins() {
    this.#isInTurn = true;
    this.#counted = NO_TOKENS;
    this.#running = NO_TOKENS;
    this.#hasFigures = false;
    this.#isUnread = false;
    this.#isPartUnknown = false;
    this.#lastAnswer = null;
    // Another turn's name would set the price of a turn that names no model.
    this.#model = null;
    this.#turnCostMicro = 0;
    this.#heldCostMicro = 0;
    this.#calls.turnBegins();
  }

  turnEnds() {
    this.#isInTurn = false;
  }

  /** The agent has the session from before, and may go on counting from there. */
  restored() {
    this.#totals = null;
    this.#costMicro = null;
  }

  /** Learns from an update of any kind. Answers whether it reports usage. */
  learn(update: AgentUpdate): boolean {
    if (update.sessionUpdate === "usage_update") {
      this.#updated(update);
      return true;
    }
    this.#lastAnswer = null;
    // The turn goes on after a cost that no tokens came with: it counts.
    const isCost = this.takeHeldCost();
    if (update.sessionUpdate !== "agent_message_chunk") {
      this.#calls.learn(toolCallNews(update));
      return isCost;
    }
    // The tokens of one model call, which Qwen Code reports with an empty chunk at its end.
    const call = objectAt(objectAt(update, "_meta") ?? {}, "usage");
    if (call !== null) this.#called(call);
    return isCost || call !== null;
  }

  get holdsCost(): boolean {
    return this.#heldCostMicro > 0;
  }

  /** Counts a cost that no tokens came with. False if there is none. */
  takeHeldCost(): boolean {
    if (this.#heldCostMicro === 0) return false;
    this.#turnCostMicro += this.#heldCostMicro;
    this.#heldCostMicro = 0;
    return true;
  }

  /** Takes a `usage_update`: how full the context is. Some agents add the cost or the tokens. */
  #updated(update: AgentUpdate) {
    this.#used = countAt(update, "used");
    this.#size = countAt(update, "size");
    this.#model = modelOfUpdate(update) ?? this.#model;
    const cost = objectAt(update, "cost");
    if (cost !== null) this.#costs(cost);
    const usage = objectAt(update, "usage");
    if (usage === null) return;
    if (this.#scope === "call") this.#called(usage);
    else this.#soFar(readUsage(usage));
  }

  /** Tokens of one model call. A usage in the prompt's answer replaces the sum of them. */
  #called(usage: JsonObject) {
    const reported = readUsage(usage);
    if (this.#scope === "session" || !this.#isBelieved(reported) || this.#isLate(reported)) return;
    this.#calls.reported(reported.tokens);
    this.#figure(sum(this.#running, eachOnce(reported)));
  }

  /** Tokens of the prompt, or of the session, so far. */
  #soFar(reported: ReportedUsage) {
    if (this.#scope === "session") return this.#grown(reported);
    if (this.#isAnswered(reported)) return;
    if (!this.#isBelieved(reported) || this.#isLate(reported)) return;
    this.#replace(eachOnce(reported));
  }

  /** Takes figures of the whole prompt, which replace those that came before. */
  #replace(tokens: TokenUsage) {
    this.#doubtFall(this.#running, tokens);
    this.#isUnread = false;
    this.#figure(tokens);
  }

  #figure(running: TokenUsage) {
    this.#running = running;
    this.#hasFigures = true;
  }

  /** Whether the last answer had the same: an agent that has merged two prompts repeats it. */
  #isAnswered(reported: ReportedUsage): boolean {
    return this.#lastAnswer === JSON.stringify(reported);
  }

  /** Takes a prompt's answer: all of its model calls. False if it tells nothing of them. */
  answered(answer: JsonObject): boolean {
    const { usage, model } = readAnswer(answer);
    this.#model = model ?? this.#model;
    const isRepeated = usage !== null && this.#isAnswered(usage);
    if (usage !== null && !isRepeated) this.#countAnswer(usage);
    this.#lastAnswer = usage && JSON.stringify(usage);
    const isCost = this.takeHeldCost();
    this.#counted = sum(this.#counted, this.#running);
    this.#running = NO_TOKENS;
    // Totals that come later have it all; other figures are of later prompts only.
    if (this.#scope !== "session") this.#isPartUnknown ||= this.#isUnread;
    return (usage !== null && !isRepeated) || isCost;
  }

  #countAnswer(reported: ReportedUsage) {
    if (this.#scope === "session") return this.#grown(reported);
    if (!this.#isBelieved(reported)) return;
    const tokens = eachOnce(reported);
    if (this.#scope !== "call") return this.#replace(tokens);
    if (this.#calls.isLast(reported.tokens)) return;
    if (!isSumOf(this.#running, tokens)) return this.#figure(sum(this.#running, tokens));
    this.#doubt("sum_repeated", `${tokensText(this.#running)}, then ${tokensText(tokens)}`);
    this.#replace(tokens);
  }

  reading(model: string | null): ContextUsage {
    const tokens = sum(this.#counted, this.#running);
    const figures = this.#missing();
    return {
      model: this.#model ?? model,
      used: this.#used,
      size: this.#size,
      tokens,
      ...(figures !== null && { figures }),
      ...(this.#turnCostMicro > 0 && { costMicro: this.#turnCostMicro }),
      ...(this.#scope === "cost" && { decidedBy: "cost" as const }),
    };
  }

  /** What was found doubtful since the last call of this. */
  takeSuspicions(): readonly UsageSuspicion[] {
    return this.#suspicions.splice(0);
  }

  #missing(): MissingFigures | null {
    if (!this.#hasFigures) return "none";
    if (this.#isUnread || this.#isPartUnknown) return "partial";
    const isOfCalls = this.#scope === "call" || this.#scope === "cost";
    return isOfCalls && this.#calls.isMissingSome ? "partial" : null;
  }

  /**
   * Counts what totals have grown by. Totals that fell may have been paid for already, so only
   * what passes the highest ones counts. Tokens counted in two kinds are removed from the growth
   * and not from the totals, which must stay comparable with the next.
   */
  #grown(reported: ReportedUsage) {
    if (!this.#isValid(reported)) return;
    const before = this.#totals;
    if (before === null) {
      this.#totals = reported;
      if (!this.#isInTurn) return;
      this.#isPartUnknown = true;
      return this.#doubt("unknown_start", tokensText(reported.tokens));
    }
    const tokens = eachKind((key) => reported.tokens[key] - before.tokens[key]);
    if (TOKEN_KEYS.some((key) => tokens[key] < 0)) {
      const detail = `${tokensText(before.tokens)}, then ${tokensText(reported.tokens)}`;
      return this.#doubt("fell", detail);
    }
    this.#totals = reported;
    const isKnown = reported.total !== null && before.total !== null;
    const growth = { tokens, total: isKnown ? reported.total - before.total : null, fault: null };
    const isNothing = TOKEN_KEYS.every((key) => tokens[key] === 0);
    if (isNothing && !this.#isInTurn) return;
    if (!this.#isBelieved(growth) || this.#isLate(growth)) return;
    this.#isUnread = false;
    this.#figure(sum(this.#running, eachOnce(growth)));
  }

  /** Takes a cost, which is the session's so far. */
  #costs(cost: JsonObject) {
    const read = readCost(cost);
    if ("fault" in read) return this.#doubt(read.fault, `a cost of ${read.said}`);
    const before = this.#costMicro;
    if (before !== null && read.micro < before) {
      return this.#doubt("fell", `a cost of ${before} micro-credits, then ${read.micro}`);
    }
    const words = `a cost of ${read.micro} micro-credits`;
    const turnMicro =
      this.#turnCostMicro + this.#heldCostMicro + read.micro - (before ?? read.micro);
    if (turnMicro > TURN_COST_MICRO_MAX) return this.#doubt("jumped", `${words} in one turn`);
    this.#costMicro = read.micro;
    if (before === null) {
      if (this.#isInTurn) this.#doubt("unknown_start", words);
      return;
    }
    const grown = read.micro - before;
    if (grown === 0) return;
    if (!this.#isInTurn) return this.#doubt("after_verdict", words);
    if (this.#scope === "cost") this.#turnCostMicro += grown;
    else this.#heldCostMicro += grown;
  }

  /** Whether they are figures. Those that are not leave what they are of unknown. */
  #isValid({ fault }: ReportedUsage): boolean {
    if (fault !== null) this.#unread("invalid", fault);
    return fault === null;
  }

  /** Whether a turn can have used so much. */
  #isBelieved(reported: ReportedUsage): boolean {
    if (!this.#isValid(reported)) return false;
    const isTooMuch = TOKEN_KEYS.some((key) => reported.tokens[key] > TURN_TOKENS_MAX);
    if (isTooMuch) this.#unread("jumped", `${tokensText(reported.tokens)} in one turn`);
    return !isTooMuch;
  }

  #unread(reason: SuspectReason, detail: string) {
    this.#isUnread = true;
    this.#doubt(reason, detail);
  }

  #isLate({ tokens }: ReportedUsage): boolean {
    if (!this.#isInTurn) this.#doubt("after_verdict", tokensText(tokens));
    return !this.#isInTurn;
  }

  #doubtFall(before: TokenUsage, after: TokenUsage) {
    if (!TOKEN_KEYS.some((key) => after[key] < before[key])) return;
    this.#doubt("fell", `${tokensText(before)}, then ${tokensText(after)}`);
  }

  /** Each reason once, until the suspicions are taken. */
  #doubt(reason: SuspectReason, detail: string) {
    if (this.#suspicions.some((one) => one.reason === reason)) return;
    this.#suspicions.push({ reason, detail: cutText(detail, SUSPECT_DETAIL_CHARS_MAX) });
  }
}

/**
 * The model calls of a turn, as far as they can be seen: the first, and one more whenever tool
 * calls have ended. An agent that tells the figures of its last call only is found by this.
 */
class ModelCalls {
  #seen = 1;
  #reported = 0;
  #last: string | null = null;
  /** A tool call has ended, and none has begun since. */
  #isAnswered = false;
  readonly #begun = new Set<string>();
  readonly #ended = new Set<string>();

  turnBegins() {
    this.#seen = 1;
    this.#reported = 0;
    this.#last = null;
    this.#isAnswered = false;
    this.#begun.clear();
    this.#ended.clear();
  }

  learn(news: ToolCallNews | null) {
    if (news === null || this.#begun.size >= TOOL_CALLS_TRACKED_MAX) return;
    const { toolCallId, status } = news;
    if (!this.#begun.has(toolCallId)) this.#isAnswered = false;
    this.#begun.add(toolCallId);
    if (status === "open" || this.#ended.has(toolCallId)) return;
    this.#ended.add(toolCallId);
    if (!this.#isAnswered) this.#seen += 1;
    this.#isAnswered = true;
  }

  /** Figures of one call came in the middle of the turn. */
  reported(tokens: TokenUsage) {
    this.#reported += 1;
    this.#last = JSON.stringify(tokens);
  }

  /** Whether these are the figures that were reported last. */
  isLast(tokens: TokenUsage): boolean {
    return JSON.stringify(tokens) === this.#last;
  }

  /** Whether figures of the last call can only be a part: there were others, and none had any. */
  get isMissingSome(): boolean {
    return this.#reported === 0 && this.#seen > 1;
  }
}

function sum(one: TokenUsage, other: TokenUsage): TokenUsage {
  return eachKind((key) => Math.min(one[key] + other[key], TURN_TOKENS_MAX));
}

/** Whether figures can be the sum of those before them, which tell something. */
function isSumOf(parts: TokenUsage, all: TokenUsage): boolean {
  const isAny = TOKEN_KEYS.some((key) => parts[key] > 0);
  return isAny && TOKEN_KEYS.every((key) => all[key] >= parts[key]);
}

function tokensText(tokens: TokenUsage): string {
  const told = TOKEN_KEYS.filter((key) => tokens[key] > 0).map((key) => `${key} ${tokens[key]}`);
  return told.length === 0 ? "no tokens" : told.join(", ");
}
