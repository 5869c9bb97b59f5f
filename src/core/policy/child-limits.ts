import {
  CHILD_MS_MAX,
  CHILD_RESULT_BYTES_MAX,
  CHILD_TOKENS_MAX,
  CHILDREN_OPEN_MAX,
  CHILDREN_PER_TURN_MAX,
} from "../limits.ts";

/** What an agent may delegate at most. */
export interface ChildLimits {
  /** Children at work of one session at the same time; with 0 there are none. */
  readonly atOnce: number;
  readonly perTurn: number;
  /** For each child, as the three that follow. */
  readonly seconds: number;
  readonly tokens: number;
  readonly resultBytes: number;
}

/** What holds without a policy, and what no policy can raise. */
export const CHILD_LIMITS: ChildLimits = {
  atOnce: CHILDREN_OPEN_MAX,
  perTurn: CHILDREN_PER_TURN_MAX,
  seconds: CHILD_MS_MAX / 1_000,
  tokens: CHILD_TOKENS_MAX,
  resultBytes: CHILD_RESULT_BYTES_MAX,
};

export const NO_CHILDREN: ChildLimits = { ...CHILD_LIMITS, atOnce: 0 };

/** What both allow. */
export function lowerChildLimits(one: ChildLimits, other: ChildLimits): ChildLimits {
  return {
    atOnce: Math.min(one.atOnce, other.atOnce),
    perTurn: Math.min(one.perTurn, other.perTurn),
    seconds: Math.min(one.seconds, other.seconds),
    tokens: Math.min(one.tokens, other.tokens),
    resultBytes: Math.min(one.resultBytes, other.resultBytes),
  };
}

/** What of them is lower than without a policy, as a short text: `any`, `none`, `atOnce:2`. */
export function childLimitsText(limits: ChildLimits): string {
  if (limits.atOnce === 0) return "none";
  const usual = new Map(Object.entries(CHILD_LIMITS));
  const lowered = Object.entries(limits).filter(([name, limit]) => limit !== usual.get(name));
  return lowered.map(([name, limit]) => `${name}:${limit}`).join(",") || "any";
}
