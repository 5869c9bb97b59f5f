import { request } from "node:http";
import { onTestFinished } from "vitest";
import { KnownAgents } from "../agent/known-agents.ts";
import { KNOWN_PROFILES } from "../agent/profile/known.ts";
import { parseTenantId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { Outsiders } from "../core/policy/bound.ts";
import { ok } from "../core/result.ts";
import type { Visibility } from "../core/session/visibility.ts";
import type { Clock } from "../platform/clock.ts";
import { SessionHost } from "../session/host.ts";
import { SessionService } from "../session/service.ts";
import { Stage } from "../session/stage.fixture.ts";
import { TenantPolicies } from "../session/tenant/tenant-policies.ts";
import { given, REAL_CLOCK } from "../session/world.fixture.ts";
import type { SessionWorld } from "../session/world.ts";
import { checkNoForeignHolders } from "../store/holder.ts";
import type { Daemon } from "./daemon.ts";
import type { RequestAuthenticator } from "./http/authenticator.ts";
import type { Pages } from "./http/page-gate.ts";
import { type Caller, type Route, RouteTable } from "./http/route.ts";
import { granted, type Reply, ServerWorld } from "./http/server.fixture.ts";
import { HttpServer } from "./http/server.ts";
import { readServerSettings, type ServerOptions } from "./settings.ts";
import { Workspaces } from "./workspaces.ts";

export interface DaemonOptions {
  readonly routes: (daemon: Daemon) => readonly Route[];
  /** Of the server; its one workspace is the folder, unless they name others. */
  readonly settings?: Partial<ServerOptions>;
  /** Of the sessions, their store and their agents; a folder goes on where another has ended. */
  readonly stage?: Parameters<typeof Stage.open>[0];
  /** What of the sessions' world is another than the stage's. */
  readonly world?: Partial<SessionWorld>;
  /** How callers say who they are, where they are not believed. */
  readonly authenticator?: (daemon: TestDaemon) => RequestAuthenticator;
  /** Of the server's outside, where time is to pass when a test says so. */
  readonly clock?: Clock;
  /** Who sees new sessions: the whole tenant, unless a test is about privacy. */
  readonly visibility?: Visibility | "policy";
  /** False is a server that wants no token: its strict routes are refused. */
  readonly needsToken?: boolean;
  /** What browsers get where no route is. */
  readonly pages?: (daemon: Daemon) => Pages;
  /** Who comes to a tenant beside its members; any user unless a test says otherwise. */
  readonly outsiders?: Outsiders;
}

/** A daemon, and what is behind its door. */
export interface TestDaemon extends Daemon {
  readonly host: SessionHost;
  readonly world: SessionWorld;
}

export interface Call {
  /** Sent as JSON; bytes as they are. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly clientId?: string;
  /** Who asks, where it is not the owner of the local tenant. */
  readonly as?: Caller;
  /** Leaves before the answer when it is aborted. */
  readonly signal?: AbortSignal;
}

export interface Called extends Omit<Reply, "text"> {
  /** An empty object for an answer without a body. */
  readonly body: JsonObject;
  readonly text: string;
}

/** A whole daemon on a free port: real store, real agents, and the routes under test. */
export class DaemonWorld extends ServerWorld {
  readonly daemon: TestDaemon;
  readonly stage: Stage;
  #hasEnded = false;

  private constructor(http: ServerWorld, daemon: TestDaemon, stage: Stage) {
    super(http.server, http.url, http.port, http.logged);
    this.daemon = daemon;
    this.stage = stage;
  }

  static async open(options: DaemonOptions): Promise<DaemonWorld> {
    const stage = await Stage.open(options.stage);
    const { folder } = stage;
    const wanted = { port: 0, workspaces: [folder], ...options.settings };
    const settings = granted(readServerSettings(wanted));
    const { settings: known } = stage.world;
    const enableShell = settings.enableShell || known.enableShell;
    const stageWorld = { ...stage.world, settings: { ...known, enableShell } };
    const world = { ...stageWorld, ...policiesOf(stage.world, options), ...options.world };
    const host = new SessionHost(world);
    const { store, meter, tenants, clock, ids, redact } = world;
    const sessions = new SessionService(world, host);
    const { visibility = "tenant" } = options;
    const daemon: TestDaemon = {
      ...{ host, world, store, meter, tenants, clock, ids, redact },
      sessions,
      checkNoForeignHolders: (tenantId) => checkNoForeignHolders(store, tenantId, world.holder),
      defaultVisibility: async (tenantId) => {
        return visibility === "policy" ? sessions.policy.visibilityOf(tenantId) : ok(visibility);
      },
      keeper: stage.keeper,
      knownAgents: new KnownAgents(KNOWN_PROFILES, process.env, REAL_CLOCK),
      settings,
      workspaces: await Workspaces.open(world.store, settings.workspaces),
    };
    const logged: string[] = [];
    const server = new HttpServer({
      settings,
      table: new RouteTable(options.routes(daemon)),
      clock: options.clock ?? REAL_CLOCK,
      log: (what, about) => logged.push(`${what} ${JSON.stringify(about)}`),
      closeMs: 200,
      tenants: world.tenants,
      ...(options.pages && { pages: options.pages(daemon) }),
      authenticator: options.authenticator?.(daemon) ?? byName(options.needsToken ?? true),
    });
    const { url, port } = granted(await server.listen());
    const http = new ServerWorld(server, url, port, logged);
    const opened = new DaemonWorld(http, daemon, stage);
    onTestFinished(() => opened.end());
    return opened;
  }

  /** Stops it in good order and at once; another may then go on with its folder. */
  async end(): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    await this.daemon.host.shutDown(AbortSignal.abort());
    await this.server.close();
  }

  call(method: string, path: string, call: Call = {}): Promise<Called> {
    const { body, clientId, as, signal } = call;
    const isRaw = body instanceof Uint8Array;
    const sent = isRaw ? body : body === undefined ? "" : JSON.stringify(body);
    const headers = {
      // Node sends the body of a DELETE as if there were none, unless it is told how long it is.
      ...(method === "DELETE" ? { "content-length": `${Buffer.byteLength(sent)}` } : {}),
      ...(body === undefined || isRaw ? {} : { "content-type": "application/json" }),
      ...(clientId === undefined ? {} : { "x-qwen-client-id": clientId }),
      ...(as === undefined ? {} : { authorization: `Bearer ${tokenOf(as)}` }),
      ...call.headers,
    };
    const { promise, resolve, reject } = Promise.withResolvers<Called>();
    const { port } = this;
    const options = { port, host: "127.0.0.1", path, method, headers, agent: false, signal };
    const asked = request(options, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      const { statusCode: status = 0, headers } = response;
      const isJson = headers["content-type"]?.startsWith("application/json");
      resolve({ status, headers, text, body: isJson ? JSON.parse(text) : {} });
    });
    asked.on("error", reject).end(sent);
    return promise;
  }
}

/** Users whom no list of members has are believed, unless a test says who they are. */
function policiesOf({ store, clock }: SessionWorld, options: DaemonOptions) {
  if (options.needsToken === false) return {};
  const outsiders = options.outsiders ?? { users: true, operator: true };
  return { policies: new TenantPolicies(store, clock, () => outsiders) };
}

/** A caller of another tenant, for whom nothing here exists (P8). */
export const STRANGER: Caller = {
  tenantId: given(parseTenantId("elsewhere")),
  userId: null,
  role: "owner",
};

/** The tenant of callers that are not identified. */
export const LOCAL: Caller = {
  tenantId: given(parseTenantId("local")),
  userId: null,
  role: "owner",
};

/** Believes every caller. */
function byName(needsToken: boolean): RequestAuthenticator {
  return {
    needsToken,
    authenticate(authorization) {
      if (authorization === undefined) return ok(LOCAL);
      const said = authorization.slice("Bearer ".length);
      return ok(JSON.parse(Buffer.from(said, "base64").toString()));
    },
  };
}

function tokenOf(caller: Caller): string {
  return Buffer.from(JSON.stringify(caller)).toString("base64");
}
