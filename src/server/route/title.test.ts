import { describe, expect, it } from "vitest";
import { parseClientId } from "../../core/id.ts";
import { value } from "../../session/stage.fixture.ts";
import type { DaemonWorld } from "../daemon.fixture.ts";
import { keyOf, liveOf, made, openLife, statusOf } from "./life.fixture.ts";

const ADA = {
  kind: "client",
  clientId: parseClientId("ada"),
  userId: null,
  loopback: true,
} as const;

async function said(world: DaemonWorld, sessionId: string, ...texts: readonly string[]) {
  const content = texts.map((text) => ({ type: "text", text }));
  const plain = { params: null, idempotency: null, deadlineMs: null, isRetry: false };
  const { host } = world.daemon;
  value(await host.prompt(keyOf(sessionId), ADA, { content, ...plain }));
  const live = await liveOf(world, sessionId);
  await live.until(({ running, queue }) => running === null && queue.length === 0);
}

async function opened() {
  const world = await openLife();
  return { world, ...(await made(world, {}, { clientId: "ada" })) };
}

/** How the session is called in its status, in the list, and in the store. */
async function namesOf(world: DaemonWorld, sessionId: string): Promise<readonly unknown[]> {
  const path = `/workspace/${encodeURIComponent(world.stage.folder)}/sessions`;
  const [row] = Object((await world.call("GET", path)).body.sessions);
  const stored = value(await world.daemon.world.store.readRecord(keyOf(sessionId)));
  const status = (await statusOf(world, sessionId)).body;
  return [...new Set([status.displayName, row.displayName, stored.displayName ?? undefined])];
}

describe("what a session without a name is called", () => {
  it("is nothing before its first prompt, and then the words of that one, for good", async () => {
    const { world, sessionId } = await opened();
    expect(await namesOf(world, sessionId)).toEqual([undefined]);
    await said(world, sessionId, "/status");
    expect(await namesOf(world, sessionId)).toEqual([undefined]);
    await said(world, sessionId, "say\n  one\t thing ", "and another");
    expect(await namesOf(world, sessionId)).toEqual(["say one thing and another"]);
    await said(world, sessionId, "say more");
    expect(await namesOf(world, sessionId)).toEqual(["say one thing and another"]);
    await world.end();
    const next = await openLife({ stage: { folder: world.stage.folder } });
    expect(await namesOf(next, sessionId)).toEqual(["say one thing and another"]);
  });

  it("gives way to a name, and comes back when that is taken away", async () => {
    const { world, sessionId, path } = await opened();
    await said(world, sessionId, "say hello");
    const call = (displayName: string) => ({ clientId: "ada", body: { displayName } });
    await world.call("PATCH", `${path}/metadata`, call("Greeting"));
    expect(await namesOf(world, sessionId)).toEqual(["Greeting"]);
    const cleared = await world.call("PATCH", `${path}/metadata`, call(""));
    expect(cleared.body).toEqual({ sessionId });
    expect(await namesOf(world, sessionId)).toEqual(["say hello"]);
  });

  it("P10: has 80 characters at most, and no half of one", async () => {
    const { world, sessionId } = await opened();
    await said(world, sessionId, `say ${"x".repeat(75)}😀 and so on`);
    expect(await namesOf(world, sessionId)).toEqual([`say ${"x".repeat(75)}`]);
  });

  it("has no control characters, nor such as turn the direction of a line", async () => {
    const { world, sessionId } = await opened();
    await said(world, sessionId, "say \u0007one\u202etwo\u2028three");
    expect(await namesOf(world, sessionId)).toEqual(["say one two three"]);
  });
});
