import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { DONE } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { LineSplitter } from "../../wire/rpc.ts";
import { answered } from "../tool.ts";
import type { OfferedTool, Toolbox } from "../toolbox.ts";
import { RunFolder } from "./run-folder.ts";
import { ToolboxServer, type ToolboxServerOptions } from "./server.ts";

export const OWN_UID = process.getuid?.() ?? -1;

export function tenant(name: string): TenantId {
  return parseTenantId(name) ?? expect.fail();
}

/** A tool that answers what it was given. */
export function tool(name: string, call?: OfferedTool["call"]): OfferedTool {
  const properties = { text: { type: "string" } };
  return {
    name,
    description: `What ${name} does`,
    inputSchema: { type: "object", properties, required: ["text"] },
    isReadOnly: true,
    call: call ?? (async ({ text }) => answered(`${name} says ${String(text)}`)),
  };
}

/** A server of toolboxes in a run folder of its own, and what it was told and logged. */
export class ToolboxStage {
  readonly server: ToolboxServer;
  readonly folder: RunFolder;
  readonly secrets = new Set<string>();
  readonly logs: string[] = [];

  private constructor(server: ToolboxServer, folder: RunFolder) {
    this.server = server;
    this.folder = folder;
  }

  static async open(change: Partial<ToolboxServerOptions> = {}): Promise<ToolboxStage> {
    const parent = mkdtempSync(join(tmpdir(), "fermata-tb-"));
    const { isShared = false } = change;
    if (isShared) chmodSync(parent, 0o711);
    const notes = join(parent, "notes");
    const folder = await RunFolder.make({ parents: [parent], notes, isShared });
    if (typeof folder === "string") throw new Error(folder);
    const server = await ToolboxServer.listen({
      folder,
      isShared,
      userOf: () => OWN_UID,
      secret: (value) => {
        stage.secrets.add(value);
        return DONE;
      },
      secretGone: (value) => void stage.secrets.delete(value),
      clock: SYSTEM_CLOCK,
      log: (what, about) => void stage.logs.push(`${what} ${JSON.stringify(about)}`),
      ...change,
    });
    const stage: ToolboxStage = new ToolboxStage(server, folder);
    onTestFinished(async () => {
      await server.close();
      rmSync(parent, { recursive: true, force: true });
    });
    return stage;
  }

  toolbox(tools: readonly OfferedTool[] = [tool("shout")], name = "acme"): Toolbox {
    const opened = this.server.open({ tenantId: tenant(name), agent: "echo" }, tools);
    return typeof opened === "string" ? expect.fail(opened) : opened;
  }
}

interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What an agent would start for this server. */
export function launchOf({ server }: Toolbox): Launch {
  const { command, args, env } = server;
  const variables = (Array.isArray(env) ? env : []).filter(isObject);
  return {
    command: String(command),
    args: Array.isArray(args) ? args.map(String) : [],
    env: Object.fromEntries(variables.map(({ name, value }) => [String(name), String(value)])),
  };
}

export function secretOf(toolbox: Toolbox): string {
  return launchOf(toolbox).env.FERMATA_TOOLBOX_SECRET ?? "";
}

/** The relay as an agent runs it, and the lines that it has answered. */
export class Relay {
  readonly process: ChildProcessWithoutNullStreams;
  readonly lines: JsonObject[] = [];
  said = "";
  readonly exit: Promise<number | null>;
  readonly #splitter = new LineSplitter(64 * 1_024 * 1_024);
  #lastId = 0;

  constructor({ command, args, env }: Launch, uid?: number) {
    const user = uid === undefined ? {} : { uid, gid: uid };
    this.process = spawn(command, [...args], { cwd: "/", env: { ...env }, ...user });
    this.process.stdin.on("error", () => {});
    this.process.stdout.on("data", (chunk: Buffer) => {
      for (const line of this.#splitter.feed(chunk)) {
        const value: unknown = JSON.parse(String(line));
        if (isObject(value)) this.lines.push(value);
      }
    });
    this.process.stderr.on("data", (chunk: Buffer) => {
      this.said += chunk;
    });
    this.exit = new Promise((resolve) => this.process.once("close", resolve));
    onTestFinished(() => void this.process.kill("SIGKILL"));
  }

  write(message: object | string): void {
    this.process.stdin.write(
      typeof message === "string" ? message : `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`,
    );
  }

  /** A request, without waiting for its answer. */
  ask(method: string, params: object = {}): number {
    this.#lastId += 1;
    this.write({ id: this.#lastId, method, params });
    return this.#lastId;
  }

  async answer(id: unknown): Promise<JsonObject> {
    const isIt = (line: JsonObject) => line.id === id && line.method === undefined;
    await expect.poll(() => this.lines.some(isIt), { timeout: 60_000 }).toBe(true);
    return this.lines.find(isIt) ?? {};
  }

  request(method: string, params: object = {}): Promise<JsonObject> {
    return this.answer(this.ask(method, params));
  }

  call(name: string, text: string): Promise<JsonObject> {
    return this.request("tools/call", { name, arguments: { text } });
  }
}

/** A bare connection to the socket, past the relay, and all that came over it. */
export class Intruder {
  readonly socket: Socket;
  heard = "";
  readonly closed: Promise<void>;

  constructor(path: string) {
    this.socket = connect(path);
    this.socket.on("error", () => {});
    this.socket.on("data", (chunk: Buffer) => {
      this.heard += chunk;
    });
    this.closed = new Promise((resolve) => this.socket.once("close", () => resolve()));
    onTestFinished(() => void this.socket.destroy());
  }

  async challenge(): Promise<string> {
    await expect.poll(() => this.heard, { timeout: 60_000 }).toContain("\n");
    return this.heard.split("\n")[0] ?? "";
  }
}
