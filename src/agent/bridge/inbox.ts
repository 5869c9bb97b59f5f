import { AGENT_QUEUE_CHARS_MAX } from "../../core/limits.ts";

interface QueuedCall {
  readonly chars: number;
  readonly deliver: () => Promise<void> | undefined;
}

interface InboxEvents {
  /** The listener threw, or its promise was rejected. */
  failed(thrown: unknown): void;
  /** Too much came before the listener was there. */
  dropped(): void;
}

/**
 * What an agent said about one session, on its way to the session's listener: in order, one at a
 * time, the next when the listener's promise has resolved. Sessions of one process do not wait for
 * each other, until one has so much waiting that the connection must stop reading (P10).
 */
export class Inbox {
  readonly #events: InboxEvents;
  #mode: "held" | "open" | "hurried" | "closed" = "held";
  #queue: QueuedCall[] = [];
  #next = 0;
  #chars = 0;
  #isDelivering = false;
  #capacity: PromiseWithResolvers<void> | null = null;

  constructor(events: InboxEvents) {
    this.#events = events;
  }

  /**
   * The promise is open while there is too much. Before `open` there is no such promise, because
   * the answer that the server waits for comes behind what is added here; what is over the limit
   * is dropped then.
   */
  add(chars: number, deliver: QueuedCall["deliver"]): Promise<void> | undefined {
    if (this.#mode === "closed") return undefined;
    if (this.#mode === "held" && this.#chars + chars > AGENT_QUEUE_CHARS_MAX) {
      this.#events.dropped();
      return undefined;
    }
    this.#chars += chars;
    const call = { chars, deliver };
    // As a rule nothing waits, and a call need not wait either.
    if (this.#next === this.#queue.length && this.#mayDeliver) this.#deliver(call);
    else this.#queue.push(call);
    this.#deliverAll();
    if (this.#mode !== "open" || this.#chars <= AGENT_QUEUE_CHARS_MAX) return undefined;
    this.#capacity ??= Promise.withResolvers();
    return this.#capacity.promise;
  }

  /** From now on there is a listener. */
  open() {
    if (this.#mode === "held") this.#mode = "open";
    this.#deliverAll();
  }

  /** Delivers all that there is without waiting: the agent cannot be slowed down any more. */
  hurry() {
    if (this.#mode === "open") this.#mode = "hurried";
    this.#isDelivering = false;
    this.#deliverAll();
    this.#freeCapacity();
  }

  /** Drops what is not delivered yet. */
  empty() {
    this.#queue = [];
    this.#next = 0;
    this.#chars = 0;
    this.#freeCapacity();
  }

  close() {
    this.#mode = "closed";
    this.empty();
  }

  get #mayDeliver(): boolean {
    return !this.#isDelivering && (this.#mode === "open" || this.#mode === "hurried");
  }

  #deliverAll() {
    while (this.#mayDeliver) {
      const call = this.#queue[this.#next];
      if (call === undefined) return;
      this.#next += 1;
      this.#deliver(call);
    }
  }

  #deliver(call: QueuedCall) {
    try {
      const wait = call.deliver();
      if (wait === undefined) {
        this.#done(call);
        return;
      }
      this.#isDelivering = this.#mode === "open";
      if (!this.#isDelivering) this.#done(call);
      wait.then(
        () => this.#delivered(call),
        (thrown: unknown) => this.#events.failed(thrown),
      );
    } catch (thrown) {
      this.#events.failed(thrown);
    }
  }

  /** After `hurry` or `close` the queue goes on without this. */
  #delivered(call: QueuedCall) {
    if (this.#mode !== "open") return;
    this.#isDelivering = false;
    this.#done(call);
    this.#deliverAll();
  }

  #done({ chars }: QueuedCall) {
    this.#chars -= chars;
    // Frees what is delivered now and then, even if there is always more to come.
    if (this.#next > 0 && this.#next >= this.#queue.length / 2) {
      this.#queue = this.#queue.slice(this.#next);
      this.#next = 0;
    }
    if (this.#chars <= AGENT_QUEUE_CHARS_MAX) this.#freeCapacity();
  }

  #freeCapacity() {
    this.#capacity?.resolve();
    this.#capacity = null;
  }
}
