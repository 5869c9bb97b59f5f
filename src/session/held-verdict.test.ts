import { describe, expect, it } from "vitest";
import {
  VERDICT_ERROR_HELD_MS,
  VERDICT_HELD_MS_MAX,
  VERDICT_REPEAT_LATE_MS,
  VERDICT_REPEAT_SOON_MS,
  VERDICTS_UNCONFIRMED_MAX,
} from "../core/limits.ts";
import { ManualClock } from "../platform/manual-clock.fixture.ts";
import { AWAY, altered, Door } from "./altered-store.fixture.ts";
import type { Subscription } from "./bus/subscription.ts";
import { ada, bob, NEVER, read, type Seen, withSession } from "./runtime.fixture.ts";
import { finishedShown, promptOf, Stage, value } from "./stage.fixture.ts";

/** A session with streams of two clients, and a prompt of the first that has no answer yet. */
async function unanswered(...script: readonly string[]) {
  const clock = new ManualClock();
  const { folder, world } = await Stage.open();
  const stage = { folder, world: { ...world, clock } };
  const { runtime, key, live } = await withSession(stage, ada);
  value(await runtime.attach(key, bob));
  const open = async (clientId = ada.clientId) =>
    value(await runtime.subscribe(key, { after: null, epoch: null, clientId }));
  const [own, other] = [await open(), await open(bob.clientId)];
  const prompt = { ...promptOf(live, ...script), actor: ada };
  const { hold } = value(await runtime.admit(key, prompt));
  await live.until(({ running }) => running === null);
  const shutDown = () => runtime.shutDown(NEVER);
  return { clock, runtime, key, live, own, other, hold, open, shutDown };
}

const SAY = ["say hello"];
const FAIL = ["fail -32000 no"];

/** All that waits in a stream, by what the next look has. */
async function look(stream: Subscription): Promise<readonly Seen[]> {
  const { value: chunk = [] } = await stream.next();
  return chunk.flatMap(({ frames }) => frames.map(({ text }) => JSON.parse(text)));
}

/** Looks until there is a frame of this type, and stays. */
async function lookFor(stream: Subscription, type: string): Promise<readonly Seen[]> {
  const seen = [...(await look(stream))];
  while (!seen.some((one) => one.type === type)) seen.push(...(await look(stream)));
  return seen;
}

const verdictsIn = (seen: readonly Seen[]) =>
  seen.filter(({ type }) => type === "turn_complete" || type === "turn_error");

function expectNoGap(seen: readonly Seen[]) {
  const ids = seen.flatMap(({ id }) => id ?? []);
  expect(ids).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index));
}

describe("the verdict of a prompt whose client has not read its answer", () => {
  it("P3: is held back from its own stream until then, and comes in its place", async () => {
    const { own, hold, shutDown } = await unanswered(...SAY);
    const before = await look(own);
    expect(before.map(({ type }) => type)).toContain("session_update");
    expect(verdictsIn(before)).toEqual([]);
    hold.answered("settled");
    const after = await look(own);
    expect(verdictsIn(after)).toHaveLength(1);
    expectNoGap([...before, ...after]);
    await shutDown();
  });

  it("P10: reaches every other stream at once", async () => {
    const { other, shutDown } = await unanswered(...SAY);
    const seen = await look(other);
    expect(verdictsIn(seen)).toHaveLength(1);
    expectNoGap(seen);
    await shutDown();
  });

  it("P10: is let out after the longest time, and not before", async () => {
    const { own, clock, shutDown } = await unanswered(...SAY);
    clock.advance(VERDICT_HELD_MS_MAX - 1);
    expect(verdictsIn(await look(own))).toEqual([]);
    clock.advance(1);
    expect(verdictsIn(await look(own))).toHaveLength(1);
    await shutDown();
  });

  it("P3: is held back from a stream that its client opens meanwhile", async () => {
    const { runtime, key, live, hold, shutDown } = await unanswered(...SAY);
    const request = { after: 0, epoch: live.epoch, clientId: ada.clientId };
    const anew = value(await runtime.subscribe(key, request));
    const before = await lookFor(anew, "replay_complete");
    expect(verdictsIn(before)).toEqual([]);
    hold.answered("settled");
    const after = await lookFor(anew, "turn_complete");
    expectNoGap([...before, ...after]);
    await shutDown();
  });

  it("is in a replay, which no prompt waits for", async () => {
    const { runtime, key, live, shutDown } = await unanswered(...SAY);
    const replay = value(await runtime.replay(key, "full"));
    expect(replay.lastEventId).toBe(live.lastEventId);
    const shown = [...finishedShown(replay), ...replay.liveJournal].map(({ type }) => type);
    expect(shown).toContain("turn_complete");
    await shutDown();
  });

  it("P3: is held back also if its session was just being opened again", async () => {
    const door = new Door();
    let isAway = false;
    const stage = await Stage.open({
      wrap: (real) =>
        altered(real, {
          commit: async (...args) => (isAway ? AWAY : real.commit(...args)),
          open: async (...args) => {
            await door.pass();
            return real.open(...args);
          },
        }),
    });
    const { runtime, key, live } = await withSession(stage, ada);
    const reopening = door.shut();
    isAway = true;
    await runtime.command(key, ada, { type: "metadata", displayName: "lost" });
    await reopening;
    isAway = false;
    const admitting = runtime.admit(key, { ...promptOf(live, ...SAY), actor: ada });
    door.open();
    const { hold } = value(await admitting);
    await live.until(({ totals }) => totals.turnsCompleted === 1);
    const request = { after: 0, epoch: live.epoch, clientId: ada.clientId };
    const stream = value(await runtime.subscribe(key, request));
    expect(verdictsIn(await lookFor(stream, "replay_complete"))).toEqual([]);
    hold.answered("settled");
    expect(verdictsIn(await lookFor(stream, "turn_complete"))).toHaveLength(1);
    await runtime.shutDown(NEVER);
  });

  it("is let out when the streams end", async () => {
    const { own, shutDown } = await unanswered(...SAY);
    const [seen] = await Promise.all([read(own, "stream_error"), shutDown()]);
    expect(verdictsIn(seen)).toHaveLength(1);
  });
});

