import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TAIL_HELD_FRAMES_MAX } from "../../core/limits.ts";
import { fail } from "../../core/result.ts";
import { notice, streamError } from "./frame.ts";
import { eventText, framesOf, heard, ids, LogWorld, settled, told } from "./log.fixture.ts";

let world: LogWorld;

beforeEach(async () => {
  world = await LogWorld.make();
});

afterEach(() => world.clear());

const STOPPED = streamError("The server is shutting down.", "daemon_shutdown");

describe("a terminal frame", () => {
  it("is the last one of every stream that is open when it is published", async () => {
    const [busy, waiting] = [world.subscribe(), world.subscribe()];
    const next = heard(waiting);
    await world.append(2);
    world.publish(2, 2);
    expect(await next).toEqual([1, 2]);
    expect(await heard(waiting)).toBe("over");
    await world.say(3);
    expect(await heard(busy)).toEqual([1, 2]);
    expect(await heard(busy)).toBe("over");
    expect(world.bus.subscriberCount).toBe(0);
  });

  it("ends streams even if more follows in the same call", async () => {
    const stream = world.subscribe();
    await world.append(4);
    world.publish(4, 2);
    expect(await heard(stream)).toEqual([1, 2]);
    expect(await heard(stream)).toBe("over");
    expect(await heard(world.subscribe({ after: 2 }))).toEqual([3, 4, "replay_complete"]);
  });

  it("is passed over in a replay, and the stream stays open", async () => {
    await world.append(2);
    world.publish(2, 2);
    const stream = world.subscribe({ after: 0 });
    expect(await heard(stream)).toEqual([1, 2, "replay_complete"]);
    await world.say(1);
    expect(await heard(stream)).toEqual([3]);
  });

  it("does not end the stream of a client that was told of it by an answer before", async () => {
    await world.append(2);
    const stream = world.subscribe({ after: 2 });
    world.publish(2, 2);
    await world.say(1);
    expect(await heard(stream)).toEqual(["replay_complete"]);
    expect(await heard(stream)).toEqual([3]);
  });

  it("comes to a reader that is far behind as well, from the store", async () => {
    const stream = world.subscribe();
    for (let round = 0; round < 3; round += 1) await world.say(TAIL_HELD_FRAMES_MAX);
    await world.append(1);
    world.publish(1, world.lastId);
    const terminalId = world.lastId;
    await world.say(100);
    const all: unknown[] = [];
    for await (const chunk of stream) all.push(...framesOf(chunk).map(({ id }) => id));
    expect(all.filter((id) => id !== null)).toEqual(ids(1, terminalId));
  });
});

describe("when the bus ends with a word", () => {
  it("each stream gets what it has in memory, the word, and its end", async () => {
    const [busy, waiting] = [world.subscribe(), world.subscribe({ after: 0 })];
    await heard(waiting);
    await world.say(2);
    await heard(waiting);
    const next = heard(waiting);
    world.bus.end(STOPPED);
    expect(await next).toEqual(["stream_error"]);
    expect(await heard(waiting)).toBe("over");
    const data = { error: "The server is shutting down.", errorKind: "daemon_shutdown" };
    expect(await told(busy)).toEqual([1, 2, { type: "stream_error", data }]);
    expect(await heard(busy)).toBe("over");
    expect(world.bus.subscriberCount).toBe(0);
  });

  it("P3: a stream that would have to ask the store only gets the word", async () => {
    await world.say(3);
    const stream = world.subscribe({ after: 1 });
    world.bus.end(STOPPED);
    expect(await heard(stream)).toEqual(["stream_error"]);
    expect(await heard(stream)).toBe("over");
    expect(world.readCount).toBe(0);
  });

  it("what the store was asked for before is not waited upon with anything more", async () => {
    await world.say(3);
    world.isHeld = true;
    const stream = world.subscribe({ after: 1 });
    const next = heard(stream);
    world.bus.end(STOPPED);
    world.held.pop()?.();
    expect(await next).toEqual(["stream_error"]);
    expect(await heard(stream)).toBe("over");
  });

  it("a stream whose session has ended before ends with that", async () => {
    const stream = world.subscribe();
    await world.append(1);
    world.publish(1, 1);
    world.bus.end(STOPPED);
    expect(await heard(stream)).toEqual([1]);
    expect(await heard(stream)).toBe("over");
  });

  it("whoever comes later is told the same, and what is published later is not", async () => {
    world.bus.end(STOPPED);
    await world.say(1);
    for (const after of [null, 0, 7]) {
      const late = world.subscribe({ after });
      expect((await heard(late)).at(-1)).toBe("stream_error");
      expect(await heard(late)).toBe("over");
    }
    expect(world.bus.publishedThrough).toBe(0);
    expect(world.bus.subscriberCount).toBe(0);
  });
});

