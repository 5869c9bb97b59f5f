import { resolve } from "node:path";
import { AgentHomes } from "../../agent/credential/agent-homes.ts";
import { Credentials, type FoundSecret } from "../../agent/credential/credentials.ts";
import { type CredentialHolder, SecretFiles } from "../../agent/credential/secret-files.ts";
import { type AgentProfile, askingProfile, quoted } from "../../agent/profile/profile.ts";
import type { SystemUser } from "../../agent/user/account.ts";
import { sentenceOf } from "../../core/error.ts";
import { parseTenantId, parseUserId } from "../../core/id.ts";
import { LOCAL_TENANT } from "../../server/http/authenticator.ts";
import { messageOf } from "../home.ts";
import { parseRow } from "../parse-row.ts";
import { sharedAccount } from "../serve/agent-user.ts";
import { readServeOptions } from "../serve/read-options.ts";
import { AGENT_LOOK_OPTIONS, AGENT_START_OPTIONS } from "../table/agents.ts";

/** What `fermata agents NAME` is asked about: an agent, and whose keys it would have. */
export interface AgentsQuery {
  /** Null for all agents. */
  readonly name: string | null;
  readonly holder: CredentialHolder;
  readonly credentials: Credentials;
  /** Sign in by a terminal method, instead of a look at the agent. */
  readonly isSignIn: boolean;
  /** The id of that method; null if the agent has one only. */
  readonly method: string | null;
  /** Variables that the agent gets beside those of its profile. */
  readonly inherit: readonly string[];
  /** The user of agents, as a server with the same options has it. */
  readonly account: SystemUser | null;
  /** The options that decide what the agent gets, to be typed again. */
  readonly options: string;
}

/**
 * Reads the command line; a text is the reason why it is wrong. The folder is that of a server with
 * the same variables and config.json, unless one is given.
 */
export async function readAgentsQuery(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<AgentsQuery | string> {
  const given = parsed(args);
  if (typeof given === "string") return given;
  const { values, positionals } = given;
  const [name = null, extra] = positionals;
  if (extra !== undefined) return "expected one name";
  const tenantId = parseTenantId(values.tenant ?? LOCAL_TENANT);
  const userId = values.user === undefined ? null : parseUserId(values.user);
  if (tenantId === null) return `"${values.tenant}" is not a tenant's id`;
  if (values.user !== undefined && userId === null) return `"${values.user}" is not a user's id`;
  const isSignIn = values["sign-in"] === true;
  const { method = null } = values;
  if (isSignIn && name === null) return "--sign-in needs the name of an agent";
  if (method !== null && !isSignIn) return "--method is for --sign-in";
  const served = await readServeOptions(serverArgs(values), env);
  if (!served.ok) return sentenceOf(served.refusal);
  const { "secrets-dir": folder, "agent-homes": homesFolder, "agent-env": inherit } = served.value;
  const account = await sharedAccount(served.value);
  if (!account.ok) return sentenceOf(account.refusal);
  // A server without tokens has no such homes; with them, its operator names whose it is.
  const isTheirs = values.tenant !== undefined || userId !== null;
  if (isSignIn && isTheirs && homesFolder === null) return NO_HOMES;
  const homes = homesFolder === null || !isTheirs ? null : new AgentHomes(resolve(homesFolder));
  const files = folder === null ? null : new SecretFiles(resolve(folder));
  const credentials = new Credentials({ files, homes, env });
  const holder = { tenantId, userId };
  const options = [...serverArgs(values), ...holderArgs(values)].map(quoted).join(" ");
  const rest = { isSignIn, method, inherit, options };
  return { name, holder, credentials, account: account.value, ...rest };
}

/** Without homes the log-in would go to the operator's own home, for all users. */
const NO_HOMES = "--tenant and --user need --agent-homes DIR with --sign-in, as the server has it";

function holderArgs(values: Readonly<Record<string, unknown>>): readonly string[] {
  return ["tenant", "user"].flatMap((name) => {
    return values[name] === undefined ? [] : [`--${name}=${values[name]}`];
  });
}

/** The options that are those of the server. */
function serverArgs(values: Readonly<Record<string, unknown>>): readonly string[] {
  return argsOf(["secrets-dir", "agent-env", "agent-user", "agent-home", "agent-homes"], values);
}

/** Those of the options for a start that were given, as arguments again. */
export function agentStartArgs(values: Readonly<Record<string, unknown>>): readonly string[] {
  return argsOf(Object.keys(AGENT_START_OPTIONS), values);
}

function argsOf(names: readonly string[], values: Readonly<Record<string, unknown>>) {
  return names.flatMap((name) => [values[name] ?? []].flat().map((value) => `--${name}=${value}`));
}

function parsed(args: readonly string[]) {
  try {
    return parseRow({ options: AGENT_LOOK_OPTIONS }, args);
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** The secrets of a profile, a line for each: where it is, and never its value. */
export async function secretLines(
  profile: AgentProfile,
  { credentials, holder }: AgentsQuery,
): Promise<readonly string[]> {
  const found = await credentials.report(askingProfile(profile), holder);
  const shown = found.filter(({ place, isRequired }) => place !== null || isRequired);
  const others = found.filter((secret) => !shown.includes(secret)).map(({ name }) => name);
  const lines = shown.map(lineOf);
  if (others.length > 0) lines.push(`not set, and not required: ${others.join(", ")}`);
  return lines;
}

/** The names of secrets without which this agent does not start. */
export async function missingSecrets(
  profile: AgentProfile,
  { credentials, holder }: AgentsQuery,
): Promise<readonly string[]> {
  const found = await credentials.report(profile, holder);
  return found.flatMap(({ name, place, fault, isRequired }) => {
    return fault !== null || (isRequired && place === null) ? [name] : [];
  });
}

function lineOf({ variable, name, place, fault, note }: FoundSecret): string {
  const which = variable === name ? name : `${name} (as ${variable})`;
  if (fault !== null) return `${which}: unusable in ${place}: ${fault}`;
  if (place === null) return `${which}: missing`;
  return `${which}: found in ${place}${note === null ? "" : `; ${note}`}`;
}
