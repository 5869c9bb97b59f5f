import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ChildId, parseChildId } from "../../core/id.ts";
import { heard, LogWorld, told } from "./log.fixture.ts";

const CHILD = childId("child-1");

function childId(text: string): ChildId {
  return parseChildId(text) ?? expect.fail();
}

const own = { childId: CHILD, data: { text: "mine" } };
const begun = { ...own, type: "child_session_started" };
const ended = { ...own, type: "child_session_ended" };
/** Its parent speaks of it, and so does its sibling: neither is its own doing. */
const parents = { data: { text: `what does ${CHILD} do?` } };
const siblings = { childId: "child-11", data: { text: CHILD } };

let world: LogWorld;

beforeEach(async () => {
  world = await LogWorld.make();
});

afterEach(() => world.clear());

async function published(...events: Parameters<LogWorld["write"]>[0]) {
  await world.write(events);
  world.publish();
}

describe("a stream of one child", () => {
  it("P3: has its events under the numbers of its parent's log, up to its end", async () => {
    await published(parents, begun, siblings, own);
    const stream = world.subscribe({ childId: CHILD, after: 0 });
    const replay = { replayedCount: 2, lastReplayedEventId: 4, lastEventId: 4 };
    expect(await told(stream)).toEqual([2, 4, { type: "replay_complete", data: replay }]);
    await published(parents, own, siblings);
    expect(await heard(stream)).toEqual([6]);
    await published(siblings, ended, parents, own);
    expect(await heard(stream)).toEqual([9]);
    expect(await heard(stream)).toBe("over");
    expect(world.bus.subscriberCount).toBe(0);
  });

  it("P3: goes on from any of its events, and ends when it did", async () => {
    await published(begun, parents, own, siblings, ended, parents, own);
    const whole = world.subscribe({ childId: CHILD, after: 0 });
    expect(await heard(whole)).toEqual([1, 3, 5, "replay_complete"]);
    expect(await heard(whole)).toBe("over");
    const rest = world.subscribe({ childId: CHILD, after: 3 });
    expect(await heard(rest)).toEqual([5, "replay_complete"]);
    expect(await heard(rest)).toBe("over");
  });

  it("is told nothing while others are at work", async () => {
    const stream = world.subscribe({ childId: CHILD });
    const first = heard(stream);
    await published(parents);
    await published(siblings);
    await published(own);
    expect(await first).toEqual([3]);
  });

  it("shares its bytes with others of the child, and what is all its own with all", async () => {
    const both = [1, 2].map(() => world.subscribe({ childId: CHILD }));
    const all = world.subscribe();
    await published(parents, own);
    const [one, other] = await Promise.all(both.map((stream) => stream.next()));
    expect(one?.value?.[0]).toBe(other?.value?.[0]);
    await all.next();
    await published(own);
    const [part, whole] = await Promise.all([both[0]?.next(), all.next()]);
    expect(part?.value?.[0]).toBe(whole.value?.[0]);
  });
});
