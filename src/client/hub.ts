import { type EventCursor, type FollowedItem, follow, type ReceivedEvent } from "./follow.ts";
import type { Transport } from "./transport.ts";

/** One of those who follow a session through one stream. */
export interface Follower {
  told(item: FollowedItem): void;
  /** Nothing more comes: the session is closed, or cannot be followed. */
  ended(why: unknown): void;
}

/** Events that are kept for those who join a little behind: a prompt's first ones. */
const RECENT_EVENTS_MAX = 1_024;

/**
 * Lets all that follows a session in one program share one stream: browsers have six connections
 * for one server. A stream is open only while there is a follower.
 */
export class EventHub {
  readonly #transport: Transport;
  readonly #sessionId: string;
  readonly #streams = new Set<SharedStream>();

  constructor(transport: Transport, sessionId: string) {
    this.#transport = transport;
    this.#sessionId = sessionId;
  }

  /** Tells a follower all after the cursor, until the returned function is called. */
  join(from: EventCursor, follower: Follower): () => void {
    for (const stream of this.#streams) {
      if (stream.has(from)) return stream.join(from, follower);
    }
    const stream: SharedStream = new SharedStream(from, () => this.#streams.delete(stream));
    this.#streams.add(stream);
    const leave = stream.join(from, follower);
    void stream.run(follow(this.#transport, this.#sessionId, from, stream.signal));
    return leave;
  }
}

class SharedStream {
  readonly #over: () => void;
  readonly #ending = new AbortController();
  /** With the last event that each has been told. */
  readonly #followers = new Map<Follower, number>();
  #recent: ReceivedEvent[] = [];
  /** Where the recent events begin. */
  #start: EventCursor;
  #epoch: string | null;
  #lastConnection: FollowedItem | null = null;

  constructor(start: EventCursor, over: () => void) {
    this.#start = start;
    this.#epoch = start.epoch;
    this.#over = over;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Whether a follower that begins there misses nothing. */
  has({ epoch, id }: EventCursor): boolean {
    const isThisLog = this.#epoch !== null && epoch === this.#epoch;
    return isThisLog && id >= this.#start.id && !this.signal.aborted;
  }

  join(from: EventCursor, follower: Follower): () => void {
    this.#followers.set(follower, from.id);
    if (this.#lastConnection !== null) follower.told(this.#lastConnection);
    for (const event of this.#recent) this.#tellEvent(follower, event);
    return () => {
      this.#followers.delete(follower);
      if (this.#followers.size === 0) this.#end();
    };
  }

  async run(items: AsyncIterable<FollowedItem>): Promise<void> {
    let why: unknown = null;
    try {
      for await (const item of items) this.#take(item);
    } catch (error) {
      why = error;
    }
    this.#end();
    for (const follower of [...this.#followers.keys()]) follower.ended(why);
    this.#followers.clear();
  }

  #take(item: FollowedItem) {
    if (item.kind === "event") {
      this.#epoch = item.cursor.epoch;
      this.#recent.push(item.event);
      if (this.#recent.length > RECENT_EVENTS_MAX) {
        const [dropped] = this.#recent.splice(0, 1);
        if (dropped !== undefined) this.#start = { ...item.cursor, id: dropped.id };
      }
      for (const follower of [...this.#followers.keys()]) this.#tellEvent(follower, item.event);
      return;
    }
    if (item.kind === "connection") this.#lastConnection = item;
    else {
      this.#recent = [];
      this.#start = item.cursor;
      this.#epoch = item.cursor.epoch;
    }
    for (const follower of [...this.#followers.keys()]) {
      if (item.kind === "resynced") this.#followers.set(follower, item.cursor.id);
      follower.told(item);
    }
  }

  #tellEvent(follower: Follower, event: ReceivedEvent) {
    if (event.id <= (this.#followers.get(follower) ?? Number.POSITIVE_INFINITY)) return;
    this.#followers.set(follower, event.id);
    follower.told({ kind: "event", event, cursor: { epoch: this.#epoch, id: event.id } });
  }

  #end() {
    this.#ending.abort();
    this.#over();
  }
}
