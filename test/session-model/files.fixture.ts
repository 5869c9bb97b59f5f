import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ECHO } from "../server/program.fixture.ts";
import type { ServeProcess } from "../server/serve.fixture.ts";

const MCP = fileURLToPath(new URL("../../src/tool/mcp/stdio-server.fixture.ts", import.meta.url));

/** `echo` with these flags, as it stands in `agents.json`. */
export function echoAgent(...flags: readonly string[]) {
  return { command: process.execPath, args: [ECHO, ...flags] };
}

/** An MCP server of a fixture, as it stands in `mcp.json`. */
export function mcpServer(...flags: readonly string[]) {
  return { command: process.execPath, args: [MCP, ...flags] };
}

/** Writes a file below a folder, with the folders that it needs. */
export function write(folder: string, path: string, text: string) {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** The text of a skill's file. */
export function skill(summary: string, body: string, more: readonly string[] = []): string {
  return ["---", `summary: ${summary}`, ...more, "---", body, ""].join("\n");
}

/** A skill that runs a tool. */
export function toolSkill(tool: string): string {
  return skill(`Runs ${tool}.`, "", ["invocation_mode: tool_dispatch", `command_tool: ${tool}`]);
}

/** The files of a server's user and workspace. */
export class Files {
  readonly #server: ServeProcess;

  constructor(server: ServeProcess) {
    this.#server = server;
  }

  /** In the server's first workspace. */
  write(path: string, text: string) {
    write(this.#server.workspace, path, text);
  }

  skill(name: string, text: string) {
    this.write(`.fermata/skills/${name}/SKILL.md`, text);
  }

  remove(path: string) {
    rmSync(join(this.#server.workspace, path), { recursive: true });
  }

  /** In the operator's folder: `agents.json`, `mcp.json`, `skills`. */
  home(path: string, content: object) {
    write(join(this.#server.folder, "home"), path, JSON.stringify(content));
  }
}
