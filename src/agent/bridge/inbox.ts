import { AGENT_QUEUE_CHARS_MAX } from "../../core/limits.ts";

interface Delivery {
  readonly chars: number;
  readonly deliver: () => Promise<void> | undefined;
}

interface InboxOwner {
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
  readonly #owner: InboxOwner;
  #mode: "held" | "open" | "hurried" | "closed" = "held";
  #queue: Delivery[] = [];
  #next = 0;
  #chars = 0;
  #isDelivering = false;
  #capacity: PromiseWithResolvers<void> | null = null;

  constructor(owner: InboxOwner) {
    this.#owner = owner;
  }

  /**
   * The promise is open while there is too much. Before `open` there is no such promise, because
   * the answer that the server waits for comes behind what is added here; what is over the limit
   * is dropped then.
   */
  add(chars: number, deliver: Delivery["deliver"]): Promise<void> | undefined {
    if (this.#mode === "closed") return undefined;
    if (this.#mode === "held" && this.#chars + chars > AGENT_QUEUE_CHARS_MAX) {
      this.#owner.dropped();
      return undefined;
    }
    this.#queue.push({ chars, deliver });
    this.#chars += chars;
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

  #deliverAll() {
    while (!this.#isDelivering && (this.#mode === "open" || this.#mode === "hurried")) {
      const delivery = this.#queue[this.#next];
      if (delivery === undefined) return;
      this.#next += 1;
      this.#deliver(delivery);
    }
  }

  #deliver(delivery: Delivery) {
    try {
      const wait = delivery.deliver();
      if (wait === undefined) {
        this.#done(delivery);
        return;
      }
      this.#isDelivering = this.#mode === "open";
      if (!this.#isDelivering) this.#done(delivery);
      wait.then(
        () => this.#delivered(delivery),
        (thrown: unknown) => this.#owner.failed(thrown),
      );
    } catch (thrown) {
      this.#owner.failed(thrown);
    }
  }

  /** After `hurry` or `close` the queue goes on without this. */
  #delivered(delivery: Delivery) {
    if (this.#mode !== "open") return;
    this.#isDelivering = false;
    this.#done(delivery);
    this.#deliverAll();
  }

  #done({ chars }: Delivery) {
    this.#chars -= chars;
    // Frees what is delivered now and then, even if there is always more to come.
    if (this.#next >= this.#queue.length / 2) {
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
