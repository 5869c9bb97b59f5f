import { AGENT_CALL_MS_MAX, AGENT_RESTORE_MS_MAX, AGENT_START_MS_MAX } from "../../core/limits.ts";
import { type AgentAsking, ASKING_UNKNOWN } from "../../core/policy/asking.ts";
import type { SpawnIdentity } from "../../platform/spawn-as.ts";
import type { SystemUser } from "../user/account.ts";

/** How to start an agent, and what it may use. It never has the values of secrets. */
export interface AgentProfile {
  readonly name: string;
  readonly title: string;
  /** A name to look up on the PATH, or an absolute path. It runs without a shell. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, EnvironmentValue>>;
  /** Variables of the server that the agent gets if they are set. */
  readonly inherit: readonly string[];
  /** Its working directory; null for the session's. */
  readonly cwd: string | null;
  /** The user of the system that it runs as, by name; null for that of `uid`, or the server's. */
  readonly user: string | null;
  readonly uid: number | null;
  readonly gid: number | null;
  /** That user, as the server has found it at its start. It is not part of a configuration. */
  readonly account: SystemUser | null;
  readonly limits: AgentLimits;
  /** Methods to sign in, if the agent requires that: usable ones are tried in order. */
  readonly auth: readonly SignInMethod[];
  readonly ask: AskSetup;
  /** What the server does not offer to this agent. */
  readonly withhold: readonly ClientAbility[];
  readonly resume: ResumePreference;
  readonly usage: UsageScope;
  /** What it calls its models, and what they are known as: by that they have prices. */
  readonly models: Readonly<Record<string, ModelAlias>>;
  readonly mcp: McpUse;
  readonly writes: FileWriter;
  /** The variable with the folder of its settings, log-ins and sessions. */
  readonly home: string | null;
  /** The command line that it was given as; null if it has a profile of its own. */
  readonly commandLine: string | null;
  /** How to install it. */
  readonly install: string | null;
  /** How to sign in. */
  readonly signIn: string | null;
}

/** A method of ACP's `authenticate`, and what it needs. */
interface SignInMethod {
  readonly method: string;
  /** Usable only if one of these variables is set; if there are none, always. */
  readonly ifSet: readonly string[];
}

/** How the agent is made to ask people before it acts, in a session that needs that. */
export interface AskSetup extends AgentAsking {
  /** Further variables for such sessions. */
  readonly env: Readonly<Record<string, EnvironmentValue>>;
  readonly args: readonly string[];
}

/** What the server can do for agents. */
export type ClientAbility = "fs.read" | "fs.write" | "terminal" | "elicitation";

export const CLIENT_ABILITIES: readonly ClientAbility[] = [
  "fs.read",
  "fs.write",
  "terminal",
  "elicitation",
];

/** Whether its model gets the tools of a session's MCP servers: at once, or when it searches. */
export type McpUse = "offered" | "deferred" | "withheld" | "unknown";

/** What writes its files: the server does not write everywhere. */
export type FileWriter = "server" | "unknown";

export const FILE_WRITERS: readonly FileWriter[] = ["server", "unknown"];

export const MCP_USES: readonly McpUse[] = ["offered", "deferred", "withheld", "unknown"];

/**
 * A value, the name of the server's variable that has it when the agent starts, or the name of a
 * secret, which users may have their own of.
 */
type EnvironmentValue =
  | string
  | { readonly from: string }
  | { readonly secret: string; readonly optional?: boolean | undefined };

/** A secret that an agent gets when it starts. */
interface WantedSecret {
  readonly variable: string;
  readonly name: string;
  /** Without it the agent is not started. */
  readonly isRequired: boolean;
}

/** A variable that is inherited and named like a secret is one that the agent can do without. */
export function secretsOf({ env, inherit }: AgentProfile): readonly WantedSecret[] {
  const named = Object.entries(env).flatMap(([variable, value]): readonly WantedSecret[] => {
    if (typeof value === "string" || !("secret" in value)) return [];
    return [{ variable, name: value.secret, isRequired: value.optional !== true }];
  });
  const inherited = inherit.filter((name) => namesSecret(name) && !Object.hasOwn(env, name));
  return [...named, ...inherited.map((name) => ({ variable: name, name, isRequired: false }))];
}

