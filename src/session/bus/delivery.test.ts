import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  SUBSCRIBER_NOTICES_MAX,
  SUBSCRIBER_QUEUE_BYTES_MAX,
  SUBSCRIBER_QUEUE_FRAMES_MAX,
  SUBSCRIBER_STALL_MS,
  SUBSCRIBERS_MAX,
  TAIL_HELD_BYTES_MAX,
  TAIL_HELD_FRAMES_MAX,
} from "../../core/limits.ts";
import { type Chunk, frameOf, notice } from "./frame.ts";
import { eventText, framesOf, heard, ids, LogWorld, told } from "./log.fixture.ts";
import type { Subscription } from "./subscription.ts";

let world: LogWorld;

beforeEach(async () => {
  world = await LogWorld.make();
});

afterEach(() => world.clear());

const WARNED_AT = SUBSCRIBER_QUEUE_FRAMES_MAX * 0.75;

/** Takes until it has heard this event, and gives all that it heard. */
async function hearUntil(stream: Subscription, lastId: number) {
  const all: (number | string)[] = [];
  while (all.findLast((one) => typeof one === "number") !== lastId) {
    const some = await heard(stream);
    if (some === "over") break;
    all.push(...some);
  }
  return all;
}

describe("a reader that keeps up", () => {
  it("gets everything that was published since it looked in one go", async () => {
    const stream = world.subscribe();
    const next = heard(stream);
    await world.append(6);
    world.publish(1);
    world.publish(2);
    world.publish(3);
    expect(await next).toEqual(ids(1, 6));
  });

  it("gets the very frames, in the very batch, that all others get", async () => {
    const [one, other] = [world.subscribe(), world.subscribe()];
    await world.say(3);
    const chunks: Chunk[] = [];
    for (const stream of [one, other]) {
      const { value } = await stream.next();
      if (value !== undefined) chunks.push(value);
    }
    expect(chunks[0]?.[0]).toBe(chunks[1]?.[0]);
    expect(chunks.map((chunk) => chunk.length)).toEqual([1, 1]);
  });

  it("P10: is neither warned nor evicted by 10,000 frames in one call", async () => {
    const stream = world.subscribe();
    const next = heard(stream);
    await world.say(10_000);
    expect(await next).toEqual(ids(1, 10_000));
    expect(world.readCount).toBe(0);
  });

  it("P10: is not evicted by bursts that come while its socket drains", async () => {
    const stream = world.subscribe();
    await world.say(10_000);
    world.nowMs += SUBSCRIBER_STALL_MS - 1;
    await world.say(10_000);
    const all = await hearUntil(stream, 20_000);
    expect(all.filter((one) => typeof one === "number")).toEqual(ids(1, 20_000));
    expect(all.filter((one) => typeof one === "string")).toEqual(["slow_client_warning"]);
  });

  it("that had nothing to read for long may be met by a burst all the same", async () => {
    const stream = world.subscribe();
    world.nowMs += 10 * SUBSCRIBER_STALL_MS;
    const next = heard(stream);
    await world.append(1_000);
    world.publish(500);
    world.nowMs += 1;
    world.publish(500);
    expect(await next).toEqual(ids(1, 1_000));
  });
});

describe("a reader that falls behind", () => {
  it("P10: holds only so much, reads the store instead, and misses nothing", async () => {
    const stream = world.subscribe();
    for (let round = 0; round < 5; round += 1) await world.say(TAIL_HELD_FRAMES_MAX / 2);
    const all = await hearUntil(stream, world.lastId);
    expect(all.filter((one) => typeof one === "number")).toEqual(ids(1, world.lastId));
    expect(world.readCount).toBeGreaterThan(0);
    const count = world.readCount;
    await world.say(1);
    expect(await heard(stream)).toEqual([world.lastId]);
    expect(world.readCount).toBe(count);
  });

  it("P10: by bytes too", async () => {
    const stream = world.subscribe();
    const text = "x".repeat(TAIL_HELD_BYTES_MAX / 8);
    for (let round = 0; round < 12; round += 1) await world.say(1, text);
    const all = await hearUntil(stream, 12);
    expect(all.filter((one) => typeof one === "number")).toEqual(ids(1, 12));
    expect(world.readCount).toBeGreaterThan(0);
  });

  it("P3: while it replays, comes to what was published in between", async () => {
    await world.say(600);
    const stream = world.subscribe({ after: 0 });
    await heard(stream);
    for (let round = 0; round < 4; round += 1) await world.say(TAIL_HELD_FRAMES_MAX / 2);
    const all = await hearUntil(stream, world.lastId);
    expect(all.filter((one) => typeof one === "number")).toEqual(ids(513, world.lastId));
    expect(all.indexOf("replay_complete")).toBe(600 - 512);
  });

  it("hears of the end of its replay first, even if it never looked before", async () => {
    const stream = world.subscribe({ after: 0 });
    for (let round = 0; round < 4; round += 1) await world.say(TAIL_HELD_FRAMES_MAX / 2);
    expect((await heard(stream)).slice(0, 2)).toEqual(["replay_complete", 1]);
  });

  it("P3: is told to resync, if the store has trimmed what it has not read", async () => {
    const stream = world.subscribe();
    for (let round = 0; round < 4; round += 1) await world.say(TAIL_HELD_FRAMES_MAX);
    await world.trim(world.lastId - 5);
    const data = {
      reason: "ring_evicted",
      lastDeliveredId: 0,
      earliestAvailableId: world.lastId - 4,
    };
    const [resync] = await told(stream);
    expect(resync).toEqual({ type: "state_resync_required", data });
  });

  it("delays nobody", async () => {
    const [slow, fast] = [world.subscribe(), world.subscribe()];
    for (let round = 1; round <= 3; round += 1) {
      const next = heard(fast);
      await world.say(1_000);
      expect(await next).toEqual(ids(round * 1_000 - 999, round * 1_000));
    }
    expect(await hearUntil(slow, 3_000)).toContain(1);
  });
});

