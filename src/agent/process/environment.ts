import { SECRET_CHARS_MIN } from "../../core/limits.ts";
import { type AgentCredentials, NO_CREDENTIALS } from "../credential/credentials.ts";
import { type AgentProfile, namesSecret } from "../profile/profile.ts";
import type { SystemUser } from "../user/account.ts";

/** Every process that an agent starts, or that is started for it, has this variable. */
export const AGENT_MARK_VARIABLE = "FERMATA_AGENT_MARK";

/**
 * What every agent gets of the server's environment: user, folders, language and network. Nothing
 * that grants access: an SSH agent, tokens or a cloud account need a profile that names them. And
 * nothing that changes how programs run, such as `NODE_OPTIONS` or `LD_PRELOAD`, which were meant
 * for the server.
 */
const PASSED_ON: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TMP", "TEMP"],
  ...["LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"],
  ...["http_proxy", "https_proxy", "all_proxy", "no_proxy"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"],
  ...["CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"],
]);

/** The rest of the locale, and the user's folders. */
const PASSED_ON_BY_PREFIX = /^(?:LC|XDG)_/;

export interface AgentEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** The values in it that must not be stored or logged. */
  readonly secrets: readonly string[];
  /** The variables that the profile refers to and the server lacks. */
  readonly missing: readonly string[];
}

/** `credentials` has the secrets and the home of the session's user. */
export function environmentOf(
  profile: AgentProfile,
  serverEnv: NodeJS.ProcessEnv,
  marker: string,
  { secrets: own, home }: AgentCredentials = NO_CREDENTIALS,
): AgentEnvironment {
  const env = new Map<string, string>();
  const secrets = new Set<string>();
  const missing: string[] = [];
  const inherited = new Set(profile.inherit);
  for (const [name, value] of Object.entries({ ...serverEnv, ...loginOf(profile.account) })) {
    const isPassed = isPassedOn(name, profile.account) || inherited.has(name);
    if (value === undefined || !isPassed) continue;
    if (home?.variable === "HOME" && IN_HOME.test(name)) continue;
    env.set(name, value);
    if (namesSecret(name)) secrets.add(value);
    for (const password of passwordsIn(value)) secrets.add(password);
  }
  if (home !== null) env.set(home.variable, home.path);
  for (const name of inherited) {
    const value = own.get(name);
    if (value !== undefined) setSecret(name, value);
  }
  for (const [name, setting] of Object.entries(profile.env)) {
    if (typeof setting === "string") {
      env.set(name, setting);
      continue;
    }
    const source = "from" in setting ? setting.from : setting.secret;
    const given = "from" in setting ? undefined : own.get(source);
    const value = given ?? ownValue(serverEnv, source);
    if (value !== undefined) setSecret(name, value);
    else env.delete(name);
    const isOptional = "secret" in setting && setting.optional === true;
    if (value === undefined && !isOptional) missing.push(source);
  }
  env.set(AGENT_MARK_VARIABLE, marker);
  const worthHiding = [...secrets].filter((secret) => secret.length >= SECRET_CHARS_MIN);
  return { env: Object.fromEntries(env), secrets: worthHiding, missing };

  function setSecret(name: string, value: string) {
    env.set(name, value);
    secrets.add(value);
  }
}

/** Folders of the server's user, which another home has its own of. */
const IN_HOME = /^XDG_/;

/** The environment of shell commands: what every agent gets, too. Null is the server's user. */
export function inheritedEnvironment(
  serverEnv: NodeJS.ProcessEnv,
  account: SystemUser | null = null,
): Readonly<Record<string, string>> {
  const all = Object.entries({ ...serverEnv, ...loginOf(account) });
  const passedOn = all.flatMap(([name, value]) =>
    value !== undefined && isPassedOn(name, account) ? [[name, value] as const] : [],
  );
  return Object.fromEntries(passedOn);
}

/** What a login of that user would set; empty for the server's own. */
function loginOf(account: SystemUser | null): NodeJS.ProcessEnv {
  if (account === null) return {};
  const { name, home, shell } = account;
  return { HOME: home ?? "/", USER: name, LOGNAME: name, SHELL: shell };
}

/** Another user gets none of the folders that are the server's user's own. */
function isPassedOn(name: string, account: SystemUser | null): boolean {
  if (account !== null && OF_ONE_USER.test(name)) return false;
  return PASSED_ON.has(name) || PASSED_ON_BY_PREFIX.test(name);
}

const OF_ONE_USER = /^(?:XDG_.*|TMPDIR|TMP|TEMP)$/;

/** Without the properties that every object inherits. */
function ownValue(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined;
}

/** A proxy's address may have a password in it; both of its spellings are secret. */
function passwordsIn(value: string): readonly string[] {
  const [, written = ""] = /^\w+:\/\/[^/@:]*:([^/]*)@/.exec(value) ?? [];
  try {
    return written === "" ? [] : [written, decodeURIComponent(written)];
  } catch {
    return [written];
  }
}
