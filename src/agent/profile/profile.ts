import { AGENT_CALL_MS_MAX, AGENT_RESTORE_MS_MAX, AGENT_START_MS_MAX } from "../../core/limits.ts";
import { type AgentAsking, ASKING_UNKNOWN } from "../../core/policy/asking.ts";

/** How to start an agent, and what it may use. Data only: values of secrets are never in it. */
export interface AgentProfile {
  readonly name: string;
  readonly title: string;
  /** A name that is looked up on the PATH, or an absolute path. It is run without a shell. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, EnvironmentValue>>;
  /** Variables of the server's that are passed on if they are set. */
  readonly inherit: readonly string[];
  /** Where it runs; null for the directory of the session. */
  readonly cwd: string | null;
  readonly uid: number | null;
  readonly gid: number | null;
  readonly limits: AgentLimits;
  /** Ways to authenticate, if the agent wants that before a session: the first that it can. */
  readonly auth: readonly SignInWay[];
  readonly ask: AskWay;
  /** What we could do for an agent and do not offer to this one. */
  readonly withhold: readonly ClientAbility[];
  readonly resume: ResumePreference;
  readonly usage: UsageScope;
  readonly mcp: McpUse;
  /** The variable that says where it keeps its settings and what it remembers. */
  readonly home: string | null;
  /** A sentence for a person who does not have it. */
  readonly install: string | null;
  /** A sentence for a person who has to sign in. */
  readonly signIn: string | null;
}

/** A method of ACP's `authenticate`, and what it needs. */
export interface SignInWay {
  readonly method: string;
  /** It is of use only if one of these variables is set; with none it always is. */
  readonly ifSet: readonly string[];
}

/** How it is made to ask people before it acts, in a session that wants that. */
export interface AskWay extends AgentAsking {
  /** What it is started with for such sessions, beside the rest. */
  readonly env: Readonly<Record<string, EnvironmentValue>>;
  readonly args: readonly string[];
}

/** Something that we can do for agents. */
export type ClientAbility = "fs.read" | "fs.write" | "terminal" | "elicitation";

export const CLIENT_ABILITIES: readonly ClientAbility[] = [
  "fs.read",
  "fs.write",
  "terminal",
  "elicitation",
];

/** Whether its model is offered the tools of the MCP servers that a session comes with. */
export type McpUse = "offered" | "withheld" | "unknown";

export const MCP_USES: readonly McpUse[] = ["offered", "withheld", "unknown"];

/** A value as it is, or the name of the server's variable that has it when the agent is started. */
export type EnvironmentValue = string | { readonly from: string };

export interface AgentLimits {
  /** From the spawn to the answer to `initialize`. */
  readonly startMs: number;
  /** Calls about a session; bringing one back takes longer. */
  readonly callMs: number;
  readonly restoreMs: number;
  readonly sessionsPerProcess: number;
  /** What its processes may use together before no further session is given to them. */
  readonly memoryBytes: number;
  /** How long a process that nobody uses is kept. */
  readonly idleMs: number;
}

/** By the best way that the agent offers; by `session/load` at best; or always by telling it. */
export type ResumePreference = "auto" | "load" | "seed";

export const RESUME_PREFERENCES: readonly ResumePreference[] = ["auto", "load", "seed"];

/** What the tokens that it reports are of: the turn alone, or all turns of its session so far. */
export type UsageScope = "turn" | "session";

export const USAGE_SCOPES: readonly UsageScope[] = ["turn", "session"];

/**
 * What holds where a profile says nothing. Known agents use up to half a gigabyte, and a crash
 * takes all sessions of its process along, so a process has few of them.
 */
export const DEFAULT_LIMITS: AgentLimits = {
  startMs: AGENT_START_MS_MAX,
  callMs: AGENT_CALL_MS_MAX,
  restoreMs: AGENT_RESTORE_MS_MAX,
  sessionsPerProcess: 8,
  memoryBytes: 2 * 1_024 * 1_024 * 1_024,
  idleMs: 5 * 60 * 1_000,
};

export const NOT_KNOWN_TO_ASK: AskWay = { ...ASKING_UNKNOWN, env: {}, args: [] };

/** An agent that asks by itself, but for what is said here. */
export function askWay(said: Partial<Omit<AskWay, "asks">> = {}): AskWay {
  const way = { ...NOT_KNOWN_TO_ASK, ...said };
  const { env, args, mode, options } = way;
  const isMade =
    mode !== null || [env, args, options].some((means) => Object.keys(means).length > 0);
  return { ...way, asks: isMade ? "made_to" : "by_default" };
}

/** The same agent, started so that it asks; itself where that makes no difference to its start. */
export function askingProfile(profile: AgentProfile): AgentProfile {
  const { env, args } = profile.ask;
  if (Object.keys(env).length === 0 && args.length === 0) return profile;
  return { ...profile, env: { ...profile.env, ...env }, args: [...profile.args, ...args] };
}

/** A profile in which everything is as usual but what is said here. */
export function profileOf(
  said: Pick<AgentProfile, "name" | "command"> & Partial<AgentProfile>,
): AgentProfile {
  return {
    title: said.name,
    args: [],
    env: {},
    inherit: [],
    cwd: null,
    uid: null,
    gid: null,
    limits: DEFAULT_LIMITS,
    auth: [],
    ask: NOT_KNOWN_TO_ASK,
    withhold: [],
    resume: "auto",
    usage: "turn",
    mcp: "unknown",
    home: null,
    install: null,
    signIn: null,
    ...said,
  };
}

/**
 * Whether a variable of this name is likely to hold a secret: one of its words ends in such a
 * word. Plural tokens are counted, not kept secret: `MAX_TOKENS`.
 */
export function namesSecret(variable: string): boolean {
  return /(?:KEYS?|TOKEN|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?)\d*(?:_|$)/i.test(
    variable,
  );
}
