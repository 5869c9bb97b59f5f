// The tools of a real server for the models of its agents, called by `echo` as other agents do.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ECHO } from "./program.fixture.ts";
import { type ServeProcess, sharedServer } from "./serve.fixture.ts";
import { Talk } from "./talk.fixture.ts";

const TEXT = "Run the tests, and then deploy.";
const SECRET_BEGINNING = "fermata-secret-of-one-session";

function withSkill({ workspace }: ServeProcess): void {
  writeSkill(workspace, TEXT);
}

function writeSkill(workspace: string, text: string): void {
  const folder = join(workspace, ".fermata", "skills", "deploy");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "SKILL.md"), `---\nsummary: Deploys.\n---\n\n${text}\n`);
}

/** The processes of a run folder's relay. */
function relaysOf({ folder }: ServeProcess): readonly number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const lineOf = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8");
    } catch {
      return "";
    }
  };
  return pids.filter((pid) => lineOf(pid).includes(`${folder}/fermata-`)).map(Number);
}

function runFolders({ folder }: ServeProcess): readonly string[] {
  return readdirSync(folder).filter((name) => name.startsWith("fermata-"));
}

function filesWith(folder: string, text: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return paths.filter((path) => readFileSync(path).includes(text));
}

const hushed = { command: process.execPath, args: [ECHO], title: "Hushed", mcp: "withheld" };

describe("an agent of a session with skills", { timeout: 120_000 }, () => {
  const server = sharedServer({ prepare: withSkill, agents: { hushed } });

  it("P7: reads a skill of the session's snapshot, whatever its file says by now", async () => {
    const talk = await Talk.begun(server());
    const read = 'mcp read_skill {"name":"deploy"}';
    expect(await talk.prompt("turn_complete", read)).toContain(TEXT);
    writeSkill(server().workspace, "Never mind the tests.");
    expect(await talk.prompt("turn_complete", read)).toContain(TEXT);
    const unknown = await talk.prompt("turn_complete", 'mcp read_skill {"name":"sing"}');
    expect(unknown).toMatch(/error: There is no skill of this name.*deploy/);
    writeSkill(server().workspace, TEXT);
  });

  it("is told of the tool that reads them", async () => {
    const talk = await Talk.begun(server());
    expect(await talk.prompt("turn_complete", "whoami")).toContain("when you call `read_skill`");
    expect(await talk.prompt("turn_complete", "mcp-tools")).toContain("fermata: read_skill");
  });

  it("P11: has a secret that is on no disk and in no log", async () => {
    const talk = await Talk.begun(server());
    const said = await talk.prompt("turn_complete", "mcp-env");
    expect(said).toContain("FERMATA_TOOLBOX_SECRET=[redacted]");
    expect(await talk.call("POST", "/load", {})).toBeTruthy();
    expect(filesWith(server().data, SECRET_BEGINNING)).toEqual([]);
    expect(filesWith(server().workspace, SECRET_BEGINNING)).toEqual([]);
    expect(server().said).not.toContain(SECRET_BEGINNING);
  });

  it("P8: has a secret of its own, which a branch of it does not get", async () => {
    const talk = await Talk.begun(server());
    await talk.prompt("turn_complete", "say hello");
    const { sessionId } = await talk.call("POST", "/branch", {});
    const branch = new Talk(server(), String(sessionId));
    const read = 'mcp read_skill {"name":"deploy"}';
    expect(await branch.prompt("turn_complete", read)).toContain(TEXT);
    await talk.call("DELETE", "");
    expect(await branch.prompt("turn_complete", read)).toContain(TEXT);
  });

  it("P6: is told which tools its agent cannot be offered, and why", async () => {
    const talk = await Talk.begun(server(), { agent: "hushed" });
    expect(await talk.prompt("turn_complete", "whoami")).toContain("MCP servers: none");
    const { skipped } = await talk.call("GET", "/status");
    const reason = "Hushed does not offer the tools of MCP servers to its model";
    expect(skipped).toEqual([{ name: "tool read_skill", reason }]);
  });

  it("P5: leaves no relay and no folder after a kill -9 of the server", async () => {
    const talk = await Talk.begun(server());
    await talk.prompt("turn_complete", "mcp-tools");
    expect(relaysOf(server())).not.toEqual([]);
    const before = runFolders(server());
    expect(before).toHaveLength(1);
    await server().kill("SIGKILL");
    await expect.poll(() => relaysOf(server()), { timeout: 60_000 }).toEqual([]);
    await server().restart();
    expect(runFolders(server())).toHaveLength(1);
    expect(runFolders(server())).not.toEqual(before);
    const read = await talk.prompt("turn_complete", 'mcp read_skill {"name":"deploy"}');
    expect(read).toContain(TEXT);
  });

  it("has no relay when its session is closed, and no folder at a stop of the server", async () => {
    const talk = await Talk.begun(server());
    await talk.prompt("turn_complete", "mcp-tools");
    await talk.call("DELETE", "");
    const folders = runFolders(server());
    await server().kill("SIGTERM", "SIGTERM");
    await expect.poll(() => relaysOf(server()), { timeout: 60_000 }).toEqual([]);
    expect(folders.filter((name) => existsSync(join(server().folder, name)))).toEqual([]);
    await server().restart();
  });
});

describe("a session without tools to offer", { timeout: 60_000 }, () => {
  const server = sharedServer();

  it("has no MCP server, and so no process of it", async () => {
    const talk = await Talk.begun(server());
    expect(await talk.prompt("turn_complete", "whoami")).toContain("MCP servers: none");
  });
});

describe("a server that can make no run folder", { timeout: 60_000 }, () => {
  const server = sharedServer({
    prepare: withSkill,
    flags: ["--run-dir", "/proc/nowhere"],
  });

  it("P6: says so, and its sessions go on without the tools, and say why", async () => {
    expect(server().said).toContain("no tools for agents");
    const talk = await Talk.begun(server());
    expect(await talk.prompt("turn_complete", "whoami")).toContain("MCP servers: none");
    const { skipped } = await talk.call("GET", "/status");
    expect(JSON.stringify(skipped)).toMatch(/tool read_skill.*the server cannot offer tools/);
  });
});
