import { describe, expect, it } from "vitest";
import { MCP_SERVERS_MAX } from "../../core/limits.ts";
import { readMcpServers } from "./config.ts";

const FILE = "/home/ada/mcp.json";

/** A reference, as it stands in a file. */
function ref(name: string): string {
  return `\${${name}}`;
}

function read(mcpServers: unknown) {
  return readMcpServers(JSON.stringify({ mcpServers }), FILE);
}

function reasonOf(text: string) {
  const result = readMcpServers(text, FILE);
  if (result.ok) return "it was taken";
  const details = { path: `MCP file ${FILE}` };
  expect(result.refusal).toMatchObject({ code: "invalid_server_config", details });
  return result.refusal.details.reason;
}

describe("a file of MCP servers", () => {
  it("names commands and addresses in the common form", () => {
    const servers = {
      files: { command: "npx", args: ["-y", "files"], env: { KEY: ref("KEY") } },
      plain: { type: "stdio", command: "/bin/plain" },
      web: { url: "https://mcp.example/x", headers: { Authorization: `Bearer ${ref("T")}` } },
      old: { type: "sse", url: "http://localhost:1/sse" },
    };
    expect(read(servers)).toEqual({
      ok: true,
      value: [
        { name: "files", type: "stdio", ...servers.files },
        { name: "plain", type: "stdio", command: "/bin/plain", args: [], env: {} },
        { name: "web", type: "http", ...servers.web },
        { name: "old", ...servers.old, headers: {} },
      ],
    });
  });

  it("may be empty, and may disable servers", () => {
    expect(read({})).toEqual({ ok: true, value: [] });
    expect(read({ off: { command: "x", disabled: true } })).toEqual({ ok: true, value: [] });
  });

  it.each([
    ["[]", /expected object/],
    ["{}", /^mcpServers: /],
    ['{"mcpServers": {}, "servers": {}}', /"servers"/],
    ['{"mcpServers": []}', /^mcpServers: /],
    ['{"mcpServers": {"a": 7}}', /^mcpServers\.a: /],
    ['{"mcpServers": {"a": {}}}', /^mcpServers\.a\.command: /],
    ['{"mcpServers": {"a:b": {"command": "x"}}}', /^mcpServers\.a:b: no server can/],
    ['{"mcpServers": {"": {"command": "x"}}}', /no server can/],
    ['{"mcpServers": {"fermata": {"command": "x"}}}', /^mcpServers\.fermata: this name is that of/],
    ['{"mcpServers": {"a": {"command": ""}}}', /^mcpServers\.a\.command: /],
    ['{"mcpServers": {"a": {"command": "x", "args": "y"}}}', /^mcpServers\.a\.args: /],
    ['{"mcpServers": {"a": {"command": "x", "args": [1]}}}', /^mcpServers\.a\.args\.0: /],
    ['{"mcpServers": {"a": {"command": "x\\u0000"}}}', /control characters/],
    ['{"mcpServers": {"a": {"command": "x", "argz": []}}}', /"argz"/],
    ['{"mcpServers": {"a": {"command": "x", "url": "http://y"}}}', /"url"/],
    ['{"mcpServers": {"a": {"command": "x", "env": {"A B": "y"}}}}', /none of this name/],
    ['{"mcpServers": {"a": {"command": "x", "env": {"FERMATA_AGENT_MARK": "y"}}}}', /none of this/],
    ['{"mcpServers": {"a": {"url": "ftp://x"}}}', /^mcpServers\.a\.url: it is no http/],
    ['{"mcpServers": {"a": {"url": "nowhere"}}}', /it is no http or https address/],
    ['{"mcpServers": {"a": {"url": "http://ada:pw@x"}}}', /credentials belong into its headers/],
    ['{"mcpServers": {"a": {"type": "ws", "url": "http://x"}}}', /^mcpServers\.a\.type: /],
    ['{"mcpServers": {"a": {"url": "http://x", "headers": {"a\\nb": "y"}}}}', /none of this name/],
    ['{"mcpServers": {"a": {"url": "http://x", "headers": {"a": "y\\r\\nz: 1"}}}}', /control/],
  ])("is refused as %s, with its name and the place", (text, reason) => {
    expect(reasonOf(text)).toMatch(reason);
  });

  it("is refused with too many servers", () => {
    const names = Array.from({ length: MCP_SERVERS_MAX + 1 }, (_, at) => `s${at}`);
    const servers = Object.fromEntries(names.map((name) => [name, { command: "x" }]));
    expect(read(servers).ok).toBe(false);
  });

  it("P11: is refused without a word of what stands in it", () => {
    const broken = '{"mcpServers": {"a": {"command": "x",\n"env": {"KEY": "sk-secret" oops}}}}';
    expect(reasonOf(broken)).toMatch(/^it is not JSON: line 2, column 28: /);
    expect(reasonOf("sk-secret")).toBe(
      'it is not JSON: line 1, column 1: expected a value, found "s"',
    );
    const long = { a: { command: "x", env: { KEY: "sk-secret".repeat(1_000) } } };
    expect(reasonOf(JSON.stringify({ mcpServers: long }))).not.toMatch(/sk-secret/);
  });
});
