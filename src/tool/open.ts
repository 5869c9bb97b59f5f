import { inheritedEnvironment } from "../agent/process/environment.ts";
import { Redactor } from "../agent/process/error-output.ts";
import type { AgentMarks } from "../agent/process/marks.ts";
import { findCommand } from "../agent/process/spawn.ts";
import { AgentUsers } from "../agent/user/users.ts";
import { OwnFolders } from "../agent/workspace/location.ts";
import type { JsonObject } from "../core/json.ts";
import type { Log } from "../core/log.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { type BuiltinTool, fileTools, shellTool } from "./builtin.ts";
import { type McpServer, type ResolvedServer, resolveServer } from "./mcp/config.ts";
import { DEFAULT_MCP_TIMEOUTS, McpLink, type McpTimeouts } from "./mcp/link.ts";
import { inputFrom, type McpTool, textOfResult } from "./mcp/tools.ts";
import {
  answered,
  failed,
  type ToolAnswer,
  type ToolCall,
  type ToolContext,
  type ToolInfo,
  type Tools,
} from "./tool.ts";

export interface ToolOptions {
  readonly servers: readonly McpServer[];
  /** The working directory of MCP servers that are commands. */
  readonly folder: string;
  /** The server's environment, to which the configuration may refer. */
  readonly env: NodeJS.ProcessEnv;
  /** By these the next server finds and ends the processes that this one leaves behind (P5). */
  readonly marks: AgentMarks;
  readonly timeouts?: McpTimeouts;
  /** The server's own folders, which stay closed to all tools. */
  readonly own?: OwnFolders;
  /** The user of all tools; the server's own by default. */
  readonly users?: AgentUsers;
  /** Registers a value that must never reach a disk. An MCP server is not used if this fails. */
  secret(value: string): Result<void>;
  readonly log: Log;
}

/** Why the tools of a configured MCP server are absent. */
interface McpProblem {
  readonly server: string;
  readonly reason: string;
}

/** Opens the built-in tools, and those of the MCP servers that can be used. */
export async function openTools(options: ToolOptions): Promise<OpenTools> {
  const { env, marks, log, own = OwnFolders.NONE, users = new AgentUsers() } = options;
  const unusable: McpProblem[] = [];
  const usable: ResolvedServer[] = [];
  for (const server of options.servers) {
    const resolved = resolveServer(server, env);
    const reason = faultOf(resolved, options);
    if (reason === null) usable.push(resolved);
    else unusable.push({ server: server.name, reason });
  }
  for (const { server, reason } of unusable) log(MCP_PROBLEM, { server, reason });
  const redactor = new Redactor(usable.flatMap(({ secrets }) => secrets));
  const { account } = users;
  const environment = inheritedEnvironment(env, account);
  const shell = shellTool({ environment, marks, own, user: account });
  return new OpenTools({
    builtins: [shell, ...fileTools(own, users.filesOf(account))],
    links: usable.map((server) => linkTo(server, options, redactor)),
    unusable,
    servers: await Promise.all(usable.map(({ server }) => acpServer(server, env.PATH))),
    redact: redactor.redacted,
  });
}

/** The tools of a running server. Those of MCP servers are named `server:tool`. */
export class OpenTools implements Tools {
  readonly servers: readonly JsonObject[];
  readonly #builtins: ReadonlyMap<string, BuiltinTool>;
  readonly #links: ReadonlyMap<string, McpLink>;
  readonly #unusable: readonly McpProblem[];
  /** Removes the secrets of MCP servers: a tool may repeat them. */
  readonly #redact: (text: string) => string;

  constructor(parts: {
    readonly builtins: readonly BuiltinTool[];
    readonly links: readonly McpLink[];
    readonly unusable: readonly McpProblem[];
    readonly servers: readonly JsonObject[];
    readonly redact: (text: string) => string;
  }) {
    this.servers = parts.servers;
    this.#builtins = new Map(parts.builtins.map((tool) => [tool.name, tool]));
    this.#links = new Map(parts.links.map((link) => [link.name, link]));
    this.#unusable = parts.unusable;
    this.#redact = parts.redact;
  }

  async list(wanted?: readonly string[]): Promise<readonly ToolInfo[]> {
    const builtins = [...this.#builtins.values()];
    const own = builtins.map(({ name, description }) => ({ name, description }));
    const isMcpWanted = wanted === undefined || wanted.some((name) => name.includes(":"));
    if (!isMcpWanted) return own;
    const lists = [...this.#links.values()].map(async (link) => {
      const tools = await link.offered();
      return tools.map(({ name, description }) => ({ name: `${link.name}:${name}`, description }));
    });
    return [...own, ...(await Promise.all(lists)).flat()];
  }

