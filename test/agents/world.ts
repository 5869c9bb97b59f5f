// All that one agent is hosted in: a server of its own, a home, a workspace and a model.

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ServeProcess } from "../server/serve.fixture.ts";
import { HostedSession } from "./hosted.ts";
import { ModelServer } from "./model/server.ts";
import { within } from "./must.ts";
import { Recording } from "./recording.ts";
import type { AgentRow } from "./roster.ts";

const LISTED = "mcp-listed";
const MCP_PROGRAM = fileURLToPath(new URL("mcp-server.ts", import.meta.url));
const START_MS_MAX = 60_000;
const KEY = "contract-key-good";
const WRONG_KEY = "contract-key-wrong";

/** A micro-credit for each token, and a reserve of about two model calls. */
const PER_TOKEN = { input: 1_000_000, output: 1_000_000, reserve: 2_000 };
/** By the names that providers give to models. The agents have names of their own for them. */
const MODELS = ["mock-model*", "gemini-*", "gpt-5.5", "claude-*"];
const PRICES = {
  defaults: false,
  models: Object.fromEntries(MODELS.map((model) => [model, PER_TOKEN])),
};

export type KeyKind = "good" | "wrong" | "none";

/** An agent, and where its programs are. */
export interface Hosted {
  readonly agent: AgentRow;
  readonly bin: string;
}

/** By their agent, for children: of another agent's model the server knows the name too late. */
const pricesFor = (agents: readonly AgentRow[]) => {
  return { ...PRICES, agents: Object.fromEntries(agents.map(({ name }) => [name, PER_TOKEN])) };
};

export class World {
  readonly agent: AgentRow;
  /** The agents that it can delegate to. */
  readonly others: readonly AgentRow[];
  readonly model: ModelServer;
  readonly server: ServeProcess;
  readonly #user: string;
  readonly #record: Recording | null;
  readonly #sessions: HostedSession[] = [];

  private constructor(
    [agent, ...others]: readonly [AgentRow, ...AgentRow[]],
    model: ModelServer,
    server: ServeProcess,
    user: string,
    record: Recording | null,
  ) {
    this.#record = record;
    this.agent = agent;
    this.others = others;
    this.model = model;
    this.server = server;
    this.#user = user;
  }

  /** The first agent is that of sessions. Where there are others, it can delegate to them. */
  static async make(
    [{ agent, bin }, ...others]: readonly [Hosted, ...Hosted[]],
    keyKind: KeyKind,
  ): Promise<World> {
    const agents = [agent, ...others.map((other) => other.agent)] as const;
    const bins = [bin, ...others.map((other) => other.bin)];
    const record = Recording.next(agent.name, keyKind);
    const user = realpathSync(mkdtempSync(join(tmpdir(), `fermata-agent-${agent.name}-`)));
    const model = await ModelServer.start(KEY);
    const key = { good: KEY, wrong: WRONG_KEY, none: null }[keyKind];
    const around = { modelUrl: model.url, key };
    for (const one of agents) write(user, one.home?.(around) ?? {});
    const listed = join(user, LISTED);
    mkdirSync(listed);
    const program = { command: process.execPath, args: [MCP_PROGRAM] };
    const mcp = { contract: { ...program, env: { CONTRACT_LISTED: listed } } };
    write(user, { "mcp.json": JSON.stringify({ mcpServers: mcp }) });
    const prices = others.length === 0 ? PRICES : pricesFor(agents);
    write(user, { "prices.json": JSON.stringify(prices) });
    const PATH = [
      ...bins.flatMap((one) => record?.shims(one) ?? []),
      ...bins,
      dirname(process.execPath),
      process.env.PATH,
    ].join(delimiter);
    const variables = agents.flatMap((one) => Object.entries(one.env(around)));
    const own = variables.filter(([, value]) => value !== null);
    const started = ServeProcess.start({
      flags: [
        ...["--agent", agent.name, "--mcp-config", join(user, "mcp.json")],
        ...["--prices", join(user, "prices.json")],
        ...(others.length === 0 ? [] : ["--max-children", "4"]),
      ],
      env: { ...Object.fromEntries(own), PATH, HOME: user, SHELL: "/bin/bash", TERM: "dumb" },
    });
    try {
      const server = await within(START_MS_MAX, "the server starts", started);
      return new World(agents, model, server, user, record);
    } catch (thrown) {
      await model.end();
      rmSync(user, { recursive: true, force: true });
      throw thrown;
    }
  }

  get workspace(): string {
    return this.server.workspace;
  }

  async session(settings: object = {}): Promise<HostedSession> {
    const session = await HostedSession.create(this.server.url, settings);
    this.#sessions.push(session);
    return session;
  }

  /** Processes that were started for this world and still run, the server itself left out. */
  get processes(): readonly number[] {
    return marked(`HOME=${this.#user}`).filter((pid) => pid !== this.server.pid);
  }

  /** The processes of agents that the server has started itself. */
  get agents(): readonly number[] {
    return this.processes.filter((pid) => parentOf(pid) === this.server.pid);
  }

  /** Says in the recording, if there is one, which check is next. */
  note(check: string): void {
    this.#record?.note(check);
  }

  /** How often an agent has asked an MCP server for its tools. */
  get mcpListed(): number {
    return readdirSync(join(this.#user, LISTED)).length;
  }

  async leave(): Promise<void> {
    await Promise.all(this.#sessions.splice(0).map((session) => session.leave()));
  }

  /** Ends everything, in any state. */
  async end(): Promise<void> {
    await this.leave();
    await within(START_MS_MAX, "the server stops", this.server.end()).catch(() => {});
    for (const pid of this.processes) endProcess(pid);
    this.#record?.keep(this.model, this.server.said);
    await this.model.end();
    rmSync(this.#user, { recursive: true, force: true, maxRetries: 3 });
  }
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** The processes that have this in their environment. */
function marked(variable: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => read(pid, "environ").split("\0").includes(variable));
}

function parentOf(pid: number): number {
  // The name of the program is in brackets, and may have brackets and spaces itself.
  const [, parent = "0"] = read(pid, "stat").replace(/^.*\)/s, "").trim().split(" ");
  return Number(parent);
}

function read(pid: number, what: string): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, "utf8");
  } catch {
    return "";
  }
}

export function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
