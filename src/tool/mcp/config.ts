import { z } from "zod";
import { AGENT_MARK_VARIABLE, inheritedEnvironment } from "../../agent/process/environment.ts";
import { namesSecret } from "../../agent/profile/profile.ts";
import { shown, textFault } from "../../agent/profile/read.ts";
import { isObject } from "../../core/json.ts";
import {
  AGENT_ARGS_MAX,
  AGENT_VARIABLES_MAX,
  MCP_SERVER_NAME_CHARS_MAX,
  MCP_SERVERS_MAX,
  SECRET_CHARS_MIN,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";

/** An MCP server, by a command that speaks on its pipes or by an address. */
export type McpServer = StdioServer | HttpServer;

export interface StdioServer {
  readonly name: string;
  readonly type: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface HttpServer {
  readonly name: string;
  readonly type: "http" | "sse";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The servers in a file of the common form, `{"mcpServers": {"name": {…}}}`; those that are
 * disabled are passed over. It is read strictly, and what is wrong is told with its place in the
 * file and never with the value, which may be a secret.
 */
export function readMcpServers(text: string, file: string): Result<readonly McpServer[]> {
  const wrong = (reason: string) => fail("invalid_server_config", { path: file, reason });
  const config = parsed(text);
  if (typeof config === "string") return wrong(config);
  const whole = WHOLE.safeParse(config.value);
  if (!whole.success) return wrong(faultIn(whole.error, ""));
  const entries = Object.entries(whole.data.mcpServers);
  if (entries.length > MCP_SERVERS_MAX) return wrong(`it has more than ${MCP_SERVERS_MAX} servers`);
  const servers: McpServer[] = [];
  for (const [name, value] of entries) {
    const place = `mcpServers.${shown(name)}`;
    if (!SERVER_NAME.test(name)) return wrong(`${place}: no server can have this name`);
    const hasAddress = isObject(value) && value.command === undefined && value.url !== undefined;
    const read = (hasAddress ? HTTP : STDIO).safeParse(value);
    if (!read.success) return wrong(faultIn(read.error, place));
    const { disabled, ...server } = read.data;
    if (!disabled) servers.push({ name, ...server });
  }
  return ok(servers);
}

/** The parser's own words repeat what stands in the file; where it stands is enough. */
function parsed(text: string): { readonly value: unknown } | string {
  try {
    return { value: JSON.parse(text) };
  } catch (thrown) {
    const [, place] = /\((line \d+ column \d+)\)/.exec(String(thrown)) ?? [];
    return `it is not JSON${place === undefined ? "" : `, see ${place}`}`;
  }
}

/** A colon ends it, where a tool is called by its server's name and its own. */
const SERVER_NAME = new RegExp(`^[\\w.@/-]{1,${MCP_SERVER_NAME_CHARS_MAX}}$`);
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const HEADER = /^[\w!#$%&'*+.^`|~-]{1,128}$/;

const TEXT = z.string().superRefine((text, context) => {
  const fault = textFault(text);
  if (fault !== null) context.addIssue({ code: "custom", message: fault });
});

const ADDRESS = TEXT.superRefine((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isWeb = url !== null && /^https?:$/.test(url.protocol);
  if (!isWeb) context.addIssue({ code: "custom", message: "it is no http or https address" });
  else if (url.username !== "" || url.password !== "") {
    context.addIssue({ code: "custom", message: "credentials belong into its headers" });
  }
});

const STDIO = z.strictObject({
  type: z.literal("stdio").default("stdio"),
  disabled: z.boolean().default(false),
  command: TEXT.min(1),
  args: z.array(TEXT).max(AGENT_ARGS_MAX).default([]),
  env: textsBy((name) => VARIABLE.test(name) && name !== AGENT_MARK_VARIABLE),
});

const HTTP = z.strictObject({
  type: z.enum(["http", "sse"]).default("http"),
  disabled: z.boolean().default(false),
  url: ADDRESS,
  headers: textsBy((name) => HEADER.test(name)),
});

const WHOLE = z.strictObject({ mcpServers: z.record(z.string(), z.unknown()) });

function textsBy(isName: (name: string) => boolean) {
  return z
    .record(z.string(), TEXT)
    .superRefine((texts, context) => {
      const names = Object.keys(texts);
      const odd = names.find((name) => !isName(name));
      if (odd !== undefined) {
        context.addIssue({
          code: "custom",
          path: [odd],
          message: "there can be none of this name",
        });
      }
      if (names.length > AGENT_VARIABLES_MAX) {
        context.addIssue({ code: "custom", message: `they are more than ${AGENT_VARIABLES_MAX}` });
      }
    })
    .default({});
}

function faultIn(error: z.ZodError, place: string): string {
  const [issue] = error.issues;
  const path = [place, ...(issue?.path ?? []).map((part) => shown(String(part)))].filter(Boolean);
  return [path.join("."), issue?.message].filter(Boolean).join(": ");
}

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
