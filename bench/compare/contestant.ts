import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseSessionId } from "../../src/core/index.ts";
import { LOCAL_TENANT } from "../../src/server/http/authenticator.ts";
import { thisHolder } from "../../src/store/holder.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { installed } from "../../test/agents/packages.ts";
import { ROOT } from "../../test/house/files.ts";
import { addTurns } from "../aged.ts";
import { named, openStore } from "../store-world.ts";
import type { ServerAddress } from "../wire-client.ts";
import { ServerHome, ServerProcess, STREAMING_AGENT } from "../wire-process.ts";
import type { WireScale } from "../wire-scale.ts";
import { commitOf } from "./commit.ts";
import type { GroupName } from "./rows.ts";

/** A server that is measured: one that runs already, or folders in which the bench starts one. */
export interface Contestant {
  readonly name: string;
  /** What it is, for the report. */
  readonly about: string;
  /** Whether the bench starts it, and so can end it and look into it. */
  readonly isOwn: boolean;
  /** Groups of rows that it cannot have, and why. */
  readonly lacks?: Partial<Record<GroupName, string>>;
  /** Builds or installs what it needs. */
  prepare(): Promise<void>;
  /** A place of its own for one group of rows. */
  open(): Promise<Place>;
}

/** Where one server runs after the other over the same data. */
export interface Place {
  start(way: StartWay): Promise<Started>;
  /** Gives a session so many more turns while no server runs, where the bench can. */
  addTurns?(sessionId: string, turns: number): Promise<void>;
  close(): Promise<void>;
}

export interface StartWay {
  /**
   * The agent as it is; one process of it for all sessions; or one that also keeps what it says, so
   * that it can load a session.
   */
  readonly agent: "usual" | "many" | "keeping";
  /** Any free one where it does not matter. */
  readonly port?: number;
  /** Loaded into the process by `--import`. */
  readonly probe?: URL;
}

interface Started {
  readonly address: ServerAddress;
  /** Null for a server that the bench did not start. */
  readonly process: ServerProcess | null;
  end(): Promise<void>;
}

const AGENTS = {
  usual: "streaming",
  many: "streaming-many",
  keeping: "streaming-keeping",
} as const satisfies Record<StartWay["agent"], string>;

/** Fermata, built from these sources, or the build of another clone. */
export function fermata(
  server: WireScale["server"],
  { name, root }: { readonly name: string; readonly root: string | null },
): Contestant {
  const about = `fermata serve at commit ${commitOf(root ?? ROOT)}; SQLite, each commit with fsync`;
  return {
    ...{ name, about, isOwn: true },
    async prepare() {
      const home = new ServerHome({ server }, root);
      await home.open();
      await home.close();
    },
    async open() {
      const home = new ServerHome({ server }, root);
      await home.open();
      const start = ({ agent, port = 0, probe }: StartWay) => {
        const flags = ["--agent", AGENTS[agent], "--port", `${port}`];
        return probe ? home.startProbed(probe, ...flags) : home.start(...flags);
      };
      const place = new OwnPlace(start, () => home.close());
      const more = (id: string, turns: number) => addTurnsTo(home.sessions, id, turns);
      return Object.assign(place, { addTurns: more });
    },
  };
}

async function addTurnsTo(sessions: string, id: string, turns: number): Promise<void> {
  const store = sqliteStore();
  await openStore(store, sessions);
  try {
    const key = { tenantId: LOCAL_TENANT, sessionId: named(parseSessionId(id)) };
    await addTurns({ store, holder: thisHolder("bench") }, key, turns);
  } finally {
    await store.dispose();
  }
}

const UPSTREAM = { name: "@qwen-code/qwen-code", version: "0.24.4" };

/**
 * The control. It runs any ACP agent in place of its own: `QWEN_CLI_ENTRY` names the script that it
 * starts with Node, always one process for all sessions.
 */
export function upstream(): Contestant {
  let bin = "";
  return {
    name: "qwen serve",
    about: `${UPSTREAM.name}@${UPSTREAM.version}; keeps sessions in memory`,
    isOwn: true,
    lacks: { branch: "its agent makes the branches, and that of the bench makes none" },
    async prepare() {
      bin = await installed(UPSTREAM);
    },
    async open() {
      const folder = await mkdtemp(join(tmpdir(), "fermata-bench-"));
      const inside = (name: string) => join(folder, name);
      for (const name of ["home", "workspace", "sessions"]) await mkdir(inside(name));
      const state = JSON.stringify(["--state", inside("sessions")]);
      const agent = JSON.stringify(STREAMING_AGENT);
      const keeping = `process.argv.push(...${state}); await import(${agent});`;
      await writeFile(inside("keeping.mjs"), keeping);
      const start = ({ agent: way, port = 0, probe }: StartWay) => {
        const imports = probe === undefined ? [] : ["--import", probe.href];
        const limits = ["--max-sessions", "0", "--max-connections", "0"];
        const at = ["--port", `${port}`, "--workspace", inside("workspace")];
        const serve = ["serve", ...at, ...limits];
        const entry = way === "keeping" ? inside("keeping.mjs") : STREAMING_AGENT;
        const env = { HOME: inside("home"), QWEN_CLI_ENTRY: entry, ...OFFLINE };
        return ServerProcess.start([...imports, join(bin, "qwen"), ...serve], env);
      };
      const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 });
      return new OwnPlace(start, remove);
    },
  };
}

/** Upstream reaches nothing outside of this machine. */
const OFFLINE = {
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "127.0.0.1",
};

/** Ends what it has started, also what a measure that took too long has left running. */
class OwnPlace implements Place {
  readonly #startNext: (way: StartWay) => Promise<ServerProcess>;
  readonly #remove: () => Promise<void>;
  readonly #running = new Set<ServerProcess>();

  constructor(start: (way: StartWay) => Promise<ServerProcess>, remove: () => Promise<void>) {
    this.#startNext = start;
    this.#remove = remove;
  }

  async start(way: StartWay): Promise<Started> {
    const process = await this.#startNext(way);
    this.#running.add(process);
    const address = { host: "127.0.0.1", port: process.port, token: null };
    return { address, process, end: () => this.#end(process, "SIGTERM", "SIGINT") };
  }

  async close(): Promise<void> {
    for (const process of this.#running) await this.#end(process, "SIGKILL");
    await this.#remove();
  }

  async #end(process: ServerProcess, ...signals: readonly NodeJS.Signals[]): Promise<void> {
    if (this.#running.delete(process)) await process.end(...signals);
  }
}

/** A server that runs already, wherever it comes from. */
export function running(name: string, address: ServerAddress): Contestant {
  const started = { address, process: null, end: async () => {} };
  return {
    ...{ name, about: `a server that ran already, on port ${address.port}`, isOwn: false },
    prepare: async () => {},
    open: async () => ({ start: async () => started, close: async () => {} }),
  };
}
