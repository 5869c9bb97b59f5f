import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SUBSCRIBER_PAGE_FRAMES_MAX } from "../../core/limits.ts";
import { sqliteHarness } from "../../store/sqlite/harness.fixture.ts";
import { notice } from "./frame.ts";
import { heard, ids, LogWorld, settled, told } from "./log.fixture.ts";

let world: LogWorld;

beforeEach(async () => {
  world = await LogWorld.make();
});

afterEach(() => world.clear());

describe("a subscription without a cursor", () => {
  it("hears what is published from now on, and no replay", async () => {
    await world.say(3);
    const stream = world.subscribe();
    await world.say(2);
    expect(await heard(stream)).toEqual([4, 5]);
    expect(world.readCount).toBe(0);
  });

  it("takes no notice of an epoch", async () => {
    await world.say(3);
    const stream = world.subscribe({ epoch: "another" });
    await world.say(1);
    expect(await heard(stream)).toEqual([4]);
  });

  it("is shown the snapshot first, if it asks", async () => {
    const stream = world.subscribe({ snapshot: () => notice("session_snapshot", {}) });
    await world.say(1);
    expect(await heard(stream)).toEqual(["session_snapshot", 1]);
  });
});

describe("a subscription with a cursor", () => {
  it.each([0, 1, 4])(
    "P3: gets what is stored after %i, then the end of the replay, then what is new",
    async (after) => {
      await world.say(5);
      const stream = world.subscribe({ after });
      const replay = { replayedCount: 5 - after, lastReplayedEventId: 5, lastEventId: 5 };
      expect(await told(stream)).toEqual([
        ...ids(after + 1, 5),
        { type: "replay_complete", data: replay },
      ]);
      await world.say(2);
      expect(await heard(stream)).toEqual([6, 7]);
    },
  );

  it("that is up to date has nothing to replay, and the store is not asked", async () => {
    await world.say(5);
    const stream = world.subscribe({ after: 5 });
    await world.say(1);
    const data = { replayedCount: 0, lastEventId: 5 };
    expect(await told(stream)).toEqual([{ type: "replay_complete", data }, 6]);
    expect(world.readCount).toBe(0);
  });

  it("reads a long past page by page, as it is taken", async () => {
    const count = 2 * SUBSCRIBER_PAGE_FRAMES_MAX + 1;
    await world.say(count);
    const stream = world.subscribe({ after: 0 });
    expect(await heard(stream)).toEqual(ids(1, SUBSCRIBER_PAGE_FRAMES_MAX));
    expect(world.readCount).toBe(1);
    expect(await heard(stream)).toHaveLength(SUBSCRIBER_PAGE_FRAMES_MAX);
    expect(await heard(stream)).toEqual([count, "replay_complete"]);
  });

  it("P3: loses nothing that is published while the past is read", async () => {
    await world.say(3);
    world.isHeld = true;
    const stream = world.subscribe({ after: 1 });
    const first = heard(stream);
    await world.say(2);
    world.held.pop()?.();
    expect(await first).toEqual([2, 3, "replay_complete"]);
    await world.say(1);
    expect(await heard(stream)).toEqual([4, 5, 6]);
    expect(world.readCount).toBe(1);
  });

  it("P1: is not shown what is stored and not published", async () => {
    await world.say(2);
    await world.append(3);
    const stream = world.subscribe({ after: 0 });
    expect(await heard(stream)).toEqual([1, 2, "replay_complete"]);
    const next = heard(stream);
    await settled();
    world.publish(1);
    expect(await next).toEqual([3]);
    world.publish();
    expect(await heard(stream)).toEqual([4, 5]);
  });

  it("P3: may be ahead of what is published, if an answer told the client of it", async () => {
    await world.say(2);
    await world.append(3);
    const stream = world.subscribe({ after: 4 });
    const data = { replayedCount: 0, lastEventId: 4 };
    expect(await told(stream)).toEqual([{ type: "replay_complete", data }]);
    world.publish(1);
    world.publish();
    expect(await heard(stream)).toEqual([5]);
  });

  it("is shown the snapshot right after the replay, if it asks", async () => {
    await world.say(1);
    const stream = world.subscribe({ after: 0, snapshot: () => notice("session_snapshot", {}) });
    await world.say(1);
    expect(await heard(stream)).toEqual([1, "replay_complete", "session_snapshot"]);
    expect(await heard(stream)).toEqual([2]);
  });
});

