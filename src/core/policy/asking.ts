import type { SecurityMode } from "./risk.ts";

/** How an agent comes to ask people before it acts, as its profile tells. */
export interface AgentAsking {
  /** By itself; because it is started or set so; or it is not known whether it does. */
  readonly asks: "by_default" | "made_to" | "unknown";
  /** The mode of its own in which it asks; null where asking does not depend on a mode. */
  readonly mode: string | null;
  /** Options of its own that make it ask, by their ids. */
  readonly options: Readonly<Record<string, string | boolean>>;
  /** What it does unasked all the same: a part of a sentence. */
  readonly unasked: string | null;
}

export const ASKING_UNKNOWN: AgentAsking = {
  asks: "unknown",
  mode: null,
  options: {},
  unasked: null,
};

export const ASKS_BY_DEFAULT: AgentAsking = { ...ASKING_UNKNOWN, asks: "by_default" };

/** Whether the agent of a session asks, with a sentence for people. */
export interface AskingView {
  readonly how: AgentAsking["asks"] | "up_to_mode" | "up_to_option" | "not_wanted";
  readonly sentence: string;
}

/** The agent's own modes and options, as far as they are known. */
interface AgentKnown {
  /** As a client chose it; null for the usual one. */
  readonly chosen: string | null;
  readonly observed: string | null;
  /** What the agent offers, none too; null while no agent is there to say. */
  readonly offered: readonly string[] | null;
  /** An option that a client has set, and that may decide whether it asks; null without one. */
  readonly setOption?: string | null;
  /** What its options are set to, by their ids; null while no agent is there to say. */
  readonly options: ReadonlyMap<string, unknown> | null;
}

/** ACP's categories of options that decide nothing about asking. */
const ABOUT_MODELS: ReadonlySet<string | null> = new Set([
  "model",
  "model_config",
  "thought_level",
]);

/** Whether an option of an agent's own may decide if it asks: only its category says what it is. */
export function mayUnask(category: string | null): boolean {
  return !ABOUT_MODELS.has(category);
}

/**
 * Whether a session wants its agent to ask at all. Where users share it, it always does: mode
 * `yolo` answers for those who may have it, and the others are bound by the policy.
 */
export function wantsAsks(securityMode: SecurityMode, isShared = false): boolean {
  return isShared || securityMode !== "yolo";
}

/**
 * Asking is only promised where it is known. An agent that was put into another mode of its own,
 * that has lost the one in which it asks, or that did not take what makes it ask, is shown as
 * such. Before it is there, its profile is all that there is to go by.
 */
export function askingView(
  asking: AgentAsking,
  securityMode: SecurityMode,
  known: AgentKnown,
  isShared = false,
): AskingView {
  if (!wantsAsks(securityMode, isShared)) {
    const sentence = "This session lets everything happen, so its agent is not made to ask.";
    return { how: "not_wanted", sentence };
  }
  if (asking.asks === "unknown") return UNKNOWN;
  const { mode } = asking;
  if (mode !== null && known.offered?.includes(mode) === false) {
    const sentence = `The agent does not offer "${mode}", the mode in which it is known to ask.`;
    return { how: "unknown", sentence };
  }
  const other = otherMode(asking, known);
  if (other !== null) {
    const sentence = `Whether the agent asks is up to its mode "${other}".`;
    return { how: "up_to_mode", sentence };
  }
  const { setOption = null } = known;
  if (setOption !== null) {
    const sentence = `Whether the agent asks is up to its option "${setOption}", which was set.`;
    return { how: "up_to_option", sentence };
  }
  const missed = missedOf(asking, known);
  if (missed !== null) {
    const sentence = `The agent does not say that it is set to ${missed}, by which it asks.`;
    return { how: "unknown", sentence };
  }
  const by = asking.asks === "by_default" ? "asks by itself" : "is made to ask";
  const but = asking.unasked === null ? "" : `; unasked it does this: ${asking.unasked}`;
  return { how: asking.asks, sentence: `The agent ${by} before it acts${but}.` };
}

const UNKNOWN: AskingView = {
  how: "unknown",
  sentence:
    "It is not known whether this agent asks before it acts. What it does by itself, without " +
    "the server, is not mediated; its profile can say how it is made to ask.",
};

/** A mode that was chosen or is observed, and is not the one in which the agent asks. */
function otherMode({ asks, mode }: AgentAsking, { chosen, observed }: AgentKnown): string | null {
  if (mode === null) return asks === "by_default" ? chosen : null;
  if (chosen !== null && chosen !== mode) return chosen;
  return observed !== null && observed !== mode ? observed : null;
}

/** What the agent should be set to and, being there, does not say that it is. */
function missedOf(asking: AgentAsking, { observed, offered, options }: AgentKnown): string | null {
  if (asking.mode !== null && offered !== null && observed === null) return `"${asking.mode}"`;
  if (options === null) return null;
  const wanted = Object.entries(asking.options);
  const [id] = wanted.find(([id, value]) => options.get(id) !== value) ?? [];
  return id === undefined ? null : `its option "${id}"`;
}