describe("the verdict of a prompt whose answer was sent, and perhaps not read", () => {
  it("P2: a turn_complete comes at once, and is repeated without a number", async () => {
    const { own, hold, clock, shutDown } = await unanswered(...SAY);
    await look(own);
    hold.answered("sent");
    const [verdict] = verdictsIn(await look(own));
    expect(verdict?.id).toBeGreaterThan(0);
    for (const ms of [VERDICT_REPEAT_SOON_MS, VERDICT_REPEAT_LATE_MS, VERDICT_HELD_MS_MAX]) {
      clock.advance(ms - clock.nowMs());
      const again = await look(own);
      const { id: _id, ...event } = { ...verdict };
      expect(again).toEqual([{ ...event, _meta: expect.objectContaining({ repeated: true }) }]);
    }
    expect(clock.running(VERDICT_HELD_MS_MAX)).toBe(0);
    await shutDown();
  });

  it("P2: no other client's stream has the repetition", async () => {
    const { own, other, hold, clock, shutDown } = await unanswered(...SAY);
    expect(verdictsIn(await look(other))).toHaveLength(1);
    hold.answered("sent");
    await look(own);
    clock.advance(VERDICT_HELD_MS_MAX);
    const [seen] = await Promise.all([read(other, "stream_error"), shutDown()]);
    expect(verdictsIn(seen)).toEqual([]);
  });

  it("P2: a turn_error comes once, a moment after the answer", async () => {
    const { own, hold, clock, shutDown } = await unanswered(...FAIL);
    hold.answered("sent");
    clock.advance(VERDICT_ERROR_HELD_MS - 1);
    expect(verdictsIn(await look(own))).toEqual([]);
    clock.advance(1);
    expect(verdictsIn(await look(own))).toMatchObject([{ type: "turn_error" }]);
    clock.advance(VERDICT_HELD_MS_MAX);
    const [seen] = await Promise.all([read(own, "stream_error"), shutDown()]);
    expect(verdictsIn(seen)).toEqual([]);
  });

  it("P2: is not repeated if it comes long after the answer", async () => {
    const { runtime, key, live, own, clock, shutDown } = await unanswered(...SAY);
    const script = ["hang"];
    const { hold } = value(await runtime.admit(key, { ...promptOf(live, ...script), actor: ada }));
    hold.answered("sent");
    clock.advance(VERDICT_HELD_MS_MAX);
    await runtime.command(key, ada, { type: "cancel" });
    await live.until(({ running }) => running === null);
    expect(clock.running(VERDICT_REPEAT_SOON_MS)).toBe(0);
    const seen = await look(own);
    expect(verdictsIn(seen)).toHaveLength(2);
    await shutDown();
  });

  it("P10: is remembered for so many prompts of a session", async () => {
    const { runtime, key, live, clock, shutDown } = await unanswered(...SAY);
    for (let count = 0; count < VERDICTS_UNCONFIRMED_MAX + 8; count += 1) {
      const prompt = { ...promptOf(live, "/skills"), actor: ada };
      const { hold } = value(await runtime.admit(key, prompt));
      hold.answered("sent");
      await live.until(({ running, queue }) => running === null && queue.length === 0);
    }
    // A slash command is done at once, so what is remembered of it waits to be repeated.
    expect(clock.running(VERDICT_REPEAT_SOON_MS)).toBeLessThanOrEqual(VERDICTS_UNCONFIRMED_MAX);
    await shutDown();
  });
});
