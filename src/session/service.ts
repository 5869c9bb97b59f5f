import { type ErrorCode, type Refusal, refusal } from "../core/error.ts";
import { type AskId, parseSessionId, type SessionId } from "../core/id.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { Actor } from "../core/session/command.ts";
import { parseSessionName } from "../core/session/name.ts";
import { pendingCount } from "../core/session/state.ts";
import { audienceOf, isVisibleTo, type Viewer } from "../core/session/visibility.ts";
import { hasTurn } from "../core/status.ts";
import type {
  FoundPage,
  ListFilter,
  Listing,
  ListPage,
  SearchRequest,
  SessionKey,
  StoredRecord,
} from "../store/store.ts";
import type { ListedAsk } from "../wire/session-summary.ts";
import { type JoinedSession, KnownSession, SessionAccess } from "./access.ts";
import type { SessionCreation } from "./actor/open.ts";
import {
  type AuditFileFormat,
  type AuditFilter,
  type AuditPage,
  type AuditRange,
  WHOLE_AUDIT,
} from "./audit/audit-view.ts";
import { SessionSight } from "./audit/sight.ts";
import { visibleFilter } from "./bus/streams.ts";
import type { TenantSubscription } from "./bus/tenant-stream.ts";
import type { SessionHost } from "./host.ts";
import type { LiveSession } from "./live.ts";
import type { SessionNames } from "./name/session-names.ts";
import {
  type AdoptionRequest,
  Adoptions,
  type OwnSession,
  type OwnSessionsQuery,
} from "./side/adoption.ts";
import { PolicyAccess } from "./tenant/policy-access.ts";
import { openAsksOf, summaryOfLive, summaryOfStored } from "./view/summary.ts";
import type { SessionWorld } from "./world.ts";

/** What a new session is made with. */
export interface SessionOptions {
  readonly sessionId: SessionId;
  readonly creation: Omit<SessionCreation, "storeId">;
  /** The request names no autonomy: that of the tenant's settings is lowered to what is allowed. */
  readonly isUsualAutonomy?: boolean;
  /** The model that the request sets once the session exists, if it names one. */
  readonly modelId?: string | null;
  readonly actor: Actor;
}

/**
 * The door: the sessions of a server as callers may see them. A front names the viewer and gets a
 * session to work with, or the answer for a missing one; there is no other way to a session (P8).
 */
export class SessionService {
  readonly #world: SessionWorld;
  readonly #host: SessionHost;
  readonly #adoptions: Adoptions;
  readonly #names: SessionNames;
  /** What the owners of a tenant allow its users. */
  readonly policy: PolicyAccess;

