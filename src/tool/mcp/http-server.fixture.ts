import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server as NodeServer } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";

/** What a server on loopback saw, and what it can be made to do. */
export interface HttpWorld {
  readonly url: string;
  readonly headers: IncomingMessage["headers"][];
  readonly methods: string[];
  /** It forgets all its sessions, as after a restart. */
  forget(): void;
}

/** An MCP server over HTTP with one tool, `shout`. */
export async function httpServer(type: "http" | "sse"): Promise<HttpWorld> {
  const seen = { headers: [] as IncomingMessage["headers"][], methods: [] as string[] };
  const sessions = new Map<string, StreamableHTTPServerTransport | SSEServerTransport>();
  const node = createServer(async (request, response) => {
    seen.headers.push(request.headers);
    seen.methods.push(request.method ?? "");
    const url = new URL(request.url ?? "/", "http://localhost");
    if (type === "sse") {
      if (request.method === "GET") {
        const transport = new SSEServerTransport("/messages", response);
        sessions.set(transport.sessionId, transport);
        await mcpServer().connect(transport);
        return;
      }
      const known = sessions.get(url.searchParams.get("sessionId") ?? "");
      if (known instanceof SSEServerTransport) await known.handlePostMessage(request, response);
      return;
    }
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : await newSession(sessions);
    if (known instanceof StreamableHTTPServerTransport)
      await known.handleRequest(request, response);
    else response.writeHead(404).end();
  });
  const url = await listening(node);
  const path = type === "sse" ? "/sse" : "/mcp";
  return { ...seen, url: `${url}${path}`, forget: () => sessions.clear() };
}

/** A listener that answers nothing, ever. */
export async function silentServer(): Promise<string> {
  return listening(createServer(() => {}));
}

/** One whose answer to everything has no end. */
export async function endlessServer(): Promise<string> {
  return listening(
    createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const flood = Buffer.alloc(1_024 * 1_024, " ");
      const more = () => {
        while (!response.destroyed && response.write(flood));
      };
      response.on("drain", more);
      more();
    }),
  );
}

async function newSession(sessions: Map<string, Transport>) {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await mcpServer().connect(transport);
  return transport;
}

function mcpServer(): Server {
  const info = { name: "http-fixture", version: "1" };
  const server = new Server(info, { capabilities: { tools: {} } });
  const inputSchema = {
    type: "object" as const,
    properties: { text: { type: "string" } },
    required: ["text"],
  };
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: "shout", description: "Louder", inputSchema }],
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: "text", text: String(params.arguments?.text).toUpperCase() }],
  }));
  return server;
}

async function listening(node: NodeServer): Promise<string> {
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    node.closeAllConnections();
    await new Promise((resolve) => node.close(resolve));
  });
  const address = node.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}
