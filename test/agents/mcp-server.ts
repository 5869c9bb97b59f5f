// A small MCP server with one tool, whose answer nothing else says.

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const server = new McpServer({ name: "contract", version: "1.0.0" });
const description = "Gives a stamp for the contract";
server.registerTool("stamp_it", { description }, () => {
  return { content: [{ type: "text", text: ["STAMP", "OF", "MCP"].join("-") }] };
});
await server.connect(new StdioServerTransport());
