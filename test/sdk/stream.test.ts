import type { DaemonEvent } from "@qwen-code/sdk/daemon";
import { describe, expect, it } from "vitest";
import { SUBSCRIBER_STALL_MS } from "../../src/core/limits.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import {
  dataOf,
  expectNoGap,
  joined,
  Listener,
  newSession,
  refusalOf,
  script,
  spoken,
} from "./session.fixture.ts";

const server = sharedServer();
const ALLOW = { outcome: { outcome: "selected" as const, optionId: "allow_once" } };

/** More than the buffers of the system hold for a client that does not read. */
const FILLING = "chunks 3000 8k";

describe("P3: a client that comes back", () => {
  it("in the middle of a turn goes on behind what it had, without gap or repeat", async () => {
    const ada = await newSession(server());
    const bob = await joined(server(), ada);
    const before = await Listener.caughtUp(ada);
    const steps = ["chunks 20 10", "ask", "chunks 20 10", "ask", "chunks 20 10"];
    const { promptId } = await bob.submitPrompt(script(...steps));
    const first = String(dataOf(await before.heard("permission_request")).requestId);
    await before.leave();

    const during = await Listener.caughtUp(bob);
    expect(await bob.respondToSessionPermission(first, ALLOW)).toBe(true);
    const isSecond = ({ type, data }: DaemonEvent) =>
      type === "permission_request" && !JSON.stringify(data).includes(first);
    const second = String(dataOf(await during.heard(isSecond)).requestId);

    const after = await Listener.caughtUp(ada);
    expect(await bob.respondToSessionPermission(second, ALLOW)).toBe(true);
    await after.verdict(promptId);
    const all = [...before.events, ...after.events];
    expectNoGap(all);
    expect(all.filter(({ type }) => type === "state_resync_required")).toEqual([]);
    expect(all.filter((event) => spoken([event]) !== "").length).toBeGreaterThanOrEqual(60);
  });

  it("from the very beginning is told everything", async () => {
    const ada = await newSession(server());
    for (const word of ["one", "two"]) await ada.prompt(script(`say ${word}`));
    const listener = await Listener.caughtUp(ada);
    expectNoGap(listener.events);
    expect(spoken(listener.events)).toBe("onetwo");
  });

  it("with a cursor of another log is told to resync, and then everything", async () => {
    const { client, sessionId } = await newSession(server());
    const leaving = new AbortController();
    const wish = { lastEventId: 3, epoch: "another", signal: leaving.signal };
    const types: string[] = [];
    for await (const { type, data } of client.subscribeEvents(sessionId, wish)) {
      types.push(type);
      if (type === "state_resync_required") expect(data).toMatchObject({ reason: "epoch_reset" });
      if (type === "replay_complete") break;
    }
    expect(types[0]).toBe("state_resync_required");
    expect(types[1]).toBe("session_created");
  });
});

describe("P10: a client that does not read", { timeout: 60_000 }, () => {
  it("is evicted and told so, delays nobody, and comes back without a gap", async () => {
    const ada = await newSession(server());
    const fast = await Listener.caughtUp(await joined(server(), ada));
    const slow = ada.events({ maxQueued: 16 });
    const had = [(await slow.next()).value];
    const pause = `sleep ${SUBSCRIBER_STALL_MS + 500}`;
    const { promptId } = await ada.submitPrompt(script(FILLING, pause, "say after"));
    await fast.verdict(promptId);
    expectNoGap(fast.events, fast.after);

    for await (const event of slow) had.push(event);
    const events = had.flatMap((event) => event ?? []);
    const last = events.at(-1);
    expect(last).toMatchObject({ type: "client_evicted" });
    expect(last?.id).toBeUndefined();
    expectNoGap(events);
    const again = new Listener(ada);
    await again.verdict(promptId);
    expectNoGap([...events, ...again.events]);
    expect(spoken(again.events)).toMatch(/after$/);
  });

  it("and the sixty-fifth that does is refused before its stream opens", async () => {
    const ada = await newSession(server());
    const all = await Promise.all(Array.from({ length: 64 }, () => joined(server(), ada)));
    await Promise.all(all.map((one) => Listener.caughtUp(one)));
    const answer = refusalOf(ada.events().next());
    expect(await answer).toMatchObject({ status: 429, code: "subscriber_limit_exceeded" });
  });
});
