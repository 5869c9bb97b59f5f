import { z } from "zod";
import { AGENT_MARK_VARIABLE, inheritedEnvironment } from "../../agent/process/environment.ts";
import { namesSecret } from "../../agent/profile/profile.ts";
import { shown, textFault } from "../../agent/profile/spelling.ts";
import { isObject } from "../../core/json.ts";
import {
  AGENT_ARGS_MAX,
  AGENT_VARIABLES_MAX,
  MCP_SERVER_NAME_CHARS_MAX,
  MCP_SERVERS_MAX,
  SECRET_CHARS_MIN,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { parseJson } from "../../wire/operator-json.ts";
import { TOOLBOX_NAME } from "../toolbox.ts";

/** A configured MCP server: a command with stdio, or an address. */
export type McpServer = McpStdioServer | McpHttpServer;

export interface McpStdioServer {
  readonly name: string;
  readonly type: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface McpHttpServer {
  readonly name: string;
  readonly type: "http" | "sse";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Reads the servers from a file of the common form, `{"mcpServers": {"name": {…}}}`, without the
 * disabled ones. It is strict. An error names its path in the file, but never the value, which may
 * be a secret.
 */
export function readMcpServers(text: string, file: string): Result<readonly McpServer[]> {
  const wrong = (reason: string) =>
    fail("invalid_server_config", { path: `MCP file ${file}`, reason });
  const config = parseJson(text);
  if (config.fault !== undefined) return wrong(config.fault);
  const whole = WHOLE.safeParse(config.value);
  if (!whole.success) return wrong(faultIn(whole.error, ""));
  const entries = Object.entries(whole.data.mcpServers);
  if (entries.length > MCP_SERVERS_MAX) return wrong(`it has more than ${MCP_SERVERS_MAX} servers`);
  const servers: McpServer[] = [];
  for (const [name, value] of entries) {
    const path = `mcpServers.${shown(name)}`;
    if (!SERVER_NAME.test(name)) return wrong(`${path}: no server can have this name`);
    if (name === TOOLBOX_NAME) return wrong(`${path}: this name is that of Fermata's own tools`);
    const hasAddress = isObject(value) && value.command === undefined && value.url !== undefined;
    const read = (hasAddress ? HTTP : STDIO).safeParse(value);
    if (!read.success) return wrong(faultIn(read.error, path));
    const { disabled, ...server } = read.data;
    if (!disabled) servers.push({ name, ...server });
  }
  return ok(servers);
}

/** Without a colon, which separates the names of server and tool. */
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

function faultIn(error: z.ZodError, prefix: string): string {
  const [issue] = error.issues;
  const path = [prefix, ...(issue?.path ?? []).map((part) => shown(String(part)))].filter(Boolean);
  return [path.join("."), issue?.message].filter(Boolean).join(": ");
}

/** A server with all its values. It must not be stored or shown. */
export interface ResolvedServer {
  readonly server: McpServer;
  /** Values that must never reach a disk. */
  readonly secrets: readonly string[];
  /** Variables that it refers to and that the environment does not have. */
  readonly missing: readonly string[];
}

/**
 * Replaces `${NAME}` and `${NAME:-default}` in variables and headers by values of the environment.
 * Each value is a secret, except for those that every agent inherits. A literal value is one if its
 * name says so.
 */
export function resolveServer(server: McpServer, env: NodeJS.ProcessEnv): ResolvedServer {
  const inherited = inheritedEnvironment(env);
  const secrets = new Set<string>();
  const missing = new Set<string>();
  const lookUp = (variable: string, fallback: string | undefined): string => {
    const value = Object.hasOwn(env, variable) ? env[variable] : undefined;
    if (value === undefined || (value === "" && fallback !== undefined)) {
      if (fallback === undefined) missing.add(variable);
      return fallback ?? "";
    }
    if (!Object.hasOwn(inherited, variable)) secrets.add(value);
    return value;
  };
  const resolve = (texts: Readonly<Record<string, string>>) => {
    const resolved = Object.entries(texts).map(([name, text]) => {
      // The value is hidden with and without a scheme such as `Bearer`.
      if (hidesValue(name) && !text.includes("${")) {
        secrets.add(text).add(text.slice(text.indexOf(" ") + 1));
      }
      // Behind the last brace no reference ends, and there may be very many that only begin.
      const end = text.lastIndexOf("}") + 1;
      const known = text.slice(0, end).replace(REFERENCE, (_, of, or) => lookUp(of, or));
      return [name, `${known}${text.slice(end)}`] as const;
    });
    return Object.fromEntries(resolved);
  };
  const resolved: McpServer =
    server.type === "stdio"
      ? { ...server, env: resolve(server.env) }
      : { ...server, headers: resolve(server.headers) };
  const long = [...secrets].filter((secret) => secret.length >= SECRET_CHARS_MIN);
  return { server: resolved, secrets: long, missing: [...missing] };
}

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

function hidesValue(name: string): boolean {
  return (
    namesSecret(name.replaceAll("-", "_")) || /^(?:proxy-)?authorization$|^cookie$/i.test(name)
  );
}
