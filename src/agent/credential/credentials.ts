import { createHmac, randomBytes } from "node:crypto";
import { fail, ok, type Result } from "../../core/result.ts";
import { type AgentProfile, secretsOf, userOf } from "../profile/profile.ts";
import type { AgentHomes } from "./agent-homes.ts";
import {
  type CredentialHolder,
  isOpenTo,
  type SecretFile,
  type SecretFiles,
} from "./secret-files.ts";

/** The keys and the home of one user for one agent. They are resolved for a start, never stored. */
export interface AgentCredentials {
  /** By the secret's name; what the server's environment has is not in here. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly home: { readonly variable: string; readonly path: string } | null;
  /** Equal for equal keys and homes, and says nothing of them; empty if there are none. */
  readonly digest: string;
}

export const NO_CREDENTIALS: AgentCredentials = { secrets: new Map(), home: null, digest: "" };

/** Where a secret of a profile was found. It never has the value. */
export interface FoundSecret {
  readonly variable: string;
  readonly name: string;
  readonly isRequired: boolean;
  /** Null if there is none. */
  readonly place: string | null;
  /** Why it cannot be used; null if it can. */
  readonly fault: string | null;
  /** What an operator should know of it. */
  readonly note: string | null;
}

interface CredentialsOptions {
  /** Null without `--secrets-dir`. */
  readonly files: SecretFiles | null;
  /** Null without `--agent-homes`, and for a server without tokens. */
  readonly homes: AgentHomes | null;
  /** The server's environment, which has what the files lack. */
  readonly env: NodeJS.ProcessEnv;
}

/** Finds the keys and the home that an agent gets for a user. */
export class Credentials {
  readonly #options: CredentialsOptions;
  /** Of this process only, so that a digest tells nothing to a reader of its memory or log. */
  readonly #seal = randomBytes(32);

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** Refused if a secret is missing or unusable: an agent is not started with half of its keys. */
  async of(profile: AgentProfile, holder: CredentialHolder): Promise<Result<AgentCredentials>> {
    const secrets = new Map<string, string>();
    for (const { name, isRequired } of secretsOf(profile)) {
      const found = await this.#find(profile, holder, name);
      if (!found.ok) return found;
      if (found.value !== null) secrets.set(name, found.value);
      else if (isRequired && !this.#isInEnvironment(name)) {
        return this.#missing(profile, holder, name);
      }
    }
    const home = await this.#homeOf(profile, holder);
    if (!home.ok) return home;
    return ok({ secrets, home: home.value, digest: this.#digest(secrets, home.value) });
  }

  /** Which secrets a profile wants for a user, and where they are. */
  async report(profile: AgentProfile, holder: CredentialHolder): Promise<readonly FoundSecret[]> {
    const found: FoundSecret[] = [];
    for (const { variable, name, isRequired } of secretsOf(profile)) {
      const file = (await this.#options.files?.find(holder, name)) ?? null;
      const isThere = file !== null || this.#isInEnvironment(name);
      const place = file === null ? "the environment" : `${file.path} of --secrets-dir`;
      const fault = file === null ? null : faultOf(file, profile);
      const isOpen = file?.kind === "read" && file.isExposed;
      const note = isOpen ? "every user of the machine may read it" : null;
      found.push({ variable, name, isRequired, place: isThere ? place : null, fault, note });
    }
    return found;
  }

  /** Removes the homes of a deleted tenant, with the log-ins in them. False if any is left. */
  async forget(tenantId: CredentialHolder["tenantId"]): Promise<boolean> {
    return (await this.#options.homes?.remove(tenantId)) ?? true;
  }

  #isInEnvironment(name: string): boolean {
    const { env } = this.#options;
    return Object.hasOwn(env, name) && env[name] !== "";
  }

  /** Null if no file has it. */
  async #find(
    profile: AgentProfile,
    holder: CredentialHolder,
    secret: string,
  ): Promise<Result<string | null>> {
    const file = (await this.#options.files?.find(holder, secret)) ?? null;
    if (file === null) return ok(null);
    const reason = faultOf(file, profile);
    if (file.kind === "read" && reason === null) return ok(file.value);
    const { path } = file;
    const advice = file.kind === "read" ? CLOSE_IT : REPLACE_IT;
    const details = { profile: profile.name, path, reason: reason ?? "", advice };
    return fail("agent_secret_unusable", details);
  }

  #missing({ name: profile }: AgentProfile, holder: CredentialHolder, secret: string) {
    const { files } = this.#options;
    const variable = `the server's environment (${secret})`;
    const paths = files === null ? null : files.pathsOf(holder, secret).join(", ");
    const places = paths === null ? variable : `--secrets-dir (${paths}) or to ${variable}`;
    return fail("agent_secret_missing", { profile, secret, places });
  }

  async #homeOf(
    profile: AgentProfile,
    holder: CredentialHolder,
  ): Promise<Result<AgentCredentials["home"]>> {
    const { homes } = this.#options;
    const { home: variable } = profile;
    if (homes === null || variable === null) return ok(null);
    const made = await homes.of(profile, holder);
    return made.ok ? ok({ variable, path: made.value }) : made;
  }

  #digest(secrets: ReadonlyMap<string, string>, home: AgentCredentials["home"]): string {
    if (secrets.size === 0 && home === null) return "";
    const all = JSON.stringify([[...secrets], home]);
    return createHmac("sha256", this.#seal).update(all).digest("base64");
  }
}

const OPEN_TO_ALL = "every user of the machine may read it, and so could this agent";
const OPEN_TO_AGENT = "the user of this agent may read it, and so the keys of others";
const REPLACE_IT = "An operator replaces or removes it.";
const CLOSE_IT =
  "An operator gives it to the server's user and group, and closes it to others " +
  "(chmod o-r; in Kubernetes, defaultMode: 0400).";

/**
 * Container platforms mount secrets readable for all users, of which a container has one. An agent
 * that is another user could read the keys of all.
 */
function faultOf(file: SecretFile, profile: AgentProfile): string | null {
  if (file.kind === "unusable") return file.reason;
  const user = userOf(profile);
  if (user === null) return null;
  if (file.isExposed) return OPEN_TO_ALL;
  return isOpenTo(file.steps, user) ? OPEN_TO_AGENT : null;
}
