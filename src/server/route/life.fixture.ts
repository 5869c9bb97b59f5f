import { expect } from "vitest";
import { parseSessionId } from "../../core/id.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { altered } from "../../session/altered-store.fixture.ts";
import type { LiveSession } from "../../session/live.ts";
import { promptOf, value } from "../../session/stage.fixture.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { type Call, DaemonWorld, LOCAL } from "../daemon.fixture.ts";
import { createRoute } from "./create.ts";
import { loadRoute, resumeRoute } from "./restore.ts";
import {
  closeRoute,
  detachRoute,
  heartbeatRoute,
  metadataRoute,
  sessionStatusRoutes,
} from "./session.ts";
import { batchDeleteRoutes, listRoutes, workspacesRoutes } from "./sessions.ts";
import { tenantEventsRoute } from "./tenant.ts";

/** A daemon with the routes of a session's life. */
export function openLife(
  options: Omit<Parameters<typeof DaemonWorld.open>[0], "routes"> = {},
): Promise<DaemonWorld> {
  return DaemonWorld.open({
    ...options,
    routes: (daemon) => [
      createRoute(daemon),
      loadRoute(daemon),
      resumeRoute(daemon),
      closeRoute(daemon),
      detachRoute(daemon),
      heartbeatRoute(daemon),
      metadataRoute(daemon),
      ...sessionStatusRoutes(daemon),
      ...listRoutes(daemon),
      ...batchDeleteRoutes(daemon),
      ...workspacesRoutes(daemon),
      tenantEventsRoute(daemon),
    ],
  });
}

/** A session of its own, by default, and the name that its client was given. */
export async function made(world: DaemonWorld, body: object = {}, call: Omit<Call, "body"> = {}) {
  const whole = { sessionScope: "thread", ...body };
  const answer = await world.call("POST", "/session", { ...call, body: whole });
  expect(answer.status, answer.text).toBe(200);
  const sessionId = String(answer.body.sessionId);
  return { sessionId, clientId: String(answer.body.clientId), path: `/session/${sessionId}` };
}

export function keyOf(sessionId: string) {
  return { tenantId: LOCAL.tenantId, sessionId: parseSessionId(sessionId) ?? expect.fail() };
}

export async function liveOf(world: DaemonWorld, sessionId: string): Promise<LiveSession> {
  return value(await world.daemon.host.find(keyOf(sessionId)));
}

/** Has the agent do something, to its end. */
export async function turnOf(world: DaemonWorld, sessionId: string, ...script: readonly string[]) {
  const live = await liveOf(world, sessionId);
  expect((await live.submit(promptOf(live, ...script))).refusal).toBeNull();
  await live.until(({ running, queue }) => running === null && queue.length === 0);
}

export async function statusOf(world: DaemonWorld, sessionId: string) {
  return world.call("GET", `/session/${sessionId}/status`);
}

/** The types of all that has happened in a session. */
export async function eventsOf(world: DaemonWorld, key: SessionKey): Promise<readonly string[]> {
  return (await storedEvents(world, key)).map(({ type }) => type);
}

export async function storedEvents(
  world: DaemonWorld,
  key: SessionKey,
): Promise<readonly LogEvent[]> {
  const page = value(await world.daemon.world.store.readEvents(key, { after: 0, limit: 1_000 }));
  return page.events.map(({ text }) => JSON.parse(text));
}

/** Looks until it is so; a test that never sees it runs into its own time limit. */
export async function until<Value>(
  look: () => Promise<Value>,
  isSo: (value: Value) => boolean,
): Promise<void> {
  while (!isSo(await look())) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Resolves when the server has noticed the disconnect: before that, an answer counts as delivered.
 */
export function untilUnanswered({ server }: DaemonWorld): Promise<void> {
  return until(
    async () => server.openRequestCount,
    (count) => count === 0,
  );
}

/** Keeps commits of one kind back, so that a test can act in the middle of one. */
export class CommitGate {
  #word: string | null = null;
  #opened: Promise<void> = Promise.resolve();
  #held: () => void = () => {};
  open: () => void = () => {};

  around(store: SessionStore): SessionStore {
    return altered(store, {
      commit: async (key, term, commit) => {
        const word = this.#word;
        if (word !== null && commit.events.some((text) => text.includes(word))) {
          this.#held();
          await this.#opened;
        }
        return store.commit(key, term, commit);
      },
    });
  }

  /** Closes it for commits with this word in their events; resolves when one stands before it. */
  close(word: string): Promise<void> {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const { promise: held, resolve: hold } = Promise.withResolvers<void>();
    this.#word = word;
    this.#opened = opened;
    this.#held = hold;
    this.open = open;
    return held;
  }
}
