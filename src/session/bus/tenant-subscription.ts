import type { SessionId } from "../../core/id.ts";
import { TENANT_UPDATES_WAITING_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import { ChunkReader } from "./chunk-reader.ts";
import { batchOf, type Chunk, type Notice } from "./frame.ts";
import { replayComplete, streamRefused } from "./notice.ts";

/** One page of a tenant's sessions, each as the frame that tells of it. */
export interface SessionPage {
  readonly sessions: readonly { readonly sessionId: SessionId; readonly updated: Notice }[];
  readonly nextCursor: string | null;
}

interface Listing {
  readonly cursor: string | null;
}

export type ListSessions = (cursor: string | null) => Promise<Result<SessionPage>>;

/**
 * One open stream of a tenant's sessions. A session that changes twice before the reader comes is
 * told once, as it is then; and if more sessions have changed than may wait, the list begins
 * again. So a slow reader needs no eviction: it only hears less often.
 */
export class TenantSubscription implements AsyncIterableIterator<Chunk, undefined> {
  readonly #list: ListSessions;
  readonly #left: () => void;
  readonly #reader = new ChunkReader(() => this.#take());
  readonly #changed = new Map<SessionId, Notice>();
  /** Where the list goes on; null once it has been told to its end. */
  #listing: Listing | null = { cursor: null };
  #listedCount = 0;
  #last: Notice | null = null;
  #isEnding = false;

  constructor(list: ListSessions, left: () => void) {
    this.#list = list;
    this.#left = left;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Chunk, undefined>> {
    return this.#reader.next();
  }

  async return(): Promise<IteratorResult<Chunk, undefined>> {
    this.cancel();
    return { done: true, value: undefined };
  }

  cancel() {
    this.#left();
    this.#changed.clear();
    this.#reader.close();
  }

  changed(sessionId: SessionId, updated: Notice) {
    if (this.#changed.size >= TENANT_UPDATES_WAITING_MAX && !this.#changed.has(sessionId)) {
      this.#changed.clear();
      this.#listing = { cursor: null };
      this.#listedCount = 0;
    }
    this.#changed.set(sessionId, updated);
    this.#reader.wake();
  }

  end(last: Notice | null) {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#last = last;
    this.#left();
    this.#reader.wake();
  }

  #take(): Chunk | null | Promise<Chunk | null> {
    const news = this.#takeChanged();
    if (this.#isEnding) {
      const last = this.#last === null ? [] : [this.#last];
      this.#last = null;
      return news.length + last.length === 0 ? null : chunkOf([...news, ...last]);
    }
    return this.#listing === null ? chunkOf(news) : this.#takePage(this.#listing, news);
  }

  #takeChanged(): readonly Notice[] {
    const news = [...this.#changed.values()];
    this.#changed.clear();
    return news;
  }

  /** What changed before the page was read is told before it, and cannot be newer than it. */
  async #takePage(listing: Listing, before: readonly Notice[]): Promise<Chunk> {
    const page = await this.#list(listing.cursor);
    if (this.#isEnding || this.#listing !== listing) return chunkOf(before);
    if (!page.ok) {
      this.end(streamRefused(page.refusal));
      return chunkOf(before);
    }
    const { sessions, nextCursor } = page.value;
    this.#listing = nextCursor === null ? null : { cursor: nextCursor };
    // Of a session that changed while the page was read, the page may be the older witness.
    const rest = sessions.filter(({ sessionId }) => !this.#changed.has(sessionId));
    const listed = rest.map(({ updated }) => updated);
    this.#listedCount += sessions.length;
    const complete = replayComplete({ replayedCount: this.#listedCount });
    const end = nextCursor === null ? [complete] : [];
    return chunkOf([...before, ...listed, ...this.#takeChanged(), ...end]);
  }
}

function chunkOf(notices: readonly Notice[]): Chunk {
  return notices.length === 0 ? [] : [batchOf(notices)];
}
