import { inheritedEnvironment } from "../../agent/process/environment.ts";
import { namesSecret } from "../../agent/profile/profile.ts";
import { SECRET_CHARS_MIN } from "../../core/limits.ts";
import type { McpServer } from "./config.ts";

/** A server with all values in it, as it is used. It must not be stored or shown. */
export interface Resolved {
  readonly server: McpServer;
  /** What in it must not be written anywhere. */
  readonly secrets: readonly string[];
  /** Variables that it refers to and the server's environment does not have. */
  readonly missing: readonly string[];
}

/**
 * Puts the environment's values in the place of `${NAME}` and `${NAME:-otherwise}`, in variables
 * and headers. Each is a secret, but for those that every agent and command gets anyway; so is what
 * stands literally under the name of one.
 */
export function resolveServer(server: McpServer, env: NodeJS.ProcessEnv): Resolved {
  const found = new Findings(env);
  if (server.type === "stdio") {
    return found.in({ ...server, env: found.texts(server.env) });
  }
  return found.in({ ...server, headers: found.texts(server.headers) });
}

class Findings {
  readonly #env: NodeJS.ProcessEnv;
  readonly #everybodys: Readonly<Record<string, string>>;
  readonly #secrets = new Set<string>();
  readonly #missing = new Set<string>();

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
    this.#everybodys = inheritedEnvironment(env);
  }

  texts(texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const resolved = Object.entries(texts).map(([name, text]) => {
      if (hidesValue(name) && !text.includes("${")) this.#hide(text);
      const value = text.replace(REFERENCE, (_, variable: string, otherwise?: string) =>
        this.#valueOf(variable, otherwise),
      );
      return [name, value] as const;
    });
    return Object.fromEntries(resolved);
  }

  in(server: McpServer): Resolved {
    const secrets = [...this.#secrets].filter((secret) => secret.length >= SECRET_CHARS_MIN);
    return { server, secrets, missing: [...this.#missing] };
  }

  #valueOf(variable: string, otherwise: string | undefined): string {
    const value = Object.hasOwn(this.#env, variable) ? this.#env[variable] : undefined;
    if (value === undefined || (value === "" && otherwise !== undefined)) {
      if (otherwise === undefined) this.#missing.add(variable);
      return otherwise ?? "";
    }
    if (!Object.hasOwn(this.#everybodys, variable)) this.#secrets.add(value);
    return value;
  }

  /** A scheme such as `Bearer` may stand before it, and be left out where it is repeated. */
  #hide(text: string) {
    this.#secrets.add(text);
    this.#secrets.add(text.slice(text.indexOf(" ") + 1));
  }
}

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

function hidesValue(name: string): boolean {
  return (
    namesSecret(name.replaceAll("-", "_")) || /^(?:proxy-)?authorization$|^cookie$/i.test(name)
  );
}
