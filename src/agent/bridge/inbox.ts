import { AGENT_QUEUE_CHARS_MAX } from "../../core/limits.ts";

interface Item {
  readonly chars: number;
  readonly tell: () => Promise<void> | undefined;
}

/** Whoever has an inbox hears of what cannot be told. */
interface InboxOwner {
  /** The listener threw, or its promise was broken. */
  failed(thrown: unknown): void;
  /** Too much came before anybody listened. */
  dropped(): void;
}

/**
 * What an agent said of one session, on its way to the session's listener: in order, one at a
 * time, the next when the listener's promise is kept. Sessions of one process do not wait for each
 * other, until so much has come together for one of them that nothing more may be read (P10).
 */
export class Inbox {
  readonly #owner: InboxOwner;
  #mode: "held" | "open" | "hurried" | "closed" = "held";
  #items: Item[] = [];
  #next = 0;
  #chars = 0;
  #isTelling = false;
  #room: PromiseWithResolvers<void> | null = null;

  constructor(owner: InboxOwner) {
    this.#owner = owner;
  }

  /**
   * Open while there is too much. What comes before anybody listens is never waited for, because
   * the answer that everybody waits for comes after it; beyond the limit it is dropped.
   */
  add(chars: number, tell: Item["tell"]): Promise<void> | undefined {
    if (this.#mode === "closed") return undefined;
    if (this.#mode === "held" && this.#chars + chars > AGENT_QUEUE_CHARS_MAX) {
      this.#owner.dropped();
      return undefined;
    }
    this.#items.push({ chars, tell });
    this.#chars += chars;
    this.#tellAll();
    if (this.#mode !== "open" || this.#chars <= AGENT_QUEUE_CHARS_MAX) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** From now on somebody listens. */
  open() {
    if (this.#mode === "held") this.#mode = "open";
    this.#tellAll();
  }

  /** Nothing can be slowed down any more: all that there is is told, and nobody waited for. */
  hurry() {
    if (this.#mode === "open") this.#mode = "hurried";
    this.#isTelling = false;
    this.#tellAll();
    this.#makeRoom();
  }

  /** Forgets what nobody has heard yet. */
  empty() {
    this.#items = [];
    this.#next = 0;
    this.#chars = 0;
    this.#makeRoom();
  }

  close() {
    this.#mode = "closed";
    this.empty();
  }

  #tellAll() {
    while (!this.#isTelling && (this.#mode === "open" || this.#mode === "hurried")) {
      const item = this.#items[this.#next];
      if (item === undefined) return;
      this.#next += 1;
      this.#tell(item);
    }
  }

  #tell(item: Item) {
    try {
      const wait = item.tell();
      if (wait === undefined) {
        this.#done(item);
        return;
      }
      this.#isTelling = this.#mode === "open";
      if (!this.#isTelling) this.#done(item);
      wait.then(
        () => this.#told(item),
        (thrown: unknown) => this.#owner.failed(thrown),
      );
    } catch (thrown) {
      this.#owner.failed(thrown);
    }
  }

  /** Unless somebody was in a hurry meanwhile, the next one's turn has come. */
  #told(item: Item) {
    if (this.#mode !== "open") return;
    this.#isTelling = false;
    this.#done(item);
    this.#tellAll();
  }

  #done({ chars }: Item) {
    this.#chars -= chars;
    // What was told is let go of now and then, even if there is always more to come.
    if (this.#next >= this.#items.length / 2) {
      this.#items = this.#items.slice(this.#next);
      this.#next = 0;
    }
    if (this.#chars <= AGENT_QUEUE_CHARS_MAX) this.#makeRoom();
  }

  #makeRoom() {
    this.#room?.resolve();
    this.#room = null;
  }
}
