import { inheritedEnvironment } from "../agent/process/environment.ts";
import { Redactor } from "../agent/process/error-output.ts";
import type { AgentMarks } from "../agent/process/marks.ts";
import { findCommand } from "../agent/process/spawn.ts";
import { OwnFolders } from "../agent/workspace/location.ts";
import type { JsonObject } from "../core/json.ts";
import type { Log } from "../core/log.ts";
import { fail, type Result } from "../core/result.ts";
import { fileTools, shellTool } from "./builtin.ts";
import { type McpServer, type Resolved, resolveServer } from "./mcp/config.ts";
import { McpHub, type McpProblem } from "./mcp/hub.ts";
import { McpLink, type McpTimes, USUAL_TIMES } from "./mcp/link.ts";
import { failed, type Tools } from "./tool.ts";

export interface ToolSetting {
  readonly servers: readonly McpServer[];
  /** Where MCP servers that are commands run. */
  readonly folder: string;
  /** The server's environment, to which the configuration may refer. */
  readonly env: NodeJS.ProcessEnv;
  /** By these the next server finds and ends what this one leaves behind (P5). */
  readonly marks: AgentMarks;
  readonly times?: McpTimes;
  /** What of the server's stays closed to all of them. */
  readonly own?: OwnFolders;
  /** A value that must never reach a disk. If nobody can watch for it, it is not used. */
  secret(value: string): Result<void>;
  readonly log: Log;
}

export interface OpenTools extends Tools {
  /** The configured servers whose tools are absent, and why. */
  problems(): readonly McpProblem[];
}

/** The tools of one server: those built in, and those of its MCP servers. */
export async function openTools(setting: ToolSetting): Promise<OpenTools> {
  const { env, marks, log, own = OwnFolders.NONE } = setting;
  const unusable: McpProblem[] = [];
  const usable: Resolved[] = [];
  for (const server of setting.servers) {
    const resolved = resolveServer(server, env);
    const reason = faultOf(resolved, setting);
    if (reason === null) usable.push(resolved);
    else unusable.push({ server: server.name, reason });
  }
  for (const { server, reason } of unusable) log(TROUBLE, { server, reason });
  const redactor = new Redactor(usable.flatMap(({ secrets }) => secrets));
  const links = usable.map((server) => linkTo(server, setting, redactor));
  const hub = new McpHub(links, redactor.redacted);
  const shell = shellTool({ environment: inheritedEnvironment(env), marks, own });
  const builtins = new Map([shell, ...fileTools(own)].map((one) => [one.name, one]));
  const servers = await Promise.all(usable.map(({ server }) => acpServer(server, env.PATH)));
  return {
    servers,
    list: async (wanted) => {
      const own = [...builtins.values()].map(({ name, description }) => ({ name, description }));
      const isAsked = wanted === undefined || wanted.some((name) => name.includes(":"));
      const others = isAsked ? await hub.list() : [];
      return [...own, ...others];
    },
    callOf: async (name, words, place) => {
      const absent = unusable.find(({ server }) => name.startsWith(`${server}:`));
      if (absent !== undefined) return unavailable(name, absent);
      return builtins.get(name)?.callOf(words, place) ?? hub.callOf(name, words);
    },
    run: async (call, place, signal) => {
      const own = builtins.get(call.name);
      const running = own?.run(call.input, place, signal) ?? hub.run(call, signal);
      // Whatever a tool stumbles over, whoever called it gets an answer.
      return running.catch((thrown: unknown) => failed(`It failed: ${String(thrown)}`));
    },
    problems: () => [...unusable, ...hub.problems()],
    close: () => hub.close(),
  };
}

const TROUBLE = "mcp server unusable";

function faultOf({ missing, secrets }: Resolved, { secret }: ToolSetting): string | null {
  if (missing.length > 0) return `the server's environment has no ${missing.join(", ")}`;
  const isWatched = secrets.every((value) => secret(value).ok);
  return isWatched ? null : "its secrets are too many or too long to be watched for";
}

function unavailable(tool: string, { reason }: McpProblem): Result<never> {
  return fail("tool_unavailable", { tool, reason });
}

function linkTo(resolved: Resolved, setting: ToolSetting, { readable }: Redactor): McpLink {
  const { name } = resolved.server;
  const { folder, env, marks, times = USUAL_TIMES } = setting;
  return new McpLink({
    name,
    times,
    readable,
    connect: async (ears, signal) => {
      const { connect } = await import("./mcp/client.ts");
      return connect(resolved, { folder, env, marks }, { times, ears, signal });
    },
    trouble: (reason) => setting.log(TROUBLE, { server: name, reason }),
  });
}

/** ACP wants the path of a command, so it is looked for here; agents may find it elsewhere. */
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
