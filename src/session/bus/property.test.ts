import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SUBSCRIBER_STALL_MS, TAIL_HELD_BYTES_MAX } from "../../core/limits.ts";
import type { Chunk } from "./frame.ts";
import { dataOf, EPOCH, eventText, framesOf, LogWorld, settled, typeOf } from "./log.fixture.ts";
import type { Subscription } from "./subscription.ts";

/** How many random histories are tried; more with FERMATA_LIVES. */
const LIVES = Number(process.env.FERMATA_LIVES ?? 300);

/** Short pages, so that a few events are a long past. */
const PAGE_MAX = 7;

/** What an observer knows of one stream, and what it therefore may hear next. */
class Observer {
  readonly stream: Subscription;
  readonly #world: LogWorld;
  readonly #target: number;
  readonly #wantsReplay: boolean;
  /** The id that has to come next. */
  expected: number;
  /** Whether its cursor means something in this log. */
  isKnown: boolean;
  isAsking = false;
  isOver = false;
  lastWord: string | null = null;
  hasReplayed: boolean;
  readonly faults: unknown[] = [];

  constructor(world: LogWorld, after: number | null, epoch: string) {
    this.#world = world;
    this.stream = world.subscribe({ after, epoch, maxQueued: 16 });
    this.#target = world.bus.publishedThrough;
    this.isKnown = epoch === EPOCH;
    this.#wantsReplay = after !== null;
    this.hasReplayed = after === null;
    this.expected = (after ?? this.#target) + 1;
  }

  /** Looks once; whether something comes of it depends on what happens meanwhile. */
  ask() {
    if (this.isAsking || this.isOver) return;
    this.isAsking = true;
    this.#look().catch((fault: unknown) => {
      this.faults.push(fault);
    });
  }

  async #look() {
    const { value, done } = await this.stream.next();
    this.isAsking = false;
    if (done) this.isOver = true;
    else this.#hear(value);
  }

  #hear(chunk: Chunk) {
    for (const { id, text } of framesOf(chunk)) {
      expect(this.lastWord).toBe(null);
      if (id === null) this.#hearNotice(text);
      else this.#hearEvent(id, text);
    }
  }

  #hearEvent(id: number, text: string) {
    expect(id).toBeLessThanOrEqual(this.#world.bus.publishedThrough); // P1
    expect(id).toBe(this.expected); // P3
    expect(this.isKnown).toBe(true);
    expect(text).toBe(eventText(id));
    expect(this.hasReplayed || id <= this.#target).toBe(true);
    this.expected = id + 1;
  }

  #hearNotice(text: string) {
    const type = typeOf(text);
    if (type === "state_resync_required") {
      this.expected = Number(dataOf(text).earliestAvailableId);
      this.isKnown = true;
    } else if (type === "replay_complete") {
      expect(this.#wantsReplay && !this.hasReplayed).toBe(true);
      expect(this.expected).toBeGreaterThan(this.#target);
      this.hasReplayed = true;
    } else if (type === "client_evicted") {
      this.lastWord = type;
      if (this.isKnown) expect(dataOf(text).droppedAfter).toBe(this.expected - 1);
    } else {
      expect(type).toBe("slow_client_warning");
    }
  }
}

type Step =
  | { readonly act: "append" | "publish" | "trim" | "ask" | "leave" | "answer"; readonly n: number }
  | { readonly act: "burst" | "hold" | "pass" | "terminate" | "reopen" }
  | {
      readonly act: "subscribe";
      readonly from: "now" | "there" | "ahead" | "abroad";
      readonly n: number;
    };

const small = fc.nat({ max: 40 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constant("append" as const), n: small }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("publish" as const), n: small }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("trim" as const), n: small }) },
  { weight: 6, arbitrary: fc.record({ act: fc.constant("ask" as const), n: small }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("leave" as const), n: small }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("answer" as const), n: small }) },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constantFrom(
        "burst" as const,
        "hold" as const,
        "pass" as const,
        "terminate" as const,
        "reopen" as const,
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("subscribe" as const),
      from: fc.constantFrom("now" as const, "there" as const, "ahead" as const, "abroad" as const),
      n: small,
    }),
  },
);

const history = fc.array(step, { minLength: 10, maxLength: 100, size: "max" });

/** One history: an actor, a store that is slow or not, and observers who come and go. */
class History {
  readonly observers: Observer[] = [];
  readonly #world: LogWorld;
  #unpublished = 0;

