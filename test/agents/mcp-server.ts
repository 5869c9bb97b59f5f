// A small MCP server with one tool, whose answer nothing else says. It leaves a file in the folder
// CONTRACT_LISTED when an agent has asked for its tools: from then on a model can be offered them.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { MCP_STAMP } from "./model/obey.ts";

const TOOL = {
  name: "stamp_it",
  description: "Gives a stamp for the contract",
  inputSchema: { type: "object", properties: {} },
};

const info = { name: "contract", version: "1.0.0" };
const server = new Server(info, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => {
  writeFileSync(join(process.env.CONTRACT_LISTED ?? ".", `${process.pid}`), "");
  return { tools: [TOOL] };
});
server.setRequestHandler(CallToolRequestSchema, () => {
  return { content: [{ type: "text", text: MCP_STAMP }] };
});
await server.connect(new StdioServerTransport());