export interface AgentLimits {
  /** From the spawn to the answer to `initialize`. */
  readonly startMs: number;
  /** Calls about a session; to restore one takes longer. */
  readonly callMs: number;
  readonly restoreMs: number;
  readonly sessionsPerProcess: number;
  /** The memory of a process tree from which on it gets no further session. */
  readonly memoryBytes: number;
  /** How long an unused process is kept. */
  readonly idleMs: number;
}

/** By the best way that the agent has; by `session/load` at best; or always as text. */
export type ResumePreference = "auto" | "load" | "seed";

export const RESUME_PREFERENCES: readonly ResumePreference[] = ["auto", "load", "seed"];

/** A model by its known name, or the server's variable that has the name. */
type ModelAlias = string | { readonly from: string };

/** The known names by the agent's own; without variables that are not set. */
export function modelAliases(
  { models }: AgentProfile,
  env: Readonly<Record<string, string | undefined>>,
): ReadonlyMap<string, string> {
  const known = Object.entries(models).flatMap(([own, alias]) => {
    const name = typeof alias === "string" ? alias : env[alias.from];
    return name === undefined || name === "" ? [] : [[own, name] as const];
  });
  return new Map(known);
}

/**
 * What its figures are of: one model call, the turn, or all turns of the session so far. With
 * `cost` its tokens are those of the last call, and the session's cost is what counts.
 */
export type UsageScope = "call" | "turn" | "session" | "cost";

export const USAGE_SCOPES: readonly UsageScope[] = ["call", "turn", "session", "cost"];

/**
 * The default limits. Known agents use up to half a gigabyte, and a crash ends all sessions of the
 * process, so a process has few of them.
 */
export const DEFAULT_LIMITS: AgentLimits = {
  startMs: AGENT_START_MS_MAX,
  callMs: AGENT_CALL_MS_MAX,
  restoreMs: AGENT_RESTORE_MS_MAX,
  sessionsPerProcess: 8,
  memoryBytes: 2 * 1_024 * 1_024 * 1_024,
  idleMs: 5 * 60 * 1_000,
};

export const NOT_KNOWN_TO_ASK: AskSetup = { ...ASKING_UNKNOWN, env: {}, args: [] };

/** An agent that asks by default, changed by these. */
export function askSetup(changes: Partial<Omit<AskSetup, "asks">> = {}): AskSetup {
  const setup = { ...NOT_KNOWN_TO_ASK, ...changes };
  const { env, args, mode, options } = setup;
  const isMade =
    mode !== null || [env, args, options].some((means) => Object.keys(means).length > 0);
  return { ...setup, asks: isMade ? "made_to" : "by_default" };
}

/** The profile started so that it asks; the same object where that changes nothing. */
export function askingProfile(profile: AgentProfile): AgentProfile {
  const { env, args } = profile.ask;
  if (Object.keys(env).length === 0 && args.length === 0) return profile;
  return { ...profile, env: { ...profile.env, ...env }, args: [...profile.args, ...args] };
}

/** Whose rights the agent and its commands get; null for the server's own. */
export function userOf({ account, uid, gid }: AgentProfile): SpawnIdentity | null {
  if (account !== null || (uid === null && gid === null)) return account;
  return { uid, gid, launcher: [] };
}

/** A profile with the defaults for what is not given. */
export function profileOf(
  fields: Pick<AgentProfile, "name" | "command"> & Partial<AgentProfile>,
): AgentProfile {
  return {
    title: fields.name,
    args: [],
    env: {},
    inherit: [],
    cwd: null,
    user: null,
    uid: null,
    gid: null,
    account: null,
    limits: DEFAULT_LIMITS,
    auth: [],
    ask: NOT_KNOWN_TO_ASK,
    withhold: [],
    resume: "auto",
    usage: "turn",
    models: {},
    mcp: "unknown",
    writes: "unknown",
    home: null,
    commandLine: null,
    install: null,
    signIn: null,
    ...fields,
  };
}

/** As a word of a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Whether a variable of this name is likely to hold a secret: one of its words ends in such a
 * word. `TOKENS` is a count and no secret: `MAX_TOKENS`.
 */
export function namesSecret(variable: string): boolean {
  return /(?:KEYS?|TOKEN|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?)\d*(?:_|$)/i.test(
    variable,
  );
}
