import { fail } from "../src/core/result.ts";
import { type Chunk, type Frame, frameOf } from "../src/session/bus/frame.ts";
import { SessionBus } from "../src/session/bus/session-bus.ts";
import type { Subscription } from "../src/session/bus/subscription.ts";
import type { Trial } from "./trial.ts";

const SUBSCRIBERS = 64;
const BATCHES = 200;
/** What one group commit brings of one session that streams. */
const FRAMES = 10;
const DELIVERIES = SUBSCRIBERS * BATCHES * FRAMES;

/** Readers that have caught up and wait: each publication wakes all of them. */
const wakeUps: Trial = {
  name: "fan-out 1 session to 64 subscribers, each waiting",
  floor: { name: "bare promises", run: wakeBarely },
  subject: {
    name: "bus",
    async run() {
      const { bus, subscriptions } = openBus();
      const count = counter();
      const readers = subscriptions.map((one) => readAll(one, count));
      for (const batch of batches()) {
        bus.publish(batch);
        await count.reached(batch.length * SUBSCRIBERS);
      }
      bus.end(null);
      await Promise.all(readers);
      return DELIVERIES;
    },
  },
};

/** Readers that are busy with their sockets, and take what came meanwhile in one go. */
const takes: Trial = {
  name: "fan-out 1 session to 64 subscribers, each taking all at once",
  floor: { name: "pushed references", run: pushBarely },
  subject: {
    name: "bus",
    async run() {
      const { bus, subscriptions } = openBus();
      for (const batch of batches()) bus.publish(batch);
      let delivered = 0;
      for (const one of subscriptions) {
        const { value } = await one.next();
        delivered += sizeOf(value ?? []);
        one.cancel();
      }
      return delivered === DELIVERIES ? delivered : Number.NaN;
    },
  },
};

function openBus() {
  const bus = new SessionBus({ epoch: "epoch-1", lastEventId: 0 }, () => performance.now());
  const source = { readPast: async () => fail("store_unavailable", { reason: "not here" }) };
  const subscriptions: Subscription[] = [];
  for (let one = 0; one < SUBSCRIBERS; one += 1) {
    const made = bus.subscribe({ after: null, epoch: null, maxQueued: DELIVERIES }, source);
    if (made.ok) subscriptions.push(made.value);
  }
  return { bus, subscriptions };
}

async function readAll(subscription: Subscription, count: ReturnType<typeof counter>) {
  for await (const chunk of subscription) count.add(sizeOf(chunk));
}

function sizeOf(chunk: Chunk): number {
  let frames = 0;
  for (const batch of chunk) frames += batch.frames.length;
  return frames;
}

/** The least that waking many readers with the same thing can be: a promise for each. */
async function wakeBarely(): Promise<number> {
  const wakes: ((batch: readonly Frame[] | null) => void)[] = [];
  const count = counter();
  const read = async () => {
    for (;;) {
      const batch = await new Promise<readonly Frame[] | null>((wake) => wakes.push(wake));
      if (batch === null) return;
      count.add(batch.length);
    }
  };
  const readers = Array.from({ length: SUBSCRIBERS }, read);
  for (const batch of [...batches(), null]) {
    for (const wake of wakes.splice(0)) wake(batch);
    if (batch !== null) await count.reached(batch.length * SUBSCRIBERS);
  }
  await Promise.all(readers);
  return DELIVERIES;
}

/** The least that handing out can be at all: one reference for each subscriber. */
function pushBarely(): number {
  const queues = Array.from({ length: SUBSCRIBERS }, (): (readonly Frame[])[] => []);
  for (const batch of batches()) for (const queue of queues) queue.push(batch);
  let delivered = 0;
  for (const queue of queues) for (const batch of queue) delivered += batch.length;
  return delivered;
}

/** Waits for the promises of others by letting them have their turns. */
function counter() {
  let count = 0;
  return {
    add(more: number) {
      count += more;
    },
    async reached(goal: number) {
      while (count < goal) await Promise.resolve();
      count -= goal;
    },
  };
}

const TEXT = JSON.stringify({ type: "session_update", text: "x".repeat(100) });

const FIXED = Array.from({ length: BATCHES }, (_, batch) => {
  return Array.from({ length: FRAMES }, (_, index) => {
    return frameOf({ id: batch * FRAMES + index + 1, text: TEXT });
  });
});

function batches(): readonly (readonly Frame[])[] {
  return FIXED;
}

export const trials: readonly Trial[] = [wakeUps, takes];
