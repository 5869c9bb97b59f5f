import type { Refusal } from "../core/error.ts";
import type { PromptId, SessionId, TenantId } from "../core/id.ts";
import { ok, type Result } from "../core/result.ts";
import { eventIs } from "../core/session/event-table.ts";
import type { SessionState } from "../core/status.ts";
import type { SessionKey, SessionRecord } from "../store/store.ts";
import { recordOf } from "./actor/record.ts";
import type { Written } from "./actor/written.ts";
import { frameOf, type Notice } from "./bus/frame.ts";
import { streamError } from "./bus/notice.ts";
import { Outlet } from "./bus/outlet.ts";
import { SessionBus } from "./bus/session-bus.ts";
import type { SubscribeRequest, Subscription } from "./bus/subscription.ts";
import { type SessionSummary, sessionUpdated, TenantStream } from "./bus/tenant-stream.ts";
import type { TenantSubscription } from "./bus/tenant-subscription.ts";
import type { LiveOwner, LiveSession } from "./live.ts";
import { isUnfinishedFork } from "./side/fork-draft.ts";
import type { SessionWorld } from "./world.ts";

const TENANT_PAGE = 200;

/** What a list shows of a session, stored or live. */
function summaryOf(row: SessionRecord & { readonly sessionId: SessionId }): SessionSummary {
  const { sessionId, workspaceCwd, status, displayName, closed, pendingPrompts, updatedAtMs } = row;
  const state = {
    sessionId,
    workspaceCwd,
    status,
    displayName,
    closed,
    pendingPrompts,
    updatedAtMs,
  };
  return { sessionId, state };
}

/** What the last server left at work does not work any more, whatever its record says (P5). */
function atRest(status: SessionState): SessionState {
  return status === "error" ? "error" : "inactive";
}

const SHUTTING_DOWN = streamError("The server is shutting down.", "daemon_shutdown");
const TENANT_DELETING = streamError("The tenant is being deleted.", "tenant_deleting");
const TENANT_DELETED = streamError("The tenant was deleted.", "tenant_deleted");

/** The streams of all live sessions, and of their tenants: what is durable goes out here. */
export class SessionStreams implements Omit<LiveOwner, "commandNext"> {
  readonly #world: SessionWorld;
  readonly #outlets = new Map<LiveSession, Outlet>();
  readonly #buses = new Map<LiveSession, SessionBus>();
  readonly #tenants = new Map<TenantId, TenantStream>();
  #isStopping = false;

  constructor(world: SessionWorld) {
    this.#world = world;
  }

  /** Resolves when streams may have all that is durable now. */
  async caughtUp(live: LiveSession): Promise<void> {
    await this.#outlets.get(live)?.caughtUp();
  }

  subscribe(live: LiveSession, request: SubscribeRequest): Result<Subscription> {
    const { store } = this.#world;
    const { key } = live;
    const readPast = (after: number, limit: number) => store.readEvents(key, { after, limit });
    return this.#busOf(live).subscribe(request, { readPast });
  }

  /** All sessions of a tenant as they are, and then each that changes. */
  watchTenant(
    tenantId: TenantId,
    isLive: (sessionId: SessionId) => boolean,
  ): Result<TenantSubscription> {
    const stream = this.#tenants.get(tenantId) ?? new TenantStream();
    this.#tenants.set(tenantId, stream);
    return stream.subscribe(async (cursor) => {
      const page = await this.#world.store.list(tenantId, {}, { limit: TENANT_PAGE, cursor });
      if (!page.ok) return page;
      const { sessions, nextCursor } = page.value;
      const told = sessions
        .filter((row) => !isUnfinishedFork(row))
        .map((row) => {
          const { sessionId } = row;
          const shown = isLive(sessionId) ? row : { ...row, status: atRest(row.status) };
          return { sessionId, updated: sessionUpdated(summaryOf(shown)) };
        });
      return ok({ sessions: told, nextCursor });
    });
  }

  /** Nobody will hear of this session again. */
  deleted({ tenantId, sessionId }: SessionKey) {
    this.#tenants.get(tenantId)?.remove(sessionId);
  }

