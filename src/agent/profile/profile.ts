import { AGENT_CALL_MS_MAX, AGENT_RESTORE_MS_MAX, AGENT_START_MS_MAX } from "../../core/limits.ts";

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
  /** What to authenticate with, if the agent wants that before it makes a session. */
  readonly auth: string | null;
  readonly resume: ResumePreference;
  readonly usage: UsageScope;
  /** A sentence for a person who does not have it. */
  readonly install: string | null;
}

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
    auth: null,
    resume: "auto",
    usage: "turn",
    install: null,
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
