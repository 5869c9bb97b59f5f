import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Credentials, type FoundSecret } from "../../agent/credential/credentials.ts";
import { type CredentialHolder, SecretFiles } from "../../agent/credential/secret-files.ts";
import { type AgentProfile, askingProfile } from "../../agent/profile/profile.ts";
import { sentenceOf } from "../../core/error.ts";
import { parseTenantId, parseUserId } from "../../core/id.ts";
import { LOCAL_TENANT } from "../../server/http/authenticator.ts";
import { messageOf } from "../home.ts";
import { readServeOptions } from "../serve/options.ts";

/** What `fermata agents NAME` is asked about: an agent, and whose keys it would have. */
export interface AgentsQuery {
  /** Null for all agents. */
  readonly name: string | null;
  readonly holder: CredentialHolder;
  readonly credentials: Credentials;
}

const OPTIONS = {
  "secrets-dir": { type: "string" },
  tenant: { type: "string" },
  user: { type: "string" },
} as const;

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
  const served = await readServeOptions([], env);
  if (!served.ok) return sentenceOf(served.refusal);
  const folder = values["secrets-dir"] ?? served.value["secrets-dir"];
  const files = folder === null ? null : new SecretFiles(resolve(folder));
  const credentials = new Credentials({ files, homes: null, env });
  return { name, holder: { tenantId, userId }, credentials };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (thrown) {
    return messageOf(thrown).split(". ")[0] ?? "";
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
