import { isObject } from "../core/json.ts";
import { EXTENSION_CONTEXT_CHARS_MAX, EXTENSION_REASON_CHARS_MAX } from "../core/limits.ts";
import type { GuardOpinion } from "../core/policy/gate.ts";
import type { PlainData } from "./plain-data.ts";

/** What an extension can be asked for, and decide, by the names that its manifest has for them. */
export const HOOKS = [
  ...["before_turn", "after_turn"],
  ...["before_tool_call", "after_tool_call"],
  ...["before_ask", "after_ask"],
] as const;

export type HookName = (typeof HOOKS)[number];

export type Awaitable<Value> = Value | Promise<Value>;

/**
 * A hook says nothing, or refuses, or wants people to be asked. None allows what the gates of the
 * session do not.
 */
export interface ExtensionHooks {
  /** A prompt goes to work. Denied, it gets its verdict without one. People are not asked. */
  before_turn?(prompt: PromptFacts): Awaitable<HookVerdict | undefined>;
  /** The turn has ended; what is kept by now is stored with it. */
  after_turn?(turn: TurnFacts & { readonly outcome: string }): Awaitable<void>;
  /** The agent wants to do something that goes by the server. */
  before_tool_call?(call: ToolCallFacts): Awaitable<HookVerdict | undefined>;
  after_tool_call?(call: ToolCallFacts & { readonly status: string }): Awaitable<void>;
  /** The gates would put it to people. */
  before_ask?(call: ToolCallFacts): Awaitable<HookVerdict | undefined>;
  after_ask?(call: ToolCallFacts & { readonly answer: string }): Awaitable<void>;
}

/** The reason is shown to people and told to the agent, cut and without secrets. */
export interface HookVerdict {
  readonly verdict: "pass" | "deny" | "ask";
  readonly reason?: string;
  /**
   * Of `before_turn` that passes only: what the agent is told in front of this prompt, such as what
   * it kept before a resume. It is no part of what the person said.
   */
  readonly context?: string;
}

export interface PromptFacts {
  readonly promptId: string;
  /** The texts of the prompt. */
  readonly text: string;
}

export interface TurnFacts extends PromptFacts {
  readonly turnId: string;
}

export interface ToolCallFacts {
  readonly toolCallId: string;
  readonly title: string;
  /** ACP's word for what it does, such as `edit` or `execute`. */
  readonly kind: string;
  /** The files that it names. */
  readonly paths: readonly string[];
  /** The call as the agent described it. */
  readonly rawInput: PlainData;
}

const STRICTNESS: Readonly<Record<HookVerdict["verdict"], number>> = { pass: 0, ask: 1, deny: 2 };

export const PASS: HookVerdict = { verdict: "pass" };

/** What a hook has answered, where nothing is a pass; null if that is no verdict at all. */
export function readVerdict(answer: unknown): HookVerdict | null {
  if (answer === null) return PASS;
  if (!isObject(answer)) return null;
  const { verdict, reason, context } = answer;
  if (!isVerdictWord(verdict) || !isTextOrNone(reason) || !isTextOrNone(context)) return null;
  return {
    verdict,
    ...(reason !== undefined && { reason: cut(reason, EXTENSION_REASON_CHARS_MAX) }),
    ...(context !== undefined && { context: cut(context, EXTENSION_CONTEXT_CHARS_MAX) }),
  };
}

function isTextOrNone(value: unknown): value is string | undefined {
  return value === undefined || typeof value === "string";
}

/** Without half a character at its end. */
function cut(text: string, charsMax: number): string {
  return text.slice(0, charsMax).toWellFormed();
}

function isVerdictWord(value: unknown): value is HookVerdict["verdict"] {
  return typeof value === "string" && Object.hasOwn(STRICTNESS, value);
}

/** Of several, the one that lets the least through; of equal ones the first. Null if all pass. */
export function strictestOf(
  said: readonly (HookVerdict & { readonly extension: string })[],
): GuardOpinion | null {
  return said.reduce<GuardOpinion | null>((strictest, { verdict, extension, reason = "" }) => {
    const before = STRICTNESS[strictest?.verdict ?? "pass"];
    if (verdict === "pass" || STRICTNESS[verdict] <= before) return strictest;
    return { verdict, extension, reason };
  }, null);
}
