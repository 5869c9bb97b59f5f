import { describe, expect, it } from "vitest";
import { fitContent, fitServers } from "./capability.ts";

const image = { type: "image", data: "AAAA", mimeType: "image/png" };
const file = { type: "resource", resource: { uri: "file:///a.md", text: "# A" } };
const binary = { type: "resource", resource: { uri: "file:///a.bin", blob: "AAAA" } };
const words = { type: "text", text: "Look at this." };

describe("a prompt's content", () => {
  it("goes to an agent that can take it exactly as it came", () => {
    const all = [words, image, file, { type: "brand_new" }];
    const promptCapabilities = { image: true, embeddedContext: true };
    expect(fitContent(all, { promptCapabilities })).toEqual(all);
  });

  it("is told in words where the agent cannot take it, and nothing is left out in silence", () => {
    expect(fitContent([words, image, { type: "audio" }, binary], {})).toEqual([
      words,
      { type: "text", text: "[The user attached an image, which this agent cannot take.]" },
      { type: "text", text: "[The user attached a recording, which this agent cannot take.]" },
      {
        type: "text",
        text: "[The user attached the file file:///a.bin, which this agent cannot take.]",
      },
    ]);
  });

  it("becomes text where that loses nothing", () => {
    expect(fitContent([file], {})).toEqual([
      { type: "text", text: '<file uri="file:///a.md">\n# A\n</file>' },
    ]);
  });
});

describe("MCP servers", () => {
  const stdio = { name: "files", command: "files-mcp", args: [], env: [] };
  const http = { type: "http", name: "web", url: "http://127.0.0.1:1/" };

  it("are passed on if the agent can reach them, and the others are named with the reason", () => {
    expect(fitServers([stdio, http], {})).toEqual({
      mcpServers: [stdio],
      skipped: [{ what: "MCP server web", reason: "this agent takes no MCP servers of type http" }],
    });
    const mcpCapabilities = { http: true };
    expect(fitServers([stdio, http], { mcpCapabilities }).mcpServers).toEqual([stdio, http]);
  });
});