  constructor(world: LogWorld) {
    this.#world = world;
  }

  async live(steps: readonly Step[]) {
    for (const one of steps) {
      await this.#take(one);
      await settled();
    }
  }

  async #take(one: Step): Promise<void> {
    const world = this.#world;
    if (one.act === "append") return this.#append(one.n);
    if (one.act === "publish") return this.#publish(Math.min(one.n, this.#unpublished));
    if (one.act === "burst") return this.#burst();
    if (one.act === "terminate") return this.#terminate();
    if (one.act === "reopen") return this.#reopen();
    if (one.act === "trim") return world.trim(Math.max(world.lastId - one.n, 0));
    if (one.act === "subscribe") return this.#subscribe(one.from, one.n);
    if (one.act === "pass") world.nowMs += SUBSCRIBER_STALL_MS;
    if (one.act === "hold") world.isHeld = true;
    if (one.act === "answer") this.#answer(one.n);
    if (one.act === "ask") this.#some(one.n)?.ask();
    if (one.act === "leave") this.#leave(one.n);
  }

  async #append(count: number) {
    if (count === 0) return;
    await this.#world.append(count);
    this.#unpublished += count;
  }

  #publish(count: number, terminalId: number | null = null, bytes?: number) {
    this.#world.publish(count, terminalId, bytes);
    this.#unpublished -= count;
  }

  /** Enough for all who do not look to be sent to the store, in several calls. */
  async #burst() {
    for (let round = 0; round < 3; round += 1) {
      await this.#append(5);
      this.#publish(this.#unpublished, null, TAIL_HELD_BYTES_MAX);
    }
  }

  /** Some of what is durable was never published, because the actor was gone by then. */
  async #reopen() {
    await this.#append(3);
    this.#world.forget(this.#unpublished);
    this.#unpublished = 0;
    await this.#append(1);
    this.#publish(1);
  }

  async #terminate() {
    await this.#append(2);
    this.#publish(this.#unpublished, this.#world.lastId - 1);
  }

  #subscribe(from: "now" | "there" | "ahead" | "abroad", n: number) {
    const { lastId } = this.#world;
    const there = Math.max(lastId - n, 0);
    const after = { now: null, there, ahead: lastId + n, abroad: there }[from];
    const epoch = from === "abroad" ? "another" : EPOCH;
    if (this.#world.bus.subscriberCount < 60) {
      this.observers.push(new Observer(this.#world, after, epoch));
    }
  }

  #answer(n: number) {
    const { held } = this.#world;
    held.splice(n % (held.length + 1), 1)[0]?.();
  }

  #leave(n: number) {
    const observer = this.#some(n);
    if (observer === undefined) return;
    observer.stream.cancel();
    observer.isOver = true;
  }

  #some(n: number): Observer | undefined {
    return this.observers[n % Math.max(this.observers.length, 1)];
  }

  /** Everything is published, the store answers, and all look until nothing comes any more. */
  async rest() {
    const world = this.#world;
    this.#publish(this.#unpublished);
    world.isHeld = false;
    const looks = () => this.observers.filter(({ isAsking, isOver }) => !isAsking && !isOver);
    do {
      for (const answer of world.held.splice(0)) answer();
      for (const observer of looks()) observer.ask();
      await settled();
    } while (world.held.length > 0 || looks().length > 0);
  }
}

describe("whatever is appended, published, trimmed, taken and left, in whatever order", () => {
  it("P1, P3: each stream is one run of published events from its cursor, or is told", async () => {
    const ends = new Set<string>();
    const property = fc.asyncProperty(history, async (steps) => {
      const world = await LogWorld.make();
      world.pageMax = PAGE_MAX;
      const lived = new History(world);
      await lived.live(steps);
      await lived.rest();
      for (const { isOver, lastWord, expected, hasReplayed, faults } of lived.observers) {
        for (const fault of faults) throw fault;
        ends.add(lastWord ?? (isOver ? "over" : "open"));
        if (isOver) continue;
        expect(hasReplayed).toBe(true);
        expect(expected).toBeGreaterThanOrEqual(world.lastId + 1); // Nothing was lost at its end.
      }
      expect(world.bus.subscriberCount).toBe(lived.observers.filter((o) => !o.isOver).length);
      await world.clear();
    });
    await fc.assert(property, { numRuns: LIVES });
    expect([...ends].sort()).toEqual(["client_evicted", "open", "over"]);
  }, 60_000);
});
