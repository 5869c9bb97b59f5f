import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseClientId } from "../../core/id.ts";
import { TAIL_HELD_FRAMES_MAX } from "../../core/limits.ts";
import { notice } from "./frame.ts";
import { heard, ids, LogWorld, settled } from "./log.fixture.ts";

const ada = parseClientId("ada") ?? expect.fail();

let world: LogWorld;

beforeEach(async () => {
  world = await LogWorld.make();
});

afterEach(() => world.clear());

/** Publishes events of which the last ones, from the given id on, are held back from ada. */
async function sayHeld(count: number, ...held: readonly number[]) {
  await world.append(count);
  world.bus.holdClient(ada, held);
  world.publish();
}

describe("an event that is held back from the streams of a client", () => {
  it("P10: reaches every other stream at once, in the very same batch", async () => {
    const [own, bob, eve] = [
      world.subscribe({ clientId: ada }),
      world.subscribe(),
      world.subscribe(),
    ];
    await sayHeld(5, 3);
    const [ofBob, ofEve] = [await bob.next(), await eve.next()];
    expect(ofBob.value?.[0]?.frames.map(({ id }) => id)).toEqual(ids(1, 5));
    expect(ofEve.value?.[0]).toBe(ofBob.value?.[0]);
    expect(await heard(own)).toEqual([1, 2]);
  });

  it("P3: comes with all that follows once it is released, without a gap", async () => {
    const own = world.subscribe({ clientId: ada });
    await sayHeld(4, 3);
    expect(await heard(own)).toEqual([1, 2]);
    const next = heard(own);
    await world.say(3);
    world.bus.holdClient(ada, []);
    expect(await next).toEqual(ids(3, 7));
  });

  it("P3: lets the stream go on to the next held one", async () => {
    const own = world.subscribe({ clientId: ada });
    await sayHeld(6, 3, 5);
    expect(await heard(own)).toEqual([1, 2]);
    world.bus.holdClient(ada, [5]);
    expect(await heard(own)).toEqual([3, 4]);
    world.bus.holdClient(ada, []);
    expect(await heard(own)).toEqual([5, 6]);
  });

  it("P10: is read from the store if more follows it than memory holds", async () => {
    const own = world.subscribe({ clientId: ada });
    await sayHeld(1, 1);
    const next = heard(own);
    for (let said = 0; said <= TAIL_HELD_FRAMES_MAX; said += 512) await world.say(512);
    await settled();
    expect(world.readCount).toBe(0);
    world.bus.holdClient(ada, []);
    const seen = [...(await next)];
    while (seen.length < world.lastId) seen.push(...(await heard(own)));
    expect(seen).toEqual(ids(1, world.lastId));
    expect(world.readCount).toBeGreaterThan(0);
  });

  it("P3: is held back from a stream that the client opens meanwhile", async () => {
    await world.say(4);
    const request = { after: 1, epoch: "epoch-1", clientId: ada };
    const made = world.bus.subscribe(request, world, [3]);
    const own = made.ok ? made.value : expect.fail();
    expect(await heard(own)).toEqual([2, "replay_complete"]);
    const next = heard(own);
    await world.say(1);
    world.bus.holdClient(ada, []);
    expect(await next).toEqual([3, 4, 5]);
  });

  it("is not held back from a stream that has it already, by its cursor", async () => {
    await world.say(4);
    const request = { after: 3, epoch: "epoch-1", clientId: ada };
    const made = world.bus.subscribe(request, world, [3]);
    const own = made.ok ? made.value : expect.fail();
    expect(await heard(own)).toEqual([4, "replay_complete"]);
  });

  it("P10: does not hold what has no id and was said before it", async () => {
    const own = world.subscribe({ clientId: ada });
    await world.say(2);
    world.bus.announce(notice("before", {}));
    await sayHeld(1, 3);
    world.bus.announce(notice("after", {}));
    expect(await heard(own)).toEqual([1, 2, "before"]);
    const next = heard(own);
    world.bus.holdClient(ada, []);
    expect(await next).toEqual([3, "after"]);
  });

  it("P10: lets it pass to a reader that has taken all before it, at once", async () => {
    const own = world.subscribe({ clientId: ada });
    await world.say(2);
    expect(await heard(own)).toEqual([1, 2]);
    const next = heard(own);
    await world.append(1);
    world.bus.holdClient(ada, [3]);
    world.bus.announce(notice("before", {}));
    world.publish();
    expect(await next).toEqual(["before"]);
  });

  it("comes before the last words when the stream ends", async () => {
    const own = world.subscribe({ clientId: ada });
    await sayHeld(2, 2);
    world.bus.end(notice("stream_error", {}));
    expect(await heard(own)).toEqual([1, 2, "stream_error"]);
    expect(await heard(own)).toBe("over");
  });

  it("is followed by the end of a session that closes, once it is released", async () => {
    const own = world.subscribe({ clientId: ada });
    await sayHeld(1, 1);
    await world.append(1);
    world.publish(1, 2);
    const next = heard(own);
    world.bus.holdClient(ada, []);
    expect(await next).toEqual([1, 2]);
    expect(await heard(own)).toBe("over");
  });
});

describe("a word about an event", () => {
  it("reaches only the client's streams that have been given the event", async () => {
    const [own, late, bob] = [
      world.subscribe({ clientId: ada }),
      world.subscribe({ clientId: ada }),
      world.subscribe(),
    ];
    await world.say(2);
    expect(await heard(own)).toEqual([1, 2]);
    expect(await heard(bob)).toEqual([1, 2]);
    world.bus.remind(ada, 2, notice("turn_complete", {}));
    await world.say(1);
    expect(await heard(own)).toEqual([3, "turn_complete"]);
    expect(await heard(late)).toEqual([1, 2, 3]);
    expect(await heard(bob)).toEqual([3]);
  });
});
