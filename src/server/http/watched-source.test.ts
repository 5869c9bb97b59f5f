import { setImmediate as everythingToldSoFar } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { STREAM_RECHECK_MS } from "../../core/limits.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import type { EventSource } from "./event-stream.ts";
import { WatchedSource } from "./watched-source.ts";

class Watched {
  readonly clock = new ManualClock();
  mayGoOn = true;
  asked = 0;
  ended: string[] = [];
  cancelled = 0;
  over = 0;
  readonly source: WatchedSource;

  constructor() {
    const source: EventSource = {
      next: () => new Promise(() => {}),
      cancel: () => {
        this.cancelled += 1;
      },
      end: (last) => {
        this.ended.push(last?.text ?? "");
      },
    };
    const ask = async () => {
      this.asked += 1;
      return this.mayGoOn;
    };
    this.source = new WatchedSource(source, ask, this.clock, () => {
      this.over += 1;
    });
  }

  /** Time passes, and what was promised by then has been told. */
  async pass() {
    this.clock.advance(STREAM_RECHECK_MS);
    await everythingToldSoFar();
  }
}

describe("a stream that is watched", () => {
  it("goes on as long as its reader may read", async () => {
    const world = new Watched();
    await world.pass();
    await world.pass();
    expect([world.asked, world.ended]).toEqual([2, []]);
  });

  it("ends with a word soon after they may not", async () => {
    const world = new Watched();
    world.mayGoOn = false;
    await world.pass();
    expect(world.ended).toEqual([expect.stringContaining('"errorKind":"unauthorized"')]);
    expect(world.clock.runningCount).toBe(0);
  });

  it.each(["cancel", "end"] as const)("is not looked at any more after %s", (how) => {
    const world = new Watched();
    if (how === "cancel") world.source.cancel();
    else world.source.end(null);
    expect(world.clock.runningCount).toBe(0);
    expect(world.cancelled + world.ended.length).toBe(1);
  });

  it("is looked at at once if somebody wants that, and then as before", async () => {
    const world = new Watched();
    world.source.check();
    await everythingToldSoFar();
    expect([world.asked, world.clock.runningCount]).toEqual([1, 1]);
    world.mayGoOn = false;
    world.source.check();
    await everythingToldSoFar();
    expect(world.ended).toHaveLength(1);
    expect([world.asked, world.clock.runningCount]).toEqual([2, 0]);
  });

  it("is looked at again if that is wanted while it is looked at", async () => {
    const world = new Watched();
    world.source.check();
    world.source.check();
    world.source.check();
    await everythingToldSoFar();
    expect([world.asked, world.clock.runningCount]).toEqual([2, 1]);
  });

  it("tells once that it is over", () => {
    const world = new Watched();
    world.source.end(null);
    world.source.cancel();
    expect(world.over).toBe(1);
  });

  it("that is over when the answer comes is left alone", async () => {
    const world = new Watched();
    world.mayGoOn = false;
    world.clock.advance(STREAM_RECHECK_MS);
    world.source.cancel();
    await everythingToldSoFar();
    expect([world.asked, world.ended]).toEqual([1, []]);
  });
});