describe("when the bus ends without a word", () => {
  it("each stream is served to the end, from the store too", async () => {
    await world.say(3);
    const [replaying, waiting] = [world.subscribe({ after: 1 }), world.subscribe()];
    const next = heard(waiting);
    world.bus.end(null);
    expect(await next).toBe("over");
    expect(await heard(replaying)).toEqual([2, 3, "replay_complete"]);
    expect(await heard(replaying)).toBe("over");
  });
});

describe("trouble with the store", () => {
  it("ends the stream with its code", async () => {
    await world.say(3);
    const reason = "its disk is gone";
    const source = { readPast: async () => fail("store_unavailable", { reason }) };
    const stream = world.subscribe({ after: 1 }, source);
    const data = {
      error: "The session store cannot be used: its disk is gone.",
      errorKind: "store_unavailable",
    };
    expect(await told(stream)).toEqual([{ type: "stream_error", data }]);
    expect(await heard(stream)).toBe("over");
    expect(world.bus.subscriberCount).toBe(0);
  });

  it.each([
    ["an event is missing", { events: [] }, "session_corrupt"],
    ["an event is another", { events: [{ id: 3, text: eventText(3) }] }, "session_corrupt"],
    ["the log is another", { epoch: "another" }, "writer_lost"],
  ])("P3: when %s, nothing is made up", async (_what, change, errorKind) => {
    await world.say(3);
    const source = {
      readPast: async (after: number, limit: number) => {
        const page = await world.readPast(after, limit);
        return page.ok ? { ok: true as const, value: { ...page.value, ...change } } : page;
      },
    };
    const stream = world.subscribe({ after: 1 }, source);
    expect(await told(stream)).toMatchObject([{ type: "stream_error", data: { errorKind } }]);
    expect(await heard(stream)).toBe("over");
  });
});

describe("a reader that leaves", () => {
  it("is gone at once, even while it waits", async () => {
    const stream = world.subscribe();
    const next = heard(stream);
    stream.cancel();
    expect(await next).toBe("over");
    await stream.ending;
    expect(world.bus.subscriberCount).toBe(0);
    stream.tell(notice("word", {}));
    await world.say(1);
    expect(await heard(stream)).toBe("over");
  });

  it("is gone when its loop is", async () => {
    const stream = world.subscribe();
    await world.say(1);
    for await (const chunk of stream) {
      expect(chunk).toHaveLength(1);
      break;
    }
    expect(world.bus.subscriberCount).toBe(0);
  });

  it("is gone while it waits for the store", async () => {
    await world.say(1);
    world.isHeld = true;
    const stream = world.subscribe({ after: 0 });
    const next = heard(stream);
    await settled();
    stream.cancel();
    world.held.pop()?.();
    expect(await next).toBe("over");
  });
});

describe("a second reader of one stream", () => {
  it("is refused, for it would take from the first", async () => {
    const stream = world.subscribe();
    const first = heard(stream);
    await expect(stream.next()).rejects.toThrow("one reader");
    await world.say(1);
    expect(await first).toEqual([1]);
  });
});
