import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { KNOWN_PROFILES } from "../../agent/profile/known.ts";
import { AgentUsers } from "../../agent/user/users.ts";
import { OwnFolders } from "../../agent/workspace/location.ts";
import { parseTenantId } from "../../core/id.ts";
import { MCP_CONFIG_BYTES_MAX } from "../../core/limits.ts";
import { thisProcess } from "../../platform/process-identity.ts";
import { SecretGuard } from "../../store/index.ts";
import type { OfferedTool } from "../../tool/toolbox.ts";
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

type ToolParts = Parameters<typeof openServerTools>[0];

/** The tools of a server over this folder, to the end of the test. */
async function opened(folder: string, change: Partial<ToolParts> = {}, logs: string[] = []) {
  const all = await openServerTools({
    options: { "run-dir": folder },
    mcp: { servers: [], folder },
    profiles: new Map(KNOWN_PROFILES.map((profile) => [profile.name, profile])),
    folder,
    own: OwnFolders.NONE,
    users: new AgentUsers(),
    guard: new SecretGuard(),
    secrets: { retire: () => {} },
    log: { log: (what, about) => void logs.push(`${what}: ${about.because}`) },
    ...change,
  });
  onTestFinished(async () => {
    await Promise.all([all.tools.close(), all.toolboxes.close()]);
  });
  return all;
}

describe("the tools of a server", () => {
  it("P11: make what they are given known as secrets, and leave no marks", async () => {
    vi.stubEnv("ONE_KEY", "one-secret-key");
    onTestFinished(() => void vi.unstubAllEnvs());
    const folder = home(ONE);
    const chosen = await choose(folder);
    const guard = new SecretGuard();
    const mcp = chosen.ok ? chosen.value : expect.fail();
    const { tools } = await opened(folder, { mcp, guard });
    expect(guard.redact("it is one-secret-key")).not.toContain("one-secret-key");
    expect(tools.servers).toMatchObject([{ env: [{ name: "KEY", value: "one-secret-key" }] }]);
    const place = { workspaceCwd: folder, cwd: folder };
    const call = await tools.callOf("shell", "echo hello", place);
    const signal = new AbortController().signal;
    const answer = call.ok ? await tools.run(call.value, place, signal) : expect.fail();
    expect(answer).toEqual({ isError: false, text: "hello" });
    expect(readdirSync(join(folder, "running-tools"))).toEqual([]);
  });

  it("P8: read nothing of what the server keeps", async () => {
    const folder = home('{"mcpServers": {}}');
    const chosen = await choose(folder);
    const mcp = chosen.ok ? chosen.value : expect.fail();
    const own = await OwnFolders.at([folder], []);
    const { tools } = await opened(folder, { mcp, own, folder: join(folder, "data") });
    const place = { workspaceCwd: folder, cwd: folder };
    const run = async (name: string, words: string) => {
      const call = await tools.callOf(name, words, place);
      return call.ok ? tools.run(call.value, place, new AbortController().signal) : expect.fail();
    };
    const outside = { isError: true, text: expect.stringMatching(/not inside the workspace/) };
    expect(await run("read_file", "mcp.json")).toMatchObject(outside);
    expect(await run("shell", "cat mcp.json")).toMatchObject(outside);
  });
});

describe("the tools that a server has for agents", () => {
  const TENANT = parseTenantId("acme") ?? expect.fail();
  const TOOL: OfferedTool = {
    name: "shout",
    description: "",
    inputSchema: {},
    isReadOnly: true,
    call: async () => ({ isError: false, text: "" }),
  };

  it("are offered by a socket in a run folder that is closed to agents' files", async () => {
    const folder = home();
    const { toolboxes, own } = await opened(folder);
    const toolbox = toolboxes.open({ tenantId: TENANT, agent: "qwen" }, [TOOL]);
    expect(toolbox).toMatchObject({ server: { name: "fermata", command: process.execPath } });
    const [made = ""] = readdirSync(folder).filter((name) => name.startsWith("fermata-"));
    expect(statSync(join(folder, made)).mode & 0o777).toBe(0o700);
    expect(own.isUnreadable(join(folder, made, "tools"))).toBe(true);
    await toolboxes.close();
    expect(readdirSync(folder).filter((name) => name.startsWith("fermata-"))).toEqual([]);
  });

  it("are kept from agents that offer their models none, or are not known", async () => {
    const { toolboxes } = await opened(home());
    const open = (agent: string) => toolboxes.open({ tenantId: TENANT, agent }, [TOOL]);
    expect(open("copilot")).toMatch(/Copilot.*does not offer the tools of MCP servers/);
    expect(open("gone")).toBe("its agent is not known any more");
  });

  it("P6: are missed, with the reason, where there can be no run folder", async () => {
    const logs: string[] = [];
    const folder = home();
    const deep = join(folder, "x".repeat(100));
    const { toolboxes, own } = await opened(folder, { options: { "run-dir": deep } }, logs);
    const open = toolboxes.open({ tenantId: TENANT, agent: "qwen" }, [TOOL]);
    expect(open).toMatch(/the server cannot offer tools: .* is too long for a socket/);
    expect(logs).toEqual([expect.stringMatching(/^no tools for agents: .*too long/)]);
    expect(own).toBe(OwnFolders.NONE);
  });

  it("P5: what a killed server has left is removed, and nothing through a link", async () => {
    const folder = home();
    const { path: left, note } = leftBehind(folder);
    const other = join(folder, "other");
    mkdirSync(other);
    writeFileSync(join(other, "file"), "");
    symlinkSync(other, join(left, "proofs", "link"));
    await opened(folder);
    expect([left, note].filter((path) => existsSync(path))).toEqual([]);
    expect(existsSync(join(other, "file"))).toBe(true);
  });

  /** As a server that is gone has left it. */
  function leftBehind(folder: string) {
    const path = join(folder, "fermata-killed");
    mkdirSync(join(path, "proofs"), { recursive: true });
    writeFileSync(join(path, "tools"), "");
    const notes = join(folder, "run-folders");
    mkdirSync(notes);
    const note = join(notes, "fermata-killed.json");
    const server = { ...thisProcess(), startedAt: "1" };
    writeFileSync(note, JSON.stringify({ path, server }));
    return { path, note };
  }
});