  async callOf(name: string, text: string, context: ToolContext): Promise<Result<ToolCall>> {
    const absent = this.#unusable.find(({ server }) => name.startsWith(`${server}:`));
    if (absent !== undefined)
      return fail("tool_unavailable", { tool: name, reason: absent.reason });
    const builtin = this.#builtins.get(name);
    if (builtin !== undefined) return builtin.callOf(text, context);
    const found = await this.#findMcpTool(name);
    if (!found.ok) return found;
    const input = inputFrom(text, found.value);
    if (typeof input === "string") return fail("tool_input_invalid", { tool: name, reason: input });
    // Never `execute`: an input with a command in it would pass for an allowed command line.
    const kind = found.value.isReadOnly ? "read" : "other";
    return ok({ name, title: name, kind, input, locations: [] });
  }

  async run(call: ToolCall, context: ToolContext, signal: AbortSignal): Promise<ToolAnswer> {
    const builtin = this.#builtins.get(call.name);
    if (builtin === undefined) return this.#runMcpTool(call, signal);
    try {
      return await builtin.run(call.input, context, signal);
    } catch (thrown) {
      return failed(`It failed: ${String(thrown)}`);
    }
  }

  /** The configured MCP servers whose tools are absent, and why. */
  problems(): readonly McpProblem[] {
    const links = [...this.#links.values()].flatMap(({ name, problem }) =>
      problem === null ? [] : [{ server: name, reason: problem }],
    );
    return [...this.#unusable, ...links];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#links.values()].map((link) => link.close()));
  }

  async #findMcpTool(name: string): Promise<Result<McpTool>> {
    const { link, tool } = this.#split(name);
    if (link === undefined) return fail("tool_unknown", { tool: name });
    try {
      const found = (await link.tools()).find((one) => one.name === tool);
      return found === undefined ? fail("tool_unknown", { tool: name }) : ok(found);
    } catch (thrown) {
      const reason = link.problem ?? (thrown instanceof Error ? thrown.message : String(thrown));
      return fail("tool_unavailable", { tool: name, reason });
    }
  }

  async #runMcpTool({ name, input }: ToolCall, signal: AbortSignal): Promise<ToolAnswer> {
    const { link, tool } = this.#split(name);
    if (link === undefined) return failed(`There is no tool "${name}".`);
    try {
      const result = await link.call(tool, input, signal);
      const text = this.#redact(textOfResult(result));
      return result.isError === true ? failed(text) : answered(text);
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      return failed(this.#redact(`The tool "${name}" gave no answer: ${reason}`));
    }
  }

  #split(name: string) {
    const [server = "", ...rest] = name.split(":");
    return { link: this.#links.get(server), tool: rest.join(":") };
  }
}

const MCP_PROBLEM = "mcp server unusable";

function faultOf({ missing, secrets }: ResolvedServer, { secret }: ToolOptions): string | null {
  if (missing.length > 0) return `the server's environment has no ${missing.join(", ")}`;
  const isGuarded = secrets.every((value) => secret(value).ok);
  return isGuarded ? null : "its secrets are too many or too long to be guarded";
}

function linkTo(resolved: ResolvedServer, options: ToolOptions, { readable }: Redactor): McpLink {
  const { name } = resolved.server;
  const { env, marks, timeouts = DEFAULT_MCP_TIMEOUTS, users } = options;
  const account = users?.account ?? null;
  // Another user may not enter the folder of the server's configuration.
  const folder = account?.home ?? options.folder;
  return new McpLink({
    name,
    timeouts,
    readable,
    connect: async (listener, signal) => {
      const { connect } = await import("./mcp/client.ts");
      const launch = { folder, env, marks, account };
      return connect(resolved, launch, { timeouts, listener, signal });
    },
    onProblem: (reason) => options.log(MCP_PROBLEM, { server: name, reason }),
  });
}

/** ACP wants the path of a command, so the server looks it up; agents may have another PATH. */
async function acpServer(server: McpServer, path: string | undefined): Promise<JsonObject> {
  const { name } = server;
  if (server.type !== "stdio") {
    return { type: server.type, name, url: server.url, headers: pairs(server.headers) };
  }
  const found = await findCommand(server.command, path);
  const command = found.kind === "found" ? found.path : server.command;
  return { name, command, args: server.args, env: pairs(server.env) };
}

function pairs(texts: Readonly<Record<string, string>>) {
  return Object.entries(texts).map(([name, value]) => ({ name, value }));
}
