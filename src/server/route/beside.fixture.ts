import { expect } from "vitest";
import { SESSION_IDLE_MS } from "../../core/limits.ts";
import type { LiveSession } from "../../session/live.ts";
import { ada, turn } from "../../session/runtime.fixture.ts";
import { type Stage, value } from "../../session/stage.fixture.ts";
import { CREATION } from "../../session/world.fixture.ts";
import type { SessionKey } from "../../store/store.ts";
import { type Call, type Called, DaemonWorld, LOCAL } from "../daemon.fixture.ts";
import type { Daemon } from "../daemon.ts";
import type { Route } from "../http/route.ts";
import type { ServerOptions } from "../settings.ts";
import { auditRoute } from "./audit.ts";
import { branchRoute } from "./restore.ts";
import { statusTableRoute } from "./server-info.ts";
import { contextRoute, contextUsageRoute, statsRoute, supportedCommandsRoute } from "./session.ts";
import { btwRoute, recapRoute, shellRoute, taskRoutes } from "./side-work.ts";
import { exportRoute, transcriptRoute } from "./transcripts.ts";

/** What can be read of a session, and done beside its turns. */
export function routesBeside(daemon: Daemon): readonly Route[] {
  return [
    auditRoute(daemon),
    branchRoute(daemon),
    btwRoute(daemon),
    contextRoute(daemon),
    contextUsageRoute(daemon),
    exportRoute(daemon),
    recapRoute(daemon),
    shellRoute(daemon),
    statsRoute(daemon),
    statusTableRoute(),
    supportedCommandsRoute(daemon),
    ...taskRoutes(daemon),
    transcriptRoute(daemon),
  ];
}

interface Options {
  readonly settings?: Partial<ServerOptions>;
  readonly stage?: Parameters<typeof Stage.open>[0];
  readonly needsToken?: boolean;
}

/** A daemon with one session, which the client `ada` has made, and ways to ask about it. */
export class SessionBeside {
  readonly world: DaemonWorld;
  readonly key: SessionKey;

  private constructor(world: DaemonWorld, key: SessionKey) {
    this.world = world;
    this.key = key;
  }

  static async open(options: Options = {}): Promise<SessionBeside> {
    const world = await DaemonWorld.open({ routes: routesBeside, ...options });
    const { daemon, stage } = world;
    const key = { tenantId: LOCAL.tenantId, sessionId: daemon.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    value(await daemon.host.create({ key, creation, actor: ada }));
    return new SessionBeside(world, key);
  }

  get sessionId() {
    return this.key.sessionId;
  }

  get(path: string, call: Call = {}): Promise<Called> {
    return this.world.call("GET", `/session/${this.sessionId}${path}`, call);
  }

  post(path: string, body: unknown = {}, call: Call = {}): Promise<Called> {
    return this.world.call("POST", `/session/${this.sessionId}${path}`, { body, ...call });
  }

  async turn(...script: readonly string[]): Promise<void> {
    await turn(await this.live(), ...script);
  }

  /** Lets it rest without an agent; the next request opens it again, as it is stored. */
  async rest(): Promise<void> {
    const { stage, daemon } = this.world;
    stage.aheadMs += SESSION_IDLE_MS;
    await daemon.host.reapIdle();
    expect(daemon.host.liveOf(this.key.tenantId)).toEqual([]);
  }

  /** The session as it is in memory now. */
  async live(): Promise<LiveSession> {
    return value(await this.world.daemon.host.find(this.key));
  }
}

/** With the shell, which is off by default. */
export const WITH_SHELL = { settings: { enableShell: true, token: "a-token" } };
