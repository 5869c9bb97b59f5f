import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { AgentMarks } from "../../agent/process/marks.ts";
import { profileOf } from "../../agent/profile/profile.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import type { HttpServer, StdioServer } from "./config.ts";
import type { Resolved } from "./resolve.ts";
import { StdioTransport } from "./stdio.ts";

/** What the servers of one configuration have in common. */
export interface McpSetting {
  /** Where servers that are commands run; none of the sessions that share them is preferred. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly marks: AgentMarks;
}

export function transportTo({ server, secrets }: Resolved, setting: McpSetting): Transport {
  if (server.type === "stdio") return overPipes(server, secrets, setting);
  return overHttp(server);
}

/** Values with a secret in them come by reference, so that its last words are shown without. */
function overPipes(
  { name, command, args, env }: StdioServer,
  secrets: readonly string[],
  { folder, marks, env: serverEnv }: McpSetting,
): StdioTransport {
  const variables = Object.entries(env).map(([variable, value]) => {
    const isSecret = secrets.some((secret) => value.includes(secret));
    return [variable, isSecret ? { from: variable } : value] as const;
  });
  const profile = profileOf({ name, command, args, env: Object.fromEntries(variables) });
  return new StdioTransport({ profile, cwd: folder, marks, env: { ...serverEnv, ...env } });
}

function overHttp({ type, url, headers }: HttpServer): Transport {
  const options = { requestInit: { headers: { ...headers } }, fetch: boundedFetch };
  const address = new URL(url);
  return type === "http"
    ? new StreamableHTTPClientTransport(address, options)
    : new SSEClientTransport(address, options);
}
