import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  STREAM_EVICTED_MS_MAX,
  STREAM_HEARTBEAT_MS,
  STREAMS_EVICTED_BYTES_MAX,
  STREAMS_EVICTED_MAX,
  SUBSCRIBER_QUEUE_BYTES_MAX,
  SUBSCRIBER_STALL_MS,
} from "../../core/limits.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { batchOf, notice } from "../../session/bus/frame.ts";
import { EPOCH, ids, LogWorld } from "../../session/bus/log.fixture.ts";
import { events } from "./answer.ts";
import { EventStreams } from "./event-stream.ts";
import { answering, closeServers, type ServerWorld, serve } from "./server.fixture.ts";
import { StreamClient } from "./stream-client.fixture.ts";

let log: LogWorld;

beforeEach(async () => {
  log = await LogWorld.make();
});

afterEach(async () => {
  await closeServers();
  await log.clear();
});

const stream = answering("/events", async () => events(log.subscribe(), EPOCH));

const EVENT_CHARS = 128 * 1_024;

/** More than the buffers of the system hold for a client that does not read. */
const FILLING_EVENTS = 256;

/**
 * Writes so much that the socket of a client that does not read is full, and waits until the fast
 * client has it.
 */
async function fill(fast: StreamClient, eventCount = FILLING_EVENTS) {
  for (let said = 0; said < eventCount; said += 8) {
    await log.say(8, "x".repeat(EVENT_CHARS));
    await fast.until(({ lastId }) => lastId >= log.lastId);
  }
}

/** Lets the stall of every client that does not read become an eviction. */
async function evict(fast: StreamClient) {
  await fill(fast);
  log.nowMs += SUBSCRIBER_STALL_MS;
  await fill(fast, 8);
}

async function openTwo(world: ServerWorld) {
  const fast = await StreamClient.open(world, "/events");
  const slow = await StreamClient.open(world, "/events");
  slow.pause();
  return { fast, slow };
}