  constructor(world: SessionWorld, host: SessionHost) {
    this.#world = world;
    this.policy = new PolicyAccess(world);
    this.#host = host;
    this.#names = host.choices.names;
    this.#adoptions = new Adoptions(world, host);
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

  /** Makes a session or joins the viewer's shared one; its agent is there with the answer. */
  async create(viewer: Viewer, request: SessionOptions): Promise<Result<JoinedSession>> {
    const { sessionId, actor, isUsualAutonomy = false, modelId = null } = request;
    const creation = { ...request.creation, storeId: this.#world.store.contract.storeId };
    const key = { tenantId: viewer.tenantId, sessionId };
    const made = () => this.#host.create({ key, creation, actor, isUsualAutonomy, modelId });
    const joined = await this.#named(viewer, { sessionId, ...creation }, made);
    if (!joined.ok)
      return { ok: false, refusal: await this.#discreet(joined.refusal, key, viewer) };
    const { live, ...how } = joined.value;
    return ok({ ...how, session: this.#access(live, viewer) });
  }

  /** Sessions that an agent has made without the server, in a workspace of the viewer. */
  agentSessions(viewer: Viewer, query: OwnSessionsQuery): Promise<Result<readonly OwnSession[]>> {
    return this.#adoptions.list(viewer, query);
  }

  /** Makes a session that goes on from one of its agent's own. */
  async adopt(
    viewer: Viewer,
    { sessionId, actor, isUsualAutonomy = false, creation: wanted }: SessionOptions,
    own: Pick<AdoptionRequest, "agentSessionId" | "isOperator">,
  ): Promise<Result<JoinedSession>> {
    const creation = { ...wanted, storeId: this.#world.store.contract.storeId };
    const key = { tenantId: viewer.tenantId, sessionId };
    const request = { key, creation, actor, isUsualAutonomy, ...own };
    const made = () => this.#adoptions.adopt(viewer, request);
    const adopted = await this.#named(viewer, { sessionId, ...creation }, made);
    if (!adopted.ok) {
      return { ok: false, refusal: await this.#discreet(adopted.refusal, key, viewer) };
    }
    const { live, ...how } = adopted.value;
    return ok({ ...how, session: this.#access(live, viewer) });
  }

  /** Makes a session, under the name that it is to have if it is to have one. */
  #named<Value>(
    viewer: Viewer,
    { sessionId, name, visibility = "tenant", sharedWith = [] }: NewlyNamed,
    make: () => Promise<Result<Value>>,
  ): Promise<Result<Value>> {
    if (name === undefined) return make();
    const audience = audienceOf({ visibility, sharedWith }, viewer.userId ?? undefined);
    return this.#names.give(viewer, { sessionId, name, audience }, make);
  }

  /** That an id is taken cannot be kept from its caller; what has it can, and in what state. */
  async #discreet(why: Refusal, key: SessionKey, viewer: Viewer): Promise<Refusal> {
    if (why.code !== "session_id_conflict") return why;
    const seen = await this.#seen(key, viewer);
    return seen.ok ? why : refusal(why.code, { sessionId: key.sessionId });
  }

  /**
   * The session, opened from the store if it is not live. It is not found if the viewer does not
   * see it, or if it was closed on request and not loaded since.
   */
  async find(viewer: Viewer, id: string): Promise<Result<SessionAccess>> {
    const named = await this.#keyOf(viewer, id);
    if (!named.ok) return named;
    const key = named.value;
    // Whether it can be opened tells that it is there, so the viewer comes first (P8).
    if (viewer.role !== "owner") {
      const seen = await this.#seen(key, viewer);
      if (!seen.ok) return seen;
    }
    const found = await this.#host.find(key);
    if (!found.ok) return found;
    return isSeenBy(viewer, found.value) ? ok(this.#access(found.value, viewer)) : notFound(id);
  }

  /** The session, also a closed one; nothing is opened for it. */
  async known(viewer: Viewer, id: string): Promise<Result<KnownSession>> {
    const named = await this.#keyOf(viewer, id);
    if (!named.ok) return named;
    const key = named.value;
    const seen = await this.#seen(key, viewer);
    return seen.ok ? ok(new KnownSession(this.#host, key, viewer, seen.value)) : seen;
  }

  /**
   * The record of a session that the viewer sees; null if it is live, which needs no read. One that
   * is damaged can be deleted, by owners: who else saw it is not known.
   */
  async #seen(key: SessionKey, viewer: Viewer): Promise<Result<Result<StoredRecord> | null>> {
    const { sessionId } = key;
    const live = this.#host.peek(key);
    if (live !== null) return isSeenBy(viewer, live) ? ok(null) : notFound(sessionId);
    const record = await this.#host.reads.record(key);
    const isOwner = viewer.role === "owner";
    if (record.ok) {
      return isVisibleTo(record.value.audience, viewer) ? ok(record) : notFound(sessionId);
    }
    const { code } = record.refusal;
    if (code === "session_corrupt" && isOwner) return ok(record);
    return !isOwner && UNREADABLE.has(code) ? notFound(sessionId) : record;
  }

  /** The live session in which this ask is open, or was resolved recently. */
  asking(viewer: Viewer, requestId: AskId): SessionAccess | null {
    const asking = this.#liveFor(viewer).find(({ session }) => {
      const open = session.connection.turn.openAsks;
      return open.has(requestId) || session.resolvedAsks.has(requestId);
    });
    return asking === undefined ? null : this.#access(asking, viewer);
  }

  /** A page of the sessions that the viewer sees, without forks that are not finished. */
  async list(viewer: Viewer, filter: ListFilter, page: ListPage): Promise<Result<Listing>> {
    const seen = { ...filter, ...visibleFilter(viewer) };
    const listed = await this.#host.reads.list(viewer.tenantId, seen, page);
    // Who saw a damaged one is not known.
    return listed.ok && viewer.role !== "owner" ? ok({ ...listed.value, damaged: [] }) : listed;
  }

  /** A page of what was said in the sessions that the viewer sees, the newest first. */
  search(viewer: Viewer, request: SearchRequest, page: ListPage): Promise<Result<FoundPage>> {
    return this.#host.reads.search(viewer, request, page);
  }

  /** A session of a list, with what is known of it in memory. */
  summaryOf({ tenantId }: Viewer, record: StoredRecord) {
    const live = this.#host.peek({ tenantId, sessionId: record.sessionId });
    return live === null ? summaryOfStored(record) : summaryOfLive(live);
  }

  /** What waits for a person in the sessions that the viewer sees, the oldest first. */
  openAsks(viewer: Viewer): readonly ListedAsk[] {
    const all = this.#liveFor(viewer).flatMap(({ session }) => openAsksOf(session));
    const placeOf = ({ createdAt, requestId }: ListedAsk) => `${createdAt} ${requestId}`;
    return all.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
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

  /** All sessions that the viewer sees as they are, and then each that changes. */
  watch(viewer: Viewer): Result<TenantSubscription> {
    return this.#host.watchTenant(viewer);
  }

  /** Which sessions the viewer sees, for one report that names many. */
  sightOf(viewer: Viewer): SessionSight {
    const { tenantId } = viewer;
    const peek = (sessionId: SessionId) => this.#host.peek({ tenantId, sessionId });
    return new SessionSight(this.#world.store, viewer, peek);
  }

  /** The audit of a tenant, without entries of sessions that the viewer does not see. */
  audit(viewer: Viewer, filter: AuditFilter, range: AuditRange): Promise<Result<AuditPage>> {
    return this.#host.reads.audit(viewer.tenantId, filter, range, this.sightOf(viewer));
  }

  auditFile(viewer: Viewer, filter: AuditFilter, format: AuditFileFormat) {
    return this.#host.reads.auditFile(viewer.tenantId, filter, format, this.sightOf(viewer));
  }

  /**
   * The audit of one session. It outlives the session: there is none only if there is neither a
   * session nor an entry that the viewer sees.
   */
  async auditOf(viewer: Viewer, id: string, range: AuditRange): Promise<Result<AuditPage>> {
    const sessionId = parseSessionId(id);
    if (sessionId === null) return notFound(id);
    const key = { tenantId: viewer.tenantId, sessionId };
    const seen = await this.#seen(key, viewer);
    const isThere = seen.ok && seen.value?.ok !== false;
    if (!isThere) {
      const entry = await this.#host.reads.firstEntry(key);
      if (!entry.ok) return entry;
      const isSeen = entry.value !== null && (await this.sightOf(viewer).seesEntry(entry.value));
      if (!isSeen) return notFound(id);
    }
    return this.audit(viewer, { ...WHOLE_AUDIT, sessionId: key.sessionId }, range);
  }

  /** The id of what a caller names by an id or a name; nothing is said of whether it is there. */
  async idOf(viewer: Viewer, text: string): Promise<Result<SessionId>> {
    const key = await this.#keyOf(viewer, text);
    return key.ok ? ok(key.value.sessionId) : key;
  }

  /** Deletes the viewer's tenant with all that it has. */
  removeTenant({ tenantId, userId }: Viewer): Promise<Result<void>> {
    return this.#host.removeTenant(tenantId, userId ?? "an owner without a name");
  }

  /**
   * The key of a session by its id, or by its name in its stead. An impossible id is answered like
   * that of an absent session (P8).
   */
  async #keyOf(viewer: Viewer, text: string): Promise<Result<SessionKey>> {
    const { tenantId } = viewer;
    const name = parseSessionName(text);
    if (name !== null) {
      const found = await this.#names.find(viewer, name);
      if (!found.ok) return found;
      if (found.value !== null) return ok({ tenantId, sessionId: found.value });
    }
    const sessionId = parseSessionId(text);
    return sessionId === null ? notFound(text) : ok({ tenantId, sessionId });
  }

  #access(live: LiveSession, viewer: Viewer): SessionAccess {
    live.attendance.noteRole(viewer);
    return new SessionAccess(this.#host, live, viewer);
  }

  #liveFor(viewer: Viewer): readonly LiveSession[] {
    return this.#host.live.filter((live) => {
      return live.key.tenantId === viewer.tenantId && isSeenBy(viewer, live);
    });
  }
}

/** Refusals that tell of a session that is there. */
const UNREADABLE: ReadonlySet<ErrorCode> = new Set(["session_corrupt", "resume_mismatch"]);

function isSeenBy(viewer: Viewer, { session }: LiveSession): boolean {
  return isVisibleTo(session.chosen.audience ?? null, viewer);
}

type NewlyNamed = Pick<SessionOptions["creation"], "name" | "visibility" | "sharedWith"> &
  Pick<SessionKey, "sessionId">;

function notFound(sessionId: string): Result<never> {
  return fail("session_not_found", { sessionId });
}