describe("a log that was opened again", () => {
  it("P3: has more in it than was published, which all get from the store", async () => {
    const [busy, waiting] = [world.subscribe(), world.subscribe()];
    await world.say(2);
    await heard(waiting);
    const next = heard(waiting);
    await world.append(3);
    world.forget(2);
    world.publish();
    expect([...(await next), ...(await heard(busy))]).toEqual([3, 4, 5, 1, 2, 3, 4, 5]);
    await world.say(1);
    expect([...(await heard(waiting)), ...(await heard(busy))]).toEqual([6, 6]);
  });

  it("P3: has something in it that was published before, which nobody gets twice", async () => {
    const stream = world.subscribe();
    await world.append(3);
    world.publish(2);
    world.bus.publish([1, 2].map((id) => frameOf({ id, text: eventText(id) })));
    world.bus.publish([2, 3].map((id) => frameOf({ id, text: eventText(id) })));
    expect(await heard(stream)).toEqual([1, 2, 3]);
  });
});

describe("the warning", () => {
  it("comes once when three quarters of the frames wait", async () => {
    const stream = world.subscribe();
    await world.say(WARNED_AT - 1);
    await world.say(1);
    await world.say(10);
    const data = {
      queueSize: WARNED_AT,
      maxQueued: SUBSCRIBER_QUEUE_FRAMES_MAX,
      queuedBytes: expect.any(Number),
      maxQueuedBytes: SUBSCRIBER_QUEUE_BYTES_MAX,
      lastEventId: WARNED_AT,
      threshold: "frames",
    };
    const warning = { type: "slow_client_warning", data };
    expect(await told(stream)).toEqual([...ids(1, WARNED_AT + 10), warning]);
  });

  it("does not come for less", async () => {
    const stream = world.subscribe();
    await world.say(WARNED_AT - 1);
    expect(await heard(stream)).toEqual(ids(1, WARNED_AT - 1));
  });

  it("is re-armed when the reader has caught up", async () => {
    const stream = world.subscribe();
    for (let episode = 0; episode < 2; episode += 1) {
      await world.say(WARNED_AT);
      expect((await heard(stream)).at(-1)).toBe("slow_client_warning");
    }
  });

  it("is not repeated while the reader is still behind", async () => {
    const stream = world.subscribe();
    for (let round = 0; round < 4; round += 1) await world.say(TAIL_HELD_FRAMES_MAX / 2);
    expect(await heard(stream)).toContain("slow_client_warning");
    await world.say(WARNED_AT);
    expect(await hearUntil(stream, world.lastId)).not.toContain("slow_client_warning");
  });

  it.each([
    ["bytes", 1, SUBSCRIBER_QUEUE_BYTES_MAX],
    ["frames_and_bytes", WARNED_AT, SUBSCRIBER_QUEUE_BYTES_MAX / WARNED_AT],
  ])("says that it is for %s", async (threshold, count, chars) => {
    const stream = world.subscribe();
    await world.say(count, "x".repeat(chars));
    expect((await told(stream)).at(-1)).toMatchObject({ data: { threshold } });
  });

  it("goes by the queue that the client asked for", async () => {
    const stream = world.subscribe({ maxQueued: 16 });
    await world.say(12);
    expect((await told(stream)).at(-1)).toMatchObject({ data: { queueSize: 12, maxQueued: 16 } });
  });
});