describe("P3: a cursor that cannot be continued is told to resync", () => {
  it.each([0, 2, 3, 9])(
    "at %i of another log, and gets everything that is stored",
    async (after) => {
      await world.say(3);
      const stream = world.subscribe({ after, epoch: "another" });
      expect(await told(stream)).toEqual([
        {
          type: "state_resync_required",
          data: {
            reason: "epoch_reset",
            detail: "epoch_mismatch",
            lastDeliveredId: after,
            earliestAvailableId: 1,
          },
        },
        1,
        2,
        3,
        {
          type: "replay_complete",
          data: { replayedCount: 3, lastReplayedEventId: 3, lastEventId: 3 },
        },
      ]);
    },
  );

  it("when it is ahead of the log, and gets everything that is stored", async () => {
    await world.say(3);
    const stream = world.subscribe({ after: 4, epoch: null });
    const data = { reason: "epoch_reset", lastDeliveredId: 4, earliestAvailableId: 1 };
    expect(await told(stream)).toEqual([{ type: "state_resync_required", data }]);
    expect(await heard(stream)).toEqual([1, 2, 3, "replay_complete"]);
  });

  it("once and not twice, when the other log is trimmed besides", async () => {
    await world.say(5);
    await world.trim(3);
    const stream = world.subscribe({ after: 2, epoch: "another" });
    expect(await heard(stream)).toEqual(["state_resync_required", 4, 5, "replay_complete"]);
  });

  it("when the events after it were trimmed away", async () => {
    await world.say(5);
    await world.trim(3);
    const stream = world.subscribe({ after: 1 });
    const data = { reason: "ring_evicted", lastDeliveredId: 1, earliestAvailableId: 4 };
    const [resync, ...rest] = await told(stream);
    expect(resync).toEqual({ type: "state_resync_required", data });
    expect(rest).toMatchObject([4, 5, { data: { replayedCount: 2, lastReplayedEventId: 5 } }]);
  });

  it("but not when only events that it has were trimmed", async () => {
    await world.say(5);
    await world.trim(3);
    expect(await heard(world.subscribe({ after: 3 }))).toEqual([4, 5, "replay_complete"]);
  });

  it("when nothing is stored any more", async () => {
    await world.say(5);
    await world.trim(5);
    const stream = world.subscribe({ after: 2 });
    const reason = "seeded_replay_not_in_ring";
    expect(await told(stream)).toEqual([
      {
        type: "state_resync_required",
        data: { reason, lastDeliveredId: 2, earliestAvailableId: 6 },
      },
      { type: "replay_complete", data: { replayedCount: 0, lastEventId: 5 } },
    ]);
    await world.say(1);
    expect(await heard(stream)).toEqual([6]);
  });

  it("in the middle of its replay too, when the store trims what it has not read yet", async () => {
    const count = SUBSCRIBER_PAGE_FRAMES_MAX + 10;
    await world.say(count);
    const stream = world.subscribe({ after: 0 });
    await heard(stream);
    await world.trim(count - 1);
    expect(await heard(stream)).toEqual(["state_resync_required", count, "replay_complete"]);
  });

  it("but not for what it has in memory, whatever the store has trimmed of that", async () => {
    await world.say(3);
    world.isHeld = true;
    const stream = world.subscribe({ after: 0 });
    const first = told(stream);
    await world.say(5);
    await world.trim(6);
    world.held.pop()?.();
    const data = { lastDeliveredId: 0, earliestAvailableId: 4 };
    expect(await first).toMatchObject([{ data }, { type: "replay_complete" }]);
    expect(await heard(stream)).toEqual(ids(4, 8));
  });
});

describe("the past in SQLite", () => {
  it("P3: is joined to the live tail without gap or repeat", async () => {
    const real = await LogWorld.make(sqliteHarness());
    try {
      await real.say(700);
      const stream = real.subscribe({ after: 0 });
      const all: unknown[] = [];
      for (let round = 0; round < 5; round += 1) {
        const next = heard(stream);
        await real.say(10);
        all.push(...(await next));
      }
      all.push(...(await heard(stream)));
      expect(all).toEqual([...ids(1, 700), "replay_complete", ...ids(701, 750)]);
    } finally {
      await real.clear();
    }
  });
});
