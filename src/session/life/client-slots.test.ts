import { describe, expect, it } from "vitest";
import { parseUserId } from "../../core/id.ts";
import { CLIENTS_MAX, SUBSCRIBERS_MAX } from "../../core/limits.ts";
import { PlayedAgents, playedSession } from "../played-agents.fixture.ts";
import { ada, bob, named, read } from "../runtime.fixture.ts";
import { promptOf, Stage, value } from "../stage.fixture.ts";

const carol = named("carol");

async function opened() {
  const stage = await Stage.open();
  const { runtime, key, live } = await playedSession(stage, new PlayedAgents());
  const isThere = ({ clientId }: typeof ada) => live.session.clients.has(clientId);
  const fill = async (user: string | null, count: number) => {
    const userId = user === null ? null : parseUserId(user);
    for (let n = 0; n < count; n += 1) {
      const made = { ...named(`made-up-${n}`), userId };
      value(await runtime.resume(key, made));
    }
  };
  return { stage, runtime, key, live, isThere, fill };
}

describe("P10: the slots of clients", () => {
  it("are not used up by made-up ids: one that reads no stream makes room", async () => {
    const { runtime, key, live, isThere, fill } = await opened();
    const from = { after: null, epoch: null };
    const stream = value(await runtime.subscribe(key, { ...from, clientId: ada.clientId }));
    // One that is not read for long is ended, however slow the machine is.
    const reading = read(stream, "never");
    await fill(null, CLIENTS_MAX - 1);
    expect(live.session.clients.size).toBe(CLIENTS_MAX);
    value(await runtime.resume(key, bob));
    value(await runtime.attach(key, carol));
    expect([isThere(ada), isThere(bob), isThere(carol)]).toEqual([true, true, true]);
    expect(isThere(named("made-up-0"))).toBe(false);
    expect(isThere(named("made-up-2"))).toBe(true);
    // What is known of those that made room is forgotten with them.
    expect(live.attendance.present).toHaveLength(CLIENTS_MAX);
    stream.cancel();
    await reading;
    await runtime.shutDown(AbortSignal.abort());
  });

  it("are taken from the user who has most of them", async () => {
    const { stage, runtime, key, isThere, fill } = await opened();
    stage.aheadMs = 60_000;
    await fill("eve", CLIENTS_MAX - 1);
    value(await runtime.resume(key, bob));
    expect([isThere(ada), isThere(bob)]).toEqual([true, true]);
    await runtime.shutDown(AbortSignal.abort());
  });

  it("are not taken from a client whose prompt has no verdict", async () => {
    const { runtime, key, live, isThere, fill } = await opened();
    await live.submit({ ...promptOf(live, "work"), actor: ada });
    await fill(null, CLIENTS_MAX - 1);
    value(await runtime.resume(key, bob));
    expect(isThere(ada)).toBe(true);
    await runtime.shutDown(AbortSignal.abort());
  });
});

describe("P10: the streams of a session", () => {
  it("are not used up by one user, and the operator has no share", async () => {
    const { runtime, key } = await opened();
    const open = (userId: string | null) => {
      const reader = userId === null ? null : parseUserId(userId);
      return runtime.subscribe(key, { after: null, epoch: null, userId: reader });
    };
    const codes = new Set<unknown>();
    let count = 0;
    for (let n = 0; n < SUBSCRIBERS_MAX; n += 1) {
      const stream = await open("eve");
      if (stream.ok) count += 1;
      else codes.add(stream.refusal.details.scope);
    }
    expect([count, [...codes]]).toEqual([48, ["user"]]);
    value(await open("bob"));
    for (let n = 49; n < SUBSCRIBERS_MAX; n += 1) value(await open(null));
    expect(await open(null)).toMatchObject({ refusal: { details: { limit: SUBSCRIBERS_MAX } } });
    await runtime.shutDown(AbortSignal.abort());
  });
});
