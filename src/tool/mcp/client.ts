import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  ErrorCode,
  McpError,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { CLIENT_INFO } from "../../agent/bridge/start.ts";
import { within } from "../../agent/process/process.ts";
import type { JsonObject } from "../../core/json.ts";
import { MCP_FAREWELL_MS_MAX, MCP_PAGES_MAX, MCP_TOOLS_MAX } from "../../core/limits.ts";
import type { Resolved } from "./config.ts";
import { type McpConnection, type McpEars, McpFault, type McpTimes } from "./link.ts";
import { CALL_RESULT, type CallResult, type McpTool, readTool, TOOL_PAGE } from "./tools.ts";
import { type McpSetting, StdioTransport, transportTo } from "./transport.ts";

/**
 * Connects to a server, or throws why not. This is the only file, with the transports, that loads
 * the SDK, which takes longer than the rest of the server: it is imported when it is first needed.
 */
export async function connect(
  server: Resolved,
  setting: McpSetting,
  { times, ears, signal }: Dialling,
): Promise<McpConnection> {
  const connection = new SdkConnection(transportTo(server, setting), times, ears);
  const giveUp = () => void connection.close();
  signal.addEventListener("abort", giveUp);
  if (signal.aborted) giveUp();
  try {
    await connection.open();
    return connection;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

interface Dialling {
  readonly times: McpTimes;
  readonly ears: McpEars;
  /** Ends the try. */
  readonly signal: AbortSignal;
}

class SdkConnection implements McpConnection {
  /** We offer a server nothing: it gets no files, no model and no person to ask. */
  readonly #client = new Client(CLIENT_INFO, { capabilities: {} });
  readonly #transport: Transport;
  readonly #times: McpTimes;
  readonly #ears: McpEars;
  #isClosing = false;

  constructor(transport: Transport, times: McpTimes, ears: McpEars) {
    this.#transport = transport;
    this.#times = times;
    this.#ears = ears;
  }

  async open(): Promise<void> {
    const { connectMs } = this.#times;
    const opening = this.#client.connect(this.#transport, { timeout: connectMs });
    try {
      await inTime(opening, connectMs);
    } catch (thrown) {
      await this.close();
      throw this.#faultOf(thrown);
    }
    this.#client.onclose = () => {
      if (!this.#isClosing) this.#ears.lost(this.#exit ?? "it closed the connection");
    };
    this.#client.setNotificationHandler(ToolListChangedNotificationSchema, () =>
      this.#ears.changed(),
    );
  }

  async tools(): Promise<readonly McpTool[]> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    const tools = new Map<string, McpTool>();
    let cursor: string | undefined;
    for (let page = 0; page < MCP_PAGES_MAX && tools.size < MCP_TOOLS_MAX; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const options = { timeout: this.#times.listMs };
      const listed = await this.#client
        .request({ method: "tools/list", params }, TOOL_PAGE, options)
        .catch((thrown: unknown) => Promise.reject(this.#faultOf(thrown)));
      for (const value of listed.tools.slice(0, MCP_TOOLS_MAX - tools.size)) {
        const tool = readTool(value);
        if (tool !== null) tools.set(tool.name, tool);
      }
      cursor = listed.nextCursor;
      if (cursor === undefined) break;
    }
    return [...tools.values()];
  }

  async call(name: string, input: JsonObject, signal: AbortSignal): Promise<CallResult> {
    const request = { method: "tools/call", params: { name, arguments: { ...input } } } as const;
    const options = { timeout: this.#times.callMs, signal };
    try {
      return await this.#client.request(request, CALL_RESULT, options);
    } catch (thrown) {
      throw this.#faultOf(thrown);
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const transport = this.#transport;
    if (transport instanceof StreamableHTTPClientTransport) {
      const farewell = transport.terminateSession().catch(() => undefined);
      await within(farewell, MCP_FAREWELL_MS_MAX);
    }
    await transport.close().catch(() => undefined);
  }

  get #exit(): string | null {
    return this.#transport instanceof StdioTransport ? this.#transport.exit : null;
  }

  #faultOf(thrown: unknown): McpFault {
    if (thrown instanceof McpFault) return thrown;
    if (this.#exit !== null) return new McpFault("lost", this.#exit);
    const reason = causeOf(thrown);
    if (!(thrown instanceof McpError)) return new McpFault("lost", reason);
    if (thrown.code === ErrorCode.RequestTimeout) return new McpFault("late", reason);
    const isLost = thrown.code === ErrorCode.ConnectionClosed;
    return new McpFault(isLost ? "lost" : "refused", reason);
  }
}

async function inTime(work: Promise<void>, ms: number): Promise<void> {
  if (await within(work, ms)) return;
  throw new McpFault("late", `it was not there within ${ms} ms`);
}

/** Node says of every failed request that it failed, and only behind that why. */
function causeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { cause } = thrown;
  if (cause instanceof Error && "code" in cause) return `${thrown.message} (${cause.code})`;
  return thrown.message;
}
