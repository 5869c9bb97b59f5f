import { expect } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import type { LiveSession } from "../../session/live.ts";
import { named } from "../../session/runtime.fixture.ts";
import { value } from "../../session/stage.fixture.ts";
import { CREATION } from "../../session/world.fixture.ts";
import {
  type Call,
  type Called,
  type DaemonOptions,
  DaemonWorld,
  LOCAL,
} from "../daemon.fixture.ts";
import type { Daemon } from "../daemon.ts";
import type { Caller, Route } from "../http/route.ts";
import { type HeardFrame, StreamClient } from "../http/stream-client.fixture.ts";
import { voteRoutes } from "./asks.ts";
import { midTurnRoutes } from "./mid-turn.ts";
import { cancelRoute, pendingPromptsRoutes, promptRoute, turnRoutes } from "./prompts.ts";
import { contextRoute } from "./session.ts";
import { approvalModeRoute, modelRoute } from "./session-settings.ts";
import { tenantEventsRoute } from "./tenant.ts";
import { eventsRoute } from "./transcripts.ts";

/** The routes of work in a session, and of its streams. */
export function workRoutes(daemon: Daemon): readonly Route[] {
  return [
    promptRoute(daemon),
    cancelRoute(daemon),
    modelRoute(daemon),
    contextRoute(daemon),
    approvalModeRoute(daemon),
    ...voteRoutes(daemon),
    ...pendingPromptsRoutes(daemon),
    ...turnRoutes(daemon),
    ...midTurnRoutes(daemon),
    eventsRoute(daemon),
    tenantEventsRoute(daemon),
  ];
}

export function openWork(options: Partial<DaemonOptions> = {}): Promise<DaemonWorld> {
  return DaemonWorld.open({ routes: workRoutes, ...options });
}

/** One session of a daemon, as its clients reach it. */
export class Work {
  readonly world: DaemonWorld;
  readonly id: string;
  readonly live: LiveSession;

  private constructor(world: DaemonWorld, live: LiveSession) {
    this.world = world;
    this.id = live.key.sessionId;
    this.live = live;
  }

  /** A new session in which these clients are registered, the first of whom has made it. */
  static async made(world: DaemonWorld, ...clients: readonly string[]): Promise<Work> {
    return Work.madeBy(LOCAL, world, ...clients);
  }

  static async madeBy(
    { tenantId, userId }: Caller,
    world: DaemonWorld,
    ...clients: readonly string[]
  ) {
    const { host } = world.daemon;
    const key = { tenantId, sessionId: world.daemon.world.ids.session() };
    const creation = { ...CREATION, workspaceCwd: world.stage.folder };
    const [maker = "ada", ...others] = clients;
    const actor = { ...named(maker), userId };
    const { live } = value(await host.create({ key, creation, actor }));
    for (const name of others) value(await host.attach(key, named(name)));
    return new Work(world, live);
  }

  get path(): string {
    return `/session/${this.id}`;
  }

  call(method: string, rest: string, call: Call = {}): Promise<Called> {
    return this.world.call(method, `${this.path}${rest}`, call);
  }

  /** Sends a prompt of these lines, with any outcome. */
  prompt(script: string, call: Call = {}): Promise<Called> {
    const body = { prompt: [{ type: "text", text: script }] };
    return this.call("POST", "/prompt", { body, ...call });
  }

  /** The id of a prompt that was admitted. */
  async admitted(script: string, call: Call = {}): Promise<string> {
    const { status, body } = await this.prompt(script, call);
    expect(status).toBe(202);
    return String(body.promptId);
  }

  stream(headers: Record<string, string> = {}, query = ""): Promise<StreamClient> {
    return StreamClient.open(this.world, `${this.path}/events${query}`, headers);
  }

  /** A whole turn; the id of its prompt. */
  async turn(script: string, call: Call = {}): Promise<string> {
    const promptId = await this.admitted(script, call);
    await this.live.until(({ running, queue }) => running === null && queue.length === 0);
    return promptId;
  }
}

/** Waits for a frame of this type, of the given prompt if one is given. */
export async function heard(
  stream: StreamClient,
  event: string,
  promptId: string | null = null,
): Promise<HeardFrame> {
  const isIt = (frame: HeardFrame) =>
    frame.event === event && (promptId === null || frame.data.data.promptId === promptId);
  await stream.until(({ frames }) => frames.some(isIt));
  return stream.frames.find(isIt) ?? expect.fail();
}

/** The ids of a stream's events are all there, one after the other. */
export function expectNoGap(frames: readonly HeardFrame[]) {
  const ids = frames.flatMap(({ id }) => id ?? []);
  expect(ids).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index));
}

/** Bodies are compared without their sentences: those are for people. */
export function withoutError({ error: _, ...rest }: JsonObject): JsonObject {
  return rest;
}