describe("P10: a client that does not read", () => {
  it("is warned, then evicted, and told so; a fast one notices nothing", async () => {
    const world = await serve([stream], {}, { clock: new ManualClock() });
    const { fast, slow } = await openTwo(world);
    await fill(fast);
    slow.resume();
    await slow.until(({ heard }) => heard.includes("slow_client_warning"));
    await slow.until(({ lastId }) => lastId === log.lastId);

    slow.pause();
    await fill(fast);
    log.nowMs += SUBSCRIBER_STALL_MS;
    await fill(fast, 8);
    expect(log.bus.subscriberCount).toBe(1);
    slow.resume();
    expect(await slow.over()).toBe("ended");

    const eviction = slow.frames.at(-1);
    expect(eviction).toMatchObject({ id: null, event: "client_evicted" });
    expect(eviction?.data.data).toMatchObject({
      reason: "queue_bytes_overflow",
      droppedAfter: slow.lastId,
      maxQueuedBytes: SUBSCRIBER_QUEUE_BYTES_MAX,
    });
    const numbered = slow.heard.filter((one) => typeof one === "number");
    expect(numbered).toEqual(ids(1, slow.lastId));
    expect(fast.heard).toEqual(ids(1, log.lastId));
  });

  it("finds its eviction whole when it reads again, also after a long while", async () => {
    const clock = new ManualClock();
    const world = await serve([stream], {}, { clock });
    const { fast, slow } = await openTwo(world);
    await evict(fast);
    await expect.poll(() => clock.running(STREAM_EVICTED_MS_MAX)).toBe(1);
    clock.advance(STREAM_EVICTED_MS_MAX - 1);
    slow.resume();
    expect(await slow.over()).toBe("ended");
    expect(slow.frames.at(-1)).toMatchObject({ id: null, event: "client_evicted" });
    expect(slow.frames.at(-1)?.data.data).toMatchObject({ droppedAfter: slow.lastId });
    expect(slow.heard.filter((one) => typeof one === "number")).toEqual(ids(1, slow.lastId));
  });

  it("is cut off if it does not even take what is left for it", async () => {
    const clock = new ManualClock();
    const world = await serve([stream], {}, { clock });
    const { fast, slow } = await openTwo(world);
    await evict(fast);
    await expect.poll(() => clock.running(STREAM_EVICTED_MS_MAX)).toBe(1);
    clock.advance(STREAM_EVICTED_MS_MAX);
    await expect.poll(() => world.server.openStreamCount).toBe(1);
    slow.resume();
    expect(await slow.over()).toBe("cut");
    expect(fast.heard).toEqual(ids(1, log.lastId));
  });

  it("is evicted by the clock, if the server has a time for it", async () => {
    const clock = new ManualClock();
    const world = await serve([stream], { writerIdleTimeoutMs: 700 }, { clock });
    const { fast, slow } = await openTwo(world);
    await fill(fast);
    await expect.poll(() => clock.running(700)).toBe(1);
    clock.advance(700);
    slow.resume();
    expect(await slow.over()).toBe("ended");
    expect(slow.frames.at(-1)?.data).toMatchObject({
      type: "client_evicted",
      data: {
        reason: "writer_idle_timeout",
        errorKind: "writer_idle_timeout",
        idleForMs: 700,
        timeoutMs: 700,
      },
    });
    expect(fast.isOver).toBeNull();
  });

  it("because there is nothing to read is left in peace, whatever the server's time", async () => {
    const clock = new ManualClock();
    const world = await serve([stream], { writerIdleTimeoutMs: 700 }, { clock });
    const client = await StreamClient.open(world, "/events");
    clock.advance(10_000);
    await log.say(1);
    await client.until(({ heard }) => heard.includes(1));
    expect(clock.running(700)).toBe(0);
  });

  it("is given no heartbeats that would pile up", async () => {
    const clock = new ManualClock();
    const world = await serve([stream], {}, { clock });
    const { fast, slow } = await openTwo(world);
    await fill(fast);
    clock.advance(1_000 * STREAM_HEARTBEAT_MS);
    slow.resume();
    await slow.until(({ lastId }) => lastId === log.lastId);
    expect(slow.commentCount).toBeLessThan(10);
    await fast.until(({ commentCount }) => commentCount === 1_000);
  });

  it("keeps no server from closing", async () => {
    const world = await serve([stream], {}, { closeMs: 50 });
    const { fast, slow } = await openTwo(world);
    await fill(fast);
    await world.server.close();
    expect(await fast.over()).toBe("ended");
    slow.resume();
    expect(await slow.over()).toBe("cut");
    expect(log.bus.subscriberCount).toBe(0);
  });
});

describe("P10: readers that were evicted and do not read", () => {
  /** A stream to no socket: what is written to it stays in memory, as for a reader that stopped. */
  function stopped(streams: EventStreams, bytes: number): ServerResponse {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const chunk = [batchOf([notice("session_update", { text: "x".repeat(bytes) })])];
    void streams.serve(
      response,
      {
        next: async () => ({ done: false, value: chunk }),
        cancel() {},
        end() {},
        ending: new Promise((resolve) => setImmediate(() => resolve("evicted"))),
      },
      null,
      {},
    );
    return response;
  }

  async function cutOf(count: number, bytes: number): Promise<readonly number[]> {
    const clock = new ManualClock();
    const failed = () => {};
    const streams = new EventStreams({ clock, writerIdleTimeoutMs: null, failed }, () => "id");
    const all = Array.from({ length: count }, () => stopped(streams, bytes));
    await expect.poll(() => clock.running(STREAM_EVICTED_MS_MAX)).toBeGreaterThan(0);
    await expect.poll(() => all.some(({ destroyed }) => destroyed)).toBe(true);
    const cut = all.flatMap(({ destroyed }, index) => (destroyed ? [index] : []));
    for (const response of all) response.destroy();
    return cut;
  }

  it("are so many at a time: the oldest is cut off for another", async () => {
    expect(await cutOf(STREAMS_EVICTED_MAX + 2, 100)).toEqual([0, 1]);
  });

  it("hold so much memory at a time", async () => {
    const bytes = STREAMS_EVICTED_BYTES_MAX / 4;
    expect(await cutOf(5, bytes)).toEqual([0, 1]);
  });
});
