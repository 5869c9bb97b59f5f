import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AgentUsers } from "../../agent/user/users.ts";
import { OwnFolders } from "../../agent/workspace/location.ts";
import { MCP_CONFIG_BYTES_MAX } from "../../core/limits.ts";
import { SecretGuard } from "../../store/index.ts";
import { readMcpConfig } from "./operator-files.ts";
import { readServeOptions } from "./read-options.ts";
import { openServerTools } from "./tools.ts";

/** A home of its own, with this in its `mcp.json`. */
function home(text?: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-mcp-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  if (text !== undefined) writeFileSync(join(folder, "mcp.json"), text);
  return folder;
}

async function choose(folder: string, ...args: string[]) {
  const env = { FERMATA_HOME: folder };
  const chosen = await readServeOptions(args, env);
  return chosen.ok ? readMcpConfig(chosen.value, env) : chosen;
}

const ENV = `{"KEY": "\${ONE_KEY}"}`;
const ONE = `{"mcpServers": {"one": {"command": "one", "env": ${ENV}}}}`;

describe("the file of MCP servers", () => {
  it("need not be there, if none was named", async () => {
    const folder = home();
    expect(await choose(folder)).toEqual({ ok: true, value: { servers: [], folder } });
  });

  it("is mcp.json at home, or the one that was named", async () => {
    const folder = home(ONE);
    const value = { folder, servers: [{ name: "one", command: "one" }] };
    expect(await choose(folder)).toMatchObject({ ok: true, value });
    const named = await choose(home(), "--mcp-config", join(folder, "mcp.json"));
    expect(named).toMatchObject({ ok: true, value });
  });

  it.each([
    ["is no JSON", "{", /not JSON/],
    ["makes no sense", '{"mcpServers": {"a": {"command": 7}}}', /^mcpServers\.a\.command: /],
    ["is too large", " ".repeat(MCP_CONFIG_BYTES_MAX + 1), /more than 1048576 bytes/],
  ])("is refused with its name if it %s", async (_, text, reason) => {
    const folder = home(text);
    expect(await choose(folder)).toMatchObject({
      refusal: {
        code: "invalid_server_config",
        details: {
          path: `MCP file ${join(folder, "mcp.json")}`,
          reason: expect.stringMatching(reason),
        },
      },
    });
  });

  it("is refused if it was named and cannot be read", async () => {
    const folder = home();
    mkdirSync(join(folder, "mcp.json"));
    expect(await choose(folder)).toMatchObject({ refusal: { code: "invalid_server_config" } });
    const missing = await choose(folder, "--mcp-config", "/nowhere/mcp.json");
    expect(missing).toMatchObject({ refusal: { details: { path: "MCP file /nowhere/mcp.json" } } });
  });
});

describe("the tools of a server", () => {
  it("P11: make what they are given known as secrets, and leave no marks", async () => {
    vi.stubEnv("ONE_KEY", "one-secret-key");
    onTestFinished(() => void vi.unstubAllEnvs());
    const folder = home(ONE);
    const chosen = await choose(folder);
    const guard = new SecretGuard();
    const mcp = chosen.ok ? chosen.value : expect.fail();
    const tools = await openServerTools(
      mcp,
      { folder, own: OwnFolders.NONE, roots: [] },
      new AgentUsers(),
      guard,
      {
        log: () => {},
      },
    );
    expect(guard.redact("it is one-secret-key")).not.toContain("one-secret-key");
    expect(tools.servers).toMatchObject([{ env: [{ name: "KEY", value: "one-secret-key" }] }]);
    const place = { workspaceCwd: folder, cwd: folder };
    const call = await tools.callOf("shell", "echo hello", place);
    const signal = new AbortController().signal;
    const answer = call.ok ? await tools.run(call.value, place, signal) : expect.fail();
    expect(answer).toEqual({ isError: false, text: "hello" });
    expect(readdirSync(join(folder, "running-tools"))).toEqual([]);
    await tools.close();
  });

  it("P8: read nothing of what the server keeps", async () => {
    const folder = home('{"mcpServers": {}}');
    const chosen = await choose(folder);
    const mcp = chosen.ok ? chosen.value : expect.fail();
    const data = {
      folder: join(folder, "data"),
      own: await OwnFolders.at([folder], []),
      roots: [],
    };
    const tools = await openServerTools(mcp, data, new AgentUsers(), new SecretGuard(), {
      log: () => {},
    });
    const place = { workspaceCwd: folder, cwd: folder };
    const run = async (name: string, words: string) => {
      const call = await tools.callOf(name, words, place);
      return call.ok ? tools.run(call.value, place, new AbortController().signal) : expect.fail();
    };
    const outside = { isError: true, text: expect.stringMatching(/not inside the workspace/) };
    expect(await run("read_file", "mcp.json")).toMatchObject(outside);
    expect(await run("shell", "cat mcp.json")).toMatchObject(outside);
    await tools.close();
  });
});
