import { type AskId, parseSessionId, type SessionId } from "../core/id.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { Actor } from "../core/session/command.ts";
import { pendingCount } from "../core/session/state.ts";
import { hasTurn } from "../core/status.ts";
import type { ListFilter, Listing, ListPage, StoredRecord } from "../store/store.ts";
import { type JoinedSession, KnownSession, SessionAccess, type Viewer } from "./access.ts";
import type { SessionCreation } from "./actor/open.ts";
import {
  type AuditFileFormat,
  type AuditFilter,
  type AuditPage,
  WHOLE_AUDIT,
} from "./audit/audit-view.ts";
import type { TenantSubscription } from "./bus/tenant-stream.ts";
import type { SessionHost } from "./host.ts";
import type { LiveSession } from "./live.ts";
import { PolicyAccess } from "./tenant/policy-access.ts";
import { summaryOfLive, summaryOfStored } from "./view/summary.ts";
import type { SessionWorld } from "./world.ts";

/** What a new session is made with. */
export interface SessionOptions {
  readonly sessionId: SessionId;
  readonly creation: Omit<SessionCreation, "storeId">;
  /** The request names no autonomy: that of the tenant's settings is lowered to what is allowed. */
  readonly isUsualAutonomy?: boolean;
  readonly actor: Actor;
}

/**
 * The door: the sessions of a server as callers may see them. A front names the viewer and gets a
 * session to work with, or the answer for a missing one; there is no other way to a session (P8).
 */
export class SessionService {
  readonly #world: SessionWorld;
  readonly #host: SessionHost;
  /** What the owners of a tenant allow its users. */
  readonly policy: PolicyAccess;

  constructor(world: SessionWorld, host: SessionHost) {
    this.#world = world;
    this.policy = new PolicyAccess(world);
    this.#host = host;
  }

  /** The agents that a session can be given, by name. */
  get agentNames(): readonly string[] {
    return this.#world.settings.agentNames;
  }

  get defaultAgent(): string {
    return this.#world.settings.defaultAgent;
  }

  /** How far the recovery after the start has come; sessions can be used meanwhile. */
  get recovery() {
    return this.#host.recovery;
  }