  /** Keeps a prompt's verdict back until what is returned is called, or too much time passes. */
  holdVerdict(live: LiveSession, promptId: PromptId): () => void {
    return this.#outletOf(live).hold(promptId);
  }

  published(live: LiveSession, written: readonly Written[]) {
    this.#tellTenant(live, written);
    const outlet = this.#outlets.get(live);
    if (outlet === undefined) this.#tellStreams(live, written);
    else outlet.publish(written);
  }

  #tellStreams(live: LiveSession, written: readonly Written[]) {
    const bus = this.#buses.get(live);
    if (bus === undefined || written.length === 0) return;
    const terminal = written.findLast(({ event }) => eventIs(event, "terminal"));
    bus.publish(written.map(frameOf), terminal?.id ?? null);
  }

  interrupted(live: LiveSession, why: Refusal) {
    this.#endStreams(live, streamError("The session store failed; connect again.", why.code));
  }

  /** A stream outlives the session in memory only if somebody opens the two again. */
  released(live: LiveSession) {
    const stopping = this.#isStopping ? SHUTTING_DOWN : null;
    // It may still turn out that its tenant cannot be deleted, so nobody is told that it was (P1).
    const isDoomed = this.#world.tenants.isClosed(live.key.tenantId);
    this.#endStreams(live, isDoomed ? TENANT_DELETING : stopping);
  }

  #endStreams(live: LiveSession, last: Notice | null) {
    this.#outlets.get(live)?.flush();
    this.#outlets.delete(live);
    this.#buses.get(live)?.end(last);
    this.#buses.delete(live);
  }

  /** Lists change with few events; without any, the session has been opened again. */
  #tellTenant(live: LiveSession, written: readonly Written[]) {
    const stream = this.#tenants.get(live.key.tenantId);
    const isNews = written.length === 0 || written.some(({ event }) => eventIs(event, "listed"));
    if (stream === undefined || !isNews) return;
    const { sessionId } = live.key;
    stream.update(summaryOf({ sessionId, ...recordOf(live.session, this.#world.clock.nowMs()) }));
  }

  isWatched(live: LiveSession): boolean {
    return (this.#buses.get(live)?.subscriberCount ?? 0) > 0;
  }

  /** From now on streams end because the server does. */
  stop() {
    this.#isStopping = true;
  }

  endTenants() {
    for (const stream of this.#tenants.values()) stream.end(SHUTTING_DOWN);
  }

  /**
   * The tenant is deleted; one of the same name that comes after it has a stream of its own. If the
   * store failed over it, it may be gone or not: whoever comes back is told.
   */
  endTenant(tenantId: TenantId, failure: Refusal | null) {
    const unknown = failure && streamError("The tenant may be gone; connect again.", failure.code);
    this.#tenants.get(tenantId)?.end(unknown ?? TENANT_DELETED);
    this.#tenants.delete(tenantId);
  }

  #busOf(live: LiveSession): SessionBus {
    const known = this.#buses.get(live);
    if (known !== undefined) return known;
    const nowMs = () => this.#world.clock.nowMs();
    const lastEventId = this.publishedThrough(live);
    const bus = new SessionBus({ epoch: live.epoch, lastEventId }, nowMs);
    this.#buses.set(live, bus);
    return bus;
  }

  #outletOf(live: LiveSession): Outlet {
    const known = this.#outlets.get(live);
    if (known !== undefined) return known;
    const outlet = new Outlet(this.#world.clock, (written) => this.#tellStreams(live, written));
    this.#outlets.set(live, outlet);
    return outlet;
  }

  /** The last event that streams may have; what is durable may be a moment ahead of it. */
  publishedThrough(live: LiveSession): number {
    return live.lastEventId - (this.#outlets.get(live)?.waitingCount ?? 0);
  }
}

/** What sessions tell goes to the streams, and their commands to whoever carries them out. */
export function ownedBy(streams: SessionStreams, commandNext: LiveOwner["commandNext"]): LiveOwner {
  return {
    published: (live, written) => streams.published(live, written),
    interrupted: (live, why) => streams.interrupted(live, why),
    released: (live) => streams.released(live),
    commandNext,
  };
}
