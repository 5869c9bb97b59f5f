import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { AgentListener, AgentSession, Agents, AgentTurn } from "../src/agent/agent.ts";
import { DONE, fail, ok } from "../src/core/result.ts";
import { HttpServer } from "../src/server/http/server.ts";
import { allRoutes } from "../src/server/route/all-routes.ts";
import { activityOf } from "../src/server/route/server-info.ts";
import { readServerSettings } from "../src/server/settings.ts";
import { Workspaces } from "../src/server/workspaces.ts";
import { OpenTurns } from "../src/session/actor/open-turns.ts";
import { SessionHost } from "../src/session/host.ts";
import { KnownSnapshots } from "../src/session/known-snapshots.ts";
import type { LiveSession } from "../src/session/live.ts";
import { SessionService } from "../src/session/service.ts";
import { TenantGate } from "../src/session/tenant/tenant-gate.ts";
import {
  CREATION,
  NO_KEEPER,
  NO_LOADER,
  NO_METER,
  NO_SHELL,
  NO_TOOLS,
  RANDOM_IDS,
  REAL_CLOCK,
  SETTINGS,
} from "../src/session/world.fixture.ts";
import type { SessionWorld } from "../src/session/world.ts";
import { SecretGuard } from "../src/store/index.ts";
import { StoreWorld, value } from "./store-world.ts";

const LOCAL_CLIENT = { kind: "client", clientId: null, userId: null, loopback: true } as const;

/** A whole server in this process: real store, real network, and agents that cost nothing. */
export class WireWorld {
  readonly agents = new SpeakingAgents();
  readonly stores = new StoreWorld();
  readonly world: SessionWorld;
  readonly runtime: SessionHost;
  port = 0;
  #server: HttpServer | null = null;

  constructor() {
    this.world = {
      store: this.stores.store,
      agents: this.agents,
      loader: NO_LOADER,
      tools: NO_TOOLS,
      meter: NO_METER,
      shell: NO_SHELL,
      holder: this.stores.holder,
      tenants: new TenantGate(),
      turns: new OpenTurns(Number.POSITIVE_INFINITY),
      known: new KnownSnapshots(),
      clock: REAL_CLOCK,
      yield: () => yieldToEventLoop(),
      ids: RANDOM_IDS,
      redact: (text) => text,
      borders: new SecretGuard(),
      settings: { ...SETTINGS, sessionsLiveMax: null },
      log: () => {},
    };
    this.runtime = new SessionHost(this.world);
  }

  async open(): Promise<void> {
    await this.stores.open();
    const { world, runtime } = this;
    const { tenantId } = this.stores;
    const settings = value(readServerSettings({ port: 0, maxConnections: 0, workspaces: ["/"] }));
    const workspaces = await Workspaces.open(world.store, settings.workspaces);
    const { store, meter, tenants, clock, ids, redact } = world;
    const daemon = {
      ...{ store, meter, tenants, clock, ids, redact, settings, workspaces },
      sessions: new SessionService(world, runtime),
      checkNoForeignHolders: async () => DONE,
      defaultVisibility: async () => ok("tenant" as const),
      keeper: NO_KEEPER,
      knownAgents: { list: async () => [] },
    };
    const server: HttpServer = new HttpServer({
      settings,
      table: allRoutes(daemon, "bench", async () => activityOf(daemon, server)),
      clock: REAL_CLOCK,
      log: () => {},
      authenticator: {
        needsToken: false,
        authenticate: () => ok({ tenantId, userId: null, role: "owner" }),
      },
    });
    this.#server = server;
    this.port = value(await server.listen()).port;
  }

  async close(): Promise<void> {
    await this.runtime.shutDown(AbortSignal.abort());
    await this.#server?.close();
    await this.stores.close();
  }

  async create(): Promise<LiveSession> {
    const { ids } = this.world;
    const key = { tenantId: this.stores.tenantId, sessionId: ids.session() };
    const request = { key, creation: CREATION, actor: LOCAL_CLIENT };
    return value(await this.runtime.create(request)).live;
  }

  /** Runs a whole turn, and returns its last event, which is durable. */
  async turn(live: LiveSession): Promise<number> {
    const { ids } = this.world;
    const { lastEventId } = live;
    const prompt = {
      promptId: ids.prompt(),
      content: [{ type: "text", text: "speak" }],
      deadlineAtMs: null,
      idempotency: null,
      lastEventId,
      params: null,
      echo: true,
      start: { turnId: ids.turn(), reservedMicro: 0, price: null },
    } as const;
    const command = { type: "prompt", atMs: Date.now(), actor: LOCAL_CLIENT, ...prompt } as const;
    value(await this.runtime.submit(live.key, command));
    value(await live.until(({ running, queue }) => running === null && queue.length === 0));
    return live.lastEventId;
  }
}

export function eventsPath({ key }: LiveSession): string {
  return `/session/${key.sessionId}/events`;
}

/** What an agent sends in a turn. */
export type Speech = (say: (text: string) => Promise<void> | undefined) => Promise<void>;

/** Agents in this process that send what a trial wants, at next to no cost. */
class SpeakingAgents implements Agents {
  speech: Speech = async () => {};
  /** Of the last session that connected. */
  listener: AgentListener | null = null;

  async connect(...[, listener]: Parameters<Agents["connect"]>) {
    const session = sessionWith(listener, (turn) => void this.#speak(listener, turn));
    this.listener = listener;
    listener.connected(session);
    return ok(session);
  }

  async preheat() {}
  async dismiss() {}
  async forget() {
    return true;
  }
  async shutdown() {}

  async #speak(listener: AgentListener, { turnId }: AgentTurn): Promise<void> {
    await this.speech((text) => {
      const content = { type: "text", text };
      return listener.update({ sessionUpdate: "agent_message_chunk", content });
    });
    listener.status({ status: "turn_complete", turnId, stopReason: "end_turn" });
  }
}

const OFFER = {
  agentName: null,
  agentVersion: null,
  capabilities: {},
  modes: null,
  configOptions: [],
  takesSystemPrompt: false,
  canSteer: false,
  skipped: [],
};

function sessionWith(listener: AgentListener, begin: (turn: AgentTurn) => void): AgentSession {
  return {
    agentSessionId: "speaking",
    context: "new",
    offer: OFFER,
    prompt(turn) {
      setImmediate(begin, turn);
      return DONE;
    },
    async close() {
      listener.status({ status: "terminated" });
    },
    ...NOTHING_ELSE,
  };
}

const done = async () => DONE;

const NOTHING_ELSE = {
  steer: () => DONE,
  cancel: () => {},
  kill: async () => {},
  setModelConfig: async () => null,
  setMode: done,
  setConfigOption: done,
  modelSettingOf: () => null,
  listSessions: async () => ok([]),
  fork: async () => fail("agent_gone"),
};
