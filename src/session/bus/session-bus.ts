import type { ClientId, UserId } from "../../core/id.ts";
import { SUBSCRIBERS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Audience } from "../../core/session/visibility.ts";
import { isShareUsedUp } from "../../core/share.ts";
import { type PastSource, Tail } from "./catch-up.ts";
import { type Batch, batchOf, type Frame, type Notice } from "./frame.ts";
import { type SubscribeRequest, Subscription, type SubscriptionLog } from "./subscription.ts";

/** Where the log stands when its bus begins. */
export interface LogPosition {
  readonly epoch: string;
  readonly lastEventId: number;
}

/**
 * Publishes what has happened in one session to its subscribers. What is published is durable (P1)
 * and in order; the bus keeps none of it, because the store has it. A slow subscriber delays no
 * other (P10).
 */
export class SessionBus {
  readonly epoch: string;
  readonly #tail: Tail;
  readonly #owner: SubscriptionLog;
  readonly #nowMs: () => number;
  readonly #subscriptions = new Set<Subscription>();
  #end: { readonly last: Notice | null } | null = null;

  /** One bus for each opening of the log: where that stands, and the time, in any count. */
  constructor({ epoch, lastEventId }: LogPosition, nowMs: () => number) {
    this.epoch = epoch;
    this.#tail = new Tail(lastEventId);
    this.#nowMs = nowMs;
    const left = (subscription: Subscription) => this.#subscriptions.delete(subscription);
    this.#owner = { epoch, tail: this.#tail, left };
  }

  /** The last event that subscribers may see; the store may be further. */
  get publishedThrough(): number {
    return this.#tail.end.at.id;
  }

  /** The clients that read a stream. */
  get clientIds(): ReadonlySet<ClientId> {
    const ids = [...this.#subscriptions].map(({ clientId }) => clientId);
    return new Set(ids.filter((clientId) => clientId !== null));
  }

  get subscriberCount(): number {
    return this.#subscriptions.size;
  }

  /**
   * The next frames, which are durable, and the id of the last one of them that is terminal, if
   * any is: streams that are open now end with it, later ones pass over it. The array is kept and
   * shared, so it must not be changed afterwards.
   */
  publish(frames: readonly Frame[], terminalId: number | null = null) {
    const fresh = this.#freshOf(frames);
    const first = fresh[0];
    if (first === undefined || this.#end !== null) return;
    if (first.id > this.publishedThrough + 1) this.#skipTo(first.id - 1);
    const hasNoEnd = terminalId === null || terminalId < first.id;
    const length = hasNoEnd ? fresh.length : terminalId - first.id + 1;
    this.#push(length === fresh.length ? fresh : fresh.slice(0, length));
    if (hasNoEnd) return;
    for (const subscription of this.#subscriptions) subscription.terminate(terminalId);
    if (length < fresh.length) this.#push(fresh.slice(length));
  }

  /**
   * Says something that is not in the log to all, after what was published before it. A subscriber
   * that has to read the store just then misses it: such a frame tells of now.
   */
  announce(notice: Notice) {
    if (this.#end === null) this.#tell(batchOf([notice]), this.publishedThrough);
  }

  hasClient(clientId: ClientId): boolean {
    return this.#streamsOf(clientId).length > 0;
  }

  /** Holds these events back from the streams of a client, and no others any more. */
  holdClient(clientId: ClientId, ids: readonly number[]) {
    for (const subscription of this.#streamsOf(clientId)) subscription.hold(ids);
  }

  /** Says something about an event to those streams of a client that have been given it. */
  remind(clientId: ClientId, eventId: number, notice: Notice) {
    for (const subscription of this.#streamsOf(clientId)) {
      if (subscription.hasGiven(eventId)) subscription.tell(notice);
    }
  }

  /** Ends the streams of readers who do not see a session of this audience. */
  endOutside(audience: Audience, last: Notice) {
    const outside = [...this.#subscriptions].filter((one) => !one.isFor(audience));
    for (const subscription of outside) {
      this.#subscriptions.delete(subscription);
      subscription.end(last);
    }
  }

  /** A stream gets held events, and what follows them, once they are released. */
  subscribe(
    request: SubscribeRequest,
    source: PastSource,
    heldIds: readonly number[] = [],
  ): Result<Subscription> {
    const limit = SUBSCRIBERS_MAX;
    if (this.#subscriptions.size >= limit) return fail("subscriber_limit_exceeded", { limit });
    const own = ownStreams(this.#subscriptions, request.userId ?? null);
    if (isShareUsedUp(own, limit - this.#subscriptions.size)) {
      return fail("subscriber_limit_exceeded", { limit: own, scope: "user" });
    }
    const subscription = new Subscription(this.#owner, { ...request, heldIds }, source);
    // Its head has been sent already, so a stream that comes too late is told in the stream.
    if (this.#end === null) this.#subscriptions.add(subscription);
    else subscription.end(this.#end.last);
    return ok(subscription);
  }

  /**
   * Nothing more is published. With a last word, each stream gets what it has in memory, then that
   * word, and nothing is read from the store any more: that may be what failed. Without one,
   * each stream is served to the end of what was published.
   */
  end(last: Notice | null) {
    if (this.#end !== null) return;
    this.#end = { last };
    for (const subscription of this.#subscriptions) {
      if (last === null) subscription.finish(this.publishedThrough);
      else subscription.end(last);
    }
  }

  #streamsOf(clientId: ClientId): readonly Subscription[] {
    return [...this.#subscriptions].filter((one) => one.clientId === clientId);
  }

  /** Those that were not published before; as a rule, the very array. */
  #freshOf(frames: readonly Frame[]): readonly Frame[] {
    const firstId = frames[0]?.id ?? Number.POSITIVE_INFINITY;
    const isFresh = firstId > this.publishedThrough;
    return isFresh ? frames : frames.slice(this.publishedThrough - firstId + 1);
  }

  /**
   * A log that was opened again may have more in it than was published here. That is durable too,
   * so all subscribers fetch it from the store, without a gap (P3).
   */
  #skipTo(id: number) {
    this.#tail.skipTo(id);
    for (const subscription of this.#subscriptions) subscription.letGo();
  }

  #push(frames: readonly Frame[]) {
    this.#tell(batchOf(frames), this.publishedThrough + frames.length);
  }

  #tell(batch: Batch, lastId: number) {
    const before = this.#tail.end.at;
    this.#tail.push(batch, lastId);
    const nowMs = this.#nowMs();
    for (const subscription of this.#subscriptions) subscription.published(before, nowMs);
  }
}

/** How many of these streams a user reads. No share binds the operator. */
export function ownStreams(
  streams: Iterable<{ readonly userId: UserId | null }>,
  userId: UserId | null,
): number {
  return userId === null ? 0 : [...streams].filter((one) => one.userId === userId).length;
}
