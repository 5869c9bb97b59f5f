import { SECRET_CHARS_MIN } from "../../core/limits.ts";
import { type AgentProfile, namesSecret } from "../profile/profile.ts";

/** Who carries this was started for an agent, or by one, and is ended with it. */
export const AGENT_MARK_VARIABLE = "FERMATA_AGENT_MARK";

/**
 * What every agent gets of the server's environment: who and where it is, how it speaks, and how
 * it reaches the network. Nothing that grants anything: an agent that is to use the person's SSH
 * agent, tokens or cloud account needs a profile that says so. Nothing that changes how programs
 * run either, such as `NODE_OPTIONS` or `LD_PRELOAD`: they were meant for the server.
 */
const PASSED_ON: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TMP", "TEMP"],
  ...["LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"],
  ...["http_proxy", "https_proxy", "all_proxy", "no_proxy"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"],
  ...["CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"],
]);

/** Families of them: the rest of the locale, and where a person's files are. */
const PASSED_ON_BY_PREFIX = /^(?:LC|XDG)_/;

export interface AgentEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** The values in it that must not be written anywhere. */
  readonly secrets: readonly string[];
  /** The variables that the profile refers to and the server does not have. */
  readonly missing: readonly string[];
}

export function environmentOf(
  profile: AgentProfile,
  serverEnv: NodeJS.ProcessEnv,
  marker: string,
): AgentEnvironment {
  const env = new Map<string, string>();
  const secrets = new Set<string>();
  const missing: string[] = [];
  const inherited = new Set(profile.inherit);
  for (const [name, value] of Object.entries(serverEnv)) {
    if (value === undefined || !(isPassedOn(name) || inherited.has(name))) continue;
    env.set(name, value);
    if (namesSecret(name)) secrets.add(value);
    for (const password of passwordsIn(value)) secrets.add(password);
  }
  for (const [name, said] of Object.entries(profile.env)) {
    const value = typeof said === "string" ? said : ownValue(serverEnv, said.from);
    if (value === undefined) {
      env.delete(name);
      missing.push(typeof said === "string" ? name : said.from);
      continue;
    }
    env.set(name, value);
    if (typeof said !== "string") secrets.add(value);
  }
  env.set(AGENT_MARK_VARIABLE, marker);
  const worthHiding = [...secrets].filter((secret) => secret.length >= SECRET_CHARS_MIN);
  return { env: Object.fromEntries(env), secrets: worthHiding, missing };
}

/** What a command that a person runs gets of it: the same as every agent. */
export function inheritedEnvironment(
  serverEnv: NodeJS.ProcessEnv,
): Readonly<Record<string, string>> {
  const passedOn = Object.entries(serverEnv).flatMap(([name, value]) =>
    value !== undefined && isPassedOn(name) ? [[name, value] as const] : [],
  );
  return Object.fromEntries(passedOn);
}

function isPassedOn(name: string): boolean {
  return PASSED_ON.has(name) || PASSED_ON_BY_PREFIX.test(name);
}

/** A variable, and not something that every object has. */
function ownValue(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined;
}

/** A proxy may be an address with a password in it; both of its spellings are one secret. */
function passwordsIn(value: string): readonly string[] {
  const [, written = ""] = /^\w+:\/\/[^/@]*?:([^/]*)@/.exec(value) ?? [];
  try {
    return written === "" ? [] : [written, decodeURIComponent(written)];
  } catch {
    return [written];
  }
}
