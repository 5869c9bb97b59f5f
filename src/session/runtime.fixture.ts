import { expect } from "vitest";
import { type ClientId, parseClientId } from "../core/id.ts";
import type { Actor } from "../core/session/command.ts";
import type { Subscription } from "./bus/subscription.ts";
import { SessionHost } from "./host.ts";
import type { LiveSession } from "./live.ts";
import { promptOf, type Stage, TENANT, value } from "./stage.fixture.ts";
import { CREATION } from "./world.fixture.ts";

export const NEVER = new AbortController().signal;

export function named(name: string): Actor & { readonly clientId: ClientId } {
  const clientId = parseClientId(name) ?? expect.fail();
  return { kind: "client", clientId, userId: null, loopback: true };
}

export const ada = named("ada");
export const bob = named("bob");

/** A runtime over a stage's world, and a session in it that a client has made. */
export async function withSession(stage: Pick<Stage, "world" | "folder">, actor: Actor = ada) {
  const runtime = new SessionHost(stage.world);
  const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
  const creation = { ...CREATION, workspaceCwd: stage.folder };
  const { live } = value(await runtime.create({ key, creation, actor }));
  return { runtime, key, live };
}

/** A whole turn of this session. */
export async function turn(live: LiveSession, ...script: readonly string[]) {
  const prompt = promptOf(live, ...script);
  expect((await live.submit(prompt)).refusal).toBeNull();
  await live.until(({ running, queue }) => running === null && queue.length === 0);
}

/** Takes from a stream until it has an event of this type; its ids and types, in order. */
export async function read(stream: Subscription, last: string): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  for await (const chunk of stream) {
    for (const { frames } of chunk) {
      for (const frame of frames) {
        const { id, type } = JSON.parse(frame.text);
        seen.push({ id: id ?? null, type });
      }
    }
    if (seen.some(({ type }) => type === last)) break;
  }
  return seen;
}

export interface Seen {
  readonly id: number | null;
  readonly type: string;
}
