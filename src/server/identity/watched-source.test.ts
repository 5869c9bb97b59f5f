import { setImmediate as everythingToldSoFar } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { STREAM_RECHECK_MS } from "../../core/limits.ts";
import type { EventSource } from "../stream/event-stream.ts";
import { ManualClock } from "../stream/manual-clock.fixture.ts";
import { WatchedSource } from "./watched-source.ts";

class Watched {
  readonly clock = new ManualClock();
  mayGoOn = true;
  asked = 0;
  ended: string[] = [];
  cancelled = 0;
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
    this.source = new WatchedSource(source, ask, this.clock);
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

  it("that is over when the answer comes is left alone", async () => {
    const world = new Watched();
    world.mayGoOn = false;
    world.clock.advance(STREAM_RECHECK_MS);
    world.source.cancel();
    await everythingToldSoFar();
    expect([world.asked, world.ended]).toEqual([1, []]);
  });
});
