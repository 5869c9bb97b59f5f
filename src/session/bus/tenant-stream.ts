import type { SessionId, UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  TENANT_SUBSCRIBERS_MAX,
  TENANT_UPDATES_WAITING_MAX,
  TENANT_WARNINGS_WAITING_MAX,
} from "../../core/limits.ts";
import { isPermitted, type Role } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { SessionEvent } from "../../core/session/event.ts";
import { type Audience, isVisibleTo } from "../../core/session/visibility.ts";
import { isShareUsedUp } from "../../core/share.ts";
import type { DiskFigures } from "../tenant/tenant-disk.ts";
import { ChunkReader } from "./chunk-reader.ts";
import {
  batchOf,
  type Chunk,
  type Notice,
  notice,
  replayComplete,
  streamRefused,
} from "./frame.ts";
import { ownStreams } from "./session-bus.ts";

/** The whole state of a session, as lists show it. */
export interface ListedSession {
  readonly sessionId: SessionId;
  readonly state: JsonObject;
  /** Who is told of it, beside owners. */
  readonly audience: Audience;
}

/** Whole states, so that hearing one twice does no harm, and hearing only the last is enough. */
export function sessionUpdated({ sessionId, state }: ListedSession): Notice {
  // The published state machine calls the id `id`, the wire's lists `sessionId`.
  return notice("session_updated", { session: { id: sessionId, ...state } });
}

/** Who reads a tenant's stream. */
export interface TenantReader {
  readonly userId: UserId | null;
  readonly role: Role;
}

type WarningData = SessionEvent<"credits_warning">["data"];

/**
 * A budget of the tenant or of a user is no matter of one session, whose reader may not be the
 * same: the session that passed the line is not named.
 */
function warningNotice({ sessionId, ...warning }: WarningData): Notice {
  const where = warning.scope === "session" ? { sessionId } : {};
  return notice("credits_warning", { ...where, ...warning });
}

/**
 * A session's budget concerns those who see the session; others those who may read the tenant's
 * credits, and the user whose budget it is.
 */
function concerns(warning: WarningData, audience: Audience, reader: TenantReader): boolean {
  const { scope, userId } = warning;
  if (scope === "session") return isVisibleTo(audience, reader);
  if (isPermitted(reader.role, "credits:read")) return true;
  return userId !== undefined && userId === reader.userId;
}

/**
 * Tells a tenant's consoles what its sessions are doing: all of them to begin with, and then each
 * that changes. Its frames have no ids and cannot be resumed; a client that comes back begins
 * again. What is told is durable (P1): it is given here when it has been published.
 */
export class TenantStream {
  readonly #subscriptions = new Set<TenantSubscription>();
  #isEnded = false;

  get subscriberCount(): number {
    return this.#subscriptions.size;
  }

  /**
   * A session is like this now, and had this audience before: to those who lost it, it is deleted.
   * Without subscribers nothing is written.
   */
  update(summary: ListedSession, before = summary.audience) {
    if (this.#subscriptions.size === 0) return;
    const { sessionId, audience } = summary;
    const updated = sessionUpdated(summary);
    for (const one of this.#subscriptions) {
      if (isVisibleTo(audience, one.reader)) one.changed(sessionId, updated);
      else if (isVisibleTo(before, one.reader)) one.changed(sessionId, removed(sessionId));
    }
  }

  /** A session is there no more that had this audience. */
  remove(sessionId: SessionId, audience: Audience) {
    for (const one of this.#subscriptions) {
      if (isVisibleTo(audience, one.reader)) one.changed(sessionId, removed(sessionId));
    }
  }

  /** Nearly all of a budget is used, as the log of a session of this audience says now. */
  warn(warning: WarningData, audience: Audience) {
    const { scope, period = "total", userId, sessionId } = warning;
    const whose = scope === "session" ? sessionId : (userId ?? "");
    for (const one of this.#subscriptions) {
      if (!concerns(warning, audience, one.reader)) continue;
      one.warned(`${scope} ${period} ${whose}`, warningNotice(warning));
    }
  }

  /** Those are told who may read what the tenant uses. */
  warnOfDisk(figures: DiskFigures) {
    for (const one of this.#subscriptions) {
      if (!isPermitted(one.reader.role, "credits:read")) continue;
      one.warned("disk", notice("disk_warning", { ...figures }));
    }
  }

  subscribe(list: ListSessions, reader: TenantReader): Result<TenantSubscription> {
    const limit = TENANT_SUBSCRIBERS_MAX;
    if (this.#subscriptions.size >= limit) return fail("subscriber_limit_exceeded", { limit });
    const readers = [...this.#subscriptions].map((one) => one.reader);
    const own = ownStreams(readers, reader.userId);
    if (isShareUsedUp(own, limit - this.#subscriptions.size)) {
      return fail("subscriber_limit_exceeded", { limit: own, scope: "user" });
    }
    const subscription = new TenantSubscription(list, reader, () => {
      this.#subscriptions.delete(subscription);
    });
    if (this.#isEnded) subscription.end(null);
    else this.#subscriptions.add(subscription);
    return ok(subscription);
  }

  /** The server stops, or the tenant is gone: each stream gets a last word, if there is one. */
  end(last: Notice | null) {
    this.#isEnded = true;
    for (const one of this.#subscriptions) one.end(last);
  }
}

function removed(sessionId: SessionId): Notice {
  return notice("session_deleted", { sessionId });
}

/** One page of a tenant's sessions, each as the frame that tells of it. */
export interface SessionPage {
  readonly sessions: readonly { readonly sessionId: SessionId; readonly updated: Notice }[];
  readonly nextCursor: string | null;
}

interface ListedPage {
  readonly cursor: string | null;
}

export type ListSessions = (cursor: string | null) => Promise<Result<SessionPage>>;

/**
 * One open stream of a tenant's sessions. A session that changes twice before the reader comes is
 * told once, as it is then; and if more sessions have changed than may wait, the list begins
 * again. So a slow reader needs no eviction: it only hears less often.
 */
export class TenantSubscription implements AsyncIterableIterator<Chunk, undefined> {
  readonly reader: TenantReader;
  readonly #list: ListSessions;
  readonly #left: () => void;
  readonly #reader = new ChunkReader(() => this.#take());
  readonly #changed = new Map<SessionId, Notice>();
  /** The last one of each budget. */
  readonly #warnings = new Map<string, Notice>();
  /** Where the list goes on; null once it has been told to its end. */
  #listing: ListedPage | null = { cursor: null };
  #listedCount = 0;
  #last: Notice | null = null;
  #isEnding = false;

  constructor(list: ListSessions, reader: TenantReader, left: () => void) {
    this.reader = reader;
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
    this.#warnings.clear();
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

  warned(budget: string, warning: Notice) {
    this.#warnings.delete(budget);
    const [first] = this.#warnings.keys();
    const isFull = this.#warnings.size >= TENANT_WARNINGS_WAITING_MAX;
    if (isFull && first !== undefined) this.#warnings.delete(first);
    this.#warnings.set(budget, warning);
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
    const news = [...this.#changed.values(), ...this.#warnings.values()];
    this.#changed.clear();
    this.#warnings.clear();
    return news;
  }

  /** What changed before the page was read is told before it, and cannot be newer than it. */
  async #takePage(listing: ListedPage, before: readonly Notice[]): Promise<Chunk> {
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