  /** Makes a session or joins the shared one; its agent is there with the answer. */
  async create(viewer: Viewer, request: SessionOptions): Promise<Result<JoinedSession>> {
    const { sessionId, actor, isUsualAutonomy = false } = request;
    const creation = { ...request.creation, storeId: this.#world.store.contract.storeId };
    const key = { tenantId: viewer.tenantId, sessionId };
    const joined = await this.#host.create({ key, creation, actor, isUsualAutonomy });
    if (!joined.ok) return joined;
    const { live, ...how } = joined.value;
    return ok({ ...how, session: this.#access(live, viewer) });
  }

  /**
   * The session, opened from the store if it is not live. It is not found if it was closed on
   * request and not loaded since. An impossible id is answered like that of an absent session.
   */
  async find(viewer: Viewer, id: string): Promise<Result<SessionAccess>> {
    const sessionId = parseSessionId(id);
    if (sessionId === null) return fail("session_not_found", { sessionId: id });
    const found = await this.#host.find({ tenantId: viewer.tenantId, sessionId });
    return found.ok ? ok(this.#access(found.value, viewer)) : found;
  }

  /** The session, also a closed one; nothing is opened for it. */
  async known(viewer: Viewer, id: string): Promise<Result<KnownSession>> {
    const sessionId = parseSessionId(id);
    if (sessionId === null) return fail("session_not_found", { sessionId: id });
    const key = { tenantId: viewer.tenantId, sessionId };
    if (this.#host.peek(key) !== null) return ok(new KnownSession(this.#host, key, viewer));
    const record = await this.#host.reads.record(key);
    // What is damaged can be deleted.
    if (!record.ok && record.refusal.code !== "session_corrupt") return record;
    return ok(new KnownSession(this.#host, key, viewer, record));
  }

  /** The live session in which this ask is open, or was resolved recently. */
  asking(viewer: Viewer, requestId: AskId): SessionAccess | null {
    const asking = this.#liveFor(viewer).find(({ session }) => {
      const open = session.connection.turn.openAsks;
      return open.has(requestId) || session.resolvedAsks.has(requestId);
    });
    return asking === undefined ? null : this.#access(asking, viewer);
  }

  /** A page of stored sessions, without forks that are not finished. */
  list({ tenantId }: Viewer, filter: ListFilter, page: ListPage): Promise<Result<Listing>> {
    return this.#host.reads.list(tenantId, filter, page);
  }

  /** A session of a list, with what is known of it in memory. */
  summaryOf({ tenantId }: Viewer, record: StoredRecord) {
    const live = this.#host.peek({ tenantId, sessionId: record.sessionId });
    return live === null ? summaryOfStored(record) : summaryOfLive(live);
  }

  /** How many sessions of a workspace are live. */
  liveCount(viewer: Viewer, workspaceCwd: string): number {
    return this.#liveFor(viewer).filter(({ session }) => {
      return session.fixed.workspaceCwd === workspaceCwd && !session.closed;
    }).length;
  }

  /** Figures of the live sessions of a viewer; null is all of all tenants, for the operator. */
  activity(viewer: Viewer | null) {
    const all = viewer === null ? this.#host.live : this.#liveFor(viewer);
    const states = all.map(({ session }) => session.connection.sessionState);
    return {
      sessions: all.length,
      openAsks: all.reduce((sum, { session }) => sum + session.connection.turn.openAsks.size, 0),
      activePrompts: all.filter(({ session }) => pendingCount(session) > 0).length,
      hasAgent: states.some((state) => state === "ready" || hasTurn(state)),
      /** When a client was last seen in any of them; 0 is never. */
      activeMs: all.reduce((last, { attendance }) => Math.max(last, attendance.activeMs), 0),
    };
  }

  /** All sessions as they are, and then each that changes. */
  watch(viewer: Viewer): Result<TenantSubscription> {
    return this.#host.watchTenant(viewer.tenantId, viewer);
  }

  audit({ tenantId }: Viewer, filter: AuditFilter, range: AuditRange): Promise<Result<AuditPage>> {
    return this.#host.reads.audit(tenantId, filter, range);
  }

  /**
   * The audit of one session. It outlives the session: there is none only if there is neither a
   * session nor an entry.
   */
  async auditOf(viewer: Viewer, id: string, range: AuditRange): Promise<Result<AuditPage>> {
    const sessionId = parseSessionId(id);
    if (sessionId === null) return fail("session_not_found", { sessionId: id });
    const page = await this.audit(viewer, { ...WHOLE_AUDIT, sessionId }, range);
    if (!page.ok || page.value.entries.length > 0 || page.value.nextBefore !== null) return page;
    const known = await this.known(viewer, sessionId);
    const record = known.ok ? await known.value.record() : known;
    return record.ok ? page : record;
  }

  auditFile({ tenantId }: Viewer, filter: AuditFilter, format: AuditFileFormat) {
    return this.#host.reads.auditFile(tenantId, filter, format);
  }

  /** Deletes the viewer's tenant with all that it has. */
  removeTenant({ tenantId, userId }: Viewer): Promise<Result<void>> {
    return this.#host.removeTenant(tenantId, userId ?? "an owner without a name");
  }

  #access(live: LiveSession, viewer: Viewer): SessionAccess {
    return new SessionAccess(this.#host, live, viewer);
  }

  #liveFor({ tenantId }: Viewer): readonly LiveSession[] {
    return this.#host.live.filter(({ key }) => key.tenantId === tenantId);
  }
}

interface AuditRange {
  readonly before: number | null;
  readonly limit: number;
}