describe("eviction", () => {
  it("P10: ends the stream of a reader that has stopped, and says so at last", async () => {
    const stream = world.subscribe();
    await world.say(3);
    await heard(stream);
    await world.say(SUBSCRIBER_QUEUE_FRAMES_MAX);
    world.nowMs += SUBSCRIBER_STALL_MS;
    await world.say(1);
    await stream.ending;
    expect(world.bus.subscriberCount).toBe(0);
    const data = {
      reason: "queue_overflow",
      droppedAfter: 3,
      queueSize: SUBSCRIBER_QUEUE_FRAMES_MAX + 1,
      maxQueued: SUBSCRIBER_QUEUE_FRAMES_MAX,
      queuedBytes: expect.any(Number),
      maxQueuedBytes: SUBSCRIBER_QUEUE_BYTES_MAX,
    };
    expect(await told(stream)).toEqual([{ type: "client_evicted", data }]);
    expect(await heard(stream)).toBe("over");
  });

  it("goes by bytes as well", async () => {
    const stream = world.subscribe();
    await world.say(1, "x".repeat(SUBSCRIBER_QUEUE_BYTES_MAX));
    world.nowMs += SUBSCRIBER_STALL_MS;
    await world.say(1);
    expect(await told(stream)).toMatchObject([{ data: { reason: "queue_bytes_overflow" } }]);
  });

  it("spares a reader that is slow and reads", async () => {
    const stream = world.subscribe();
    for (let round = 0; round < 3; round += 1) await world.say(TAIL_HELD_FRAMES_MAX);
    const all = [...(await heard(stream))];
    for (let round = 0; round < 10; round += 1) {
      world.nowMs += SUBSCRIBER_STALL_MS - 1;
      await world.say(1_000);
      all.push(...(await heard(stream)));
    }
    expect(all.length).toBeLessThan(world.lastId);
    all.push(...(await hearUntil(stream, world.lastId)));
    expect(all.filter((one) => typeof one === "number")).toEqual(ids(1, world.lastId));
  });

  it("spares a reader that waits for the store and not the store for it", async () => {
    await world.say(1);
    world.isHeld = true;
    const stream = world.subscribe({ after: 0 });
    const next = heard(stream);
    await world.say(1_000);
    world.nowMs += SUBSCRIBER_STALL_MS;
    await world.say(1_000);
    world.held.pop()?.();
    expect(await next).toEqual([1, "replay_complete"]);
    expect(await heard(stream)).toEqual(ids(2, 2_001));
  });

  it("P3: lets the client go on where it was, when it comes back", async () => {
    const stream = world.subscribe();
    await world.say(SUBSCRIBER_QUEUE_FRAMES_MAX);
    world.nowMs += SUBSCRIBER_STALL_MS;
    await world.say(1);
    await heard(stream);
    const again = world.subscribe({ after: 0 });
    expect(await heard(again)).toEqual([...ids(1, world.lastId), "replay_complete"]);
  });
});

describe("a session", () => {
  it("P10: has at most 64 streams, and room again when one is left", async () => {
    const streams = Array.from({ length: SUBSCRIBERS_MAX }, () => world.subscribe());
    const refused = world.bus.subscribe({ after: null, epoch: null }, world);
    const details = { limit: 64 };
    expect(refused).toEqual({
      ok: false,
      refusal: { code: "subscriber_limit_exceeded", details },
    });
    streams[0]?.cancel();
    world.subscribe();
    expect(world.bus.subscriberCount).toBe(64);
  });
});

describe("an announcement", () => {
  it("reaches everybody, after what was published before it", async () => {
    const [one, other] = [world.subscribe(), world.subscribe()];
    await world.say(1);
    world.bus.announce(notice("presence", {}));
    await world.say(1);
    expect(await heard(one)).toEqual([1, "presence", 2]);
    expect(await heard(other)).toEqual([1, "presence", 2]);
  });

  it("wakes a reader that waits", async () => {
    const next = heard(world.subscribe());
    world.bus.announce(notice("presence", {}));
    expect(await next).toEqual(["presence"]);
  });

  it("can be for one alone, and only so many of them wait", async () => {
    const [one, other] = [world.subscribe(), world.subscribe()];
    for (const n of ids(0, SUBSCRIBER_NOTICES_MAX)) one.tell(notice("word", { n }));
    await world.say(1);
    const { value } = await one.next();
    const frames = framesOf(value ?? []);
    expect(frames).toHaveLength(1 + SUBSCRIBER_NOTICES_MAX);
    expect(frames.at(-1)?.text).toContain(`${SUBSCRIBER_NOTICES_MAX}`);
    expect(await heard(other)).toEqual([1]);
  });
});
