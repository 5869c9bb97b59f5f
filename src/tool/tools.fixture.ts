import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { DONE, type Result } from "../core/result.ts";
import type { McpServer } from "./mcp/config.ts";
import { DEFAULT_MCP_TIMEOUTS, type McpTimeouts } from "./mcp/link.ts";
import { type OpenTools, openTools, type ToolOptions } from "./open.ts";
import { FOREVER, newWorld, type World } from "./workspace.fixture.ts";

const SCRIPT = fileURLToPath(new URL("mcp/stdio-server.fixture.ts", import.meta.url));

/** A server's tools, with what became known outside of them. */
export interface Bench {
  readonly world: World;
  readonly tools: OpenTools;
  readonly secrets: readonly string[];
  readonly logged: readonly (readonly [string, unknown])[];
  /** What the script was asked, line by line. */
  journal(): readonly string[];
  /** Calls a tool by words and runs it. */
  say(name: string, words?: string, signal?: AbortSignal): Promise<string>;
}

interface BenchOptions {
  readonly servers?: readonly McpServer[];
  readonly env?: NodeJS.ProcessEnv;
  readonly timeouts?: Partial<McpTimeouts>;
  readonly secret?: ToolOptions["secret"];
}

/** The script as a server of this name. */
export function script(
  world: World,
  name: string,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): McpServer {
  const variables = { JOURNAL: join(world.root, "journal"), ...env };
  const args = [SCRIPT, ...flags];
  return { name, type: "stdio", command: process.execPath, args, env: variables };
}

export async function openBench(make: (world: World) => BenchOptions): Promise<Bench> {
  const world = await newWorld();
  const { servers = [], env, timeouts, secret } = make(world);
  const secrets: string[] = [];
  const logged: [string, unknown][] = [];
  const tools = await openTools({
    servers,
    folder: world.root,
    env: { PATH: process.env.PATH, ...env },
    marks: world.marks,
    timeouts: { ...DEFAULT_MCP_TIMEOUTS, ...timeouts },
    secret: (value): Result<void> => {
      secrets.push(value);
      return secret?.(value) ?? DONE;
    },
    log: (what, about) => void logged.push([what, about]),
  });
  onTestFinished(() => tools.close());
  const say = async (name: string, words = "", signal = FOREVER) => {
    const call = await tools.callOf(name, words, world.place);
    if (!call.ok) return expect.fail(JSON.stringify(call.refusal));
    const { isError, text } = await tools.run(call.value, world.place, signal);
    return isError ? `error: ${text}` : text;
  };
  const journal = () => {
    const file = join(world.root, "journal");
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  };
  return { world, tools, secrets, logged, journal, say };
}

export function namesOf(list: readonly { readonly name: string }[]): readonly string[] {
  return list.map(({ name }) => name);
}
