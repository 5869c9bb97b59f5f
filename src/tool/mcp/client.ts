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
import type { ResolvedServer } from "./config.ts";
import { type McpConnection, McpFault, type McpListener, type McpTimeouts } from "./link.ts";
import { CALL_RESULT, type CallResult, type McpTool, readTool, TOOL_PAGE } from "./tools.ts";
import { type LaunchOptions, StdioTransport, transportTo } from "./transport.ts";

/**
 * Connects to a server, or throws. Only this file and the transports load the MCP SDK. It takes
 * longer to load than the rest of the server, so they are imported on first use.
 */
export async function connect(
  server: ResolvedServer,
  launch: LaunchOptions,
  { timeouts, listener, signal }: ConnectOptions,
): Promise<McpConnection> {
  const connection = new SdkConnection(transportTo(server, launch), timeouts, listener);
  const cancel = () => void connection.close();
  signal.addEventListener("abort", cancel);
  if (signal.aborted) cancel();
  try {
    await connection.open();
    return connection;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

interface ConnectOptions {
  readonly timeouts: McpTimeouts;
  readonly listener: McpListener;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

class SdkConnection implements McpConnection {
  /** Fermata offers a server no capabilities: no files, no model, no person to ask. */
  readonly #client = new Client(CLIENT_INFO, { capabilities: {} });
  readonly #transport: Transport;
  readonly #timeouts: McpTimeouts;
  readonly #listener: McpListener;
  #isClosing = false;

  constructor(transport: Transport, timeouts: McpTimeouts, listener: McpListener) {
    this.#transport = transport;
    this.#timeouts = timeouts;
    this.#listener = listener;
  }

  async open(): Promise<void> {
    const { connectMs } = this.#timeouts;
    const opening = this.#client.connect(this.#transport, { timeout: connectMs });
    try {
      await inTime(opening, connectMs);
    } catch (thrown) {
      await this.close();
      throw this.#faultOf(thrown);
    }
    this.#client.onclose = () => {
      if (!this.#isClosing) this.#listener.lost(this.#exit ?? "it closed the connection");
    };
    this.#client.setNotificationHandler(ToolListChangedNotificationSchema, () =>
      this.#listener.changed(),
    );
  }

  async tools(): Promise<readonly McpTool[]> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    const tools = new Map<string, McpTool>();
    let cursor: string | undefined;
    for (let page = 0; page < MCP_PAGES_MAX && tools.size < MCP_TOOLS_MAX; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const options = { timeout: this.#timeouts.listMs };
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
    const options = { timeout: this.#timeouts.callMs, signal };
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
  throw new McpFault("late", `it did not connect within ${ms} ms`);
}

/** Adds the code of the cause, without which the message of `fetch` says only that it failed. */
function causeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { cause } = thrown;
  if (cause instanceof Error && "code" in cause) return `${thrown.message} (${cause.code})`;
  return thrown.message;
}
