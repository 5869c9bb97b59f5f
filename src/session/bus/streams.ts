import { type Refusal, refusal } from "../../core/error.ts";
import type { ClientId, PromptId, SessionId, TenantId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { shownChildren } from "../../core/session/child.ts";
import type { BudgetFigures } from "../../core/session/credit-event.ts";
import { eventIs } from "../../core/session/event-table.ts";
import type { Session } from "../../core/session/state.ts";
import type { Audience, Viewer } from "../../core/session/visibility.ts";
import type { SessionState } from "../../core/status.ts";
import type { JournalEntry, ListFilter, SessionKey, SessionRecord } from "../../store/store.ts";
import { recordOf, type Written } from "../actor/written.ts";
import type { LiveSession } from "../live.ts";
import type { CommitStep, Participant } from "../participant.ts";
import { isUnfinishedFork } from "../side/fork-draft.ts";
import type { DiskFigures } from "../tenant/tenant-disk.ts";
import type { SessionWorld } from "../world.ts";
import { liveFrame, type Notice, streamError, streamRefused } from "./frame.ts";
import { type AnswerReceipt, HeldVerdicts } from "./held-verdicts.ts";
import { SessionBus } from "./session-bus.ts";
import type { SubscribeRequest, Subscription } from "./subscription.ts";
import {
  type ListedSession,
  sessionUpdated,
  TenantStream,
  type TenantSubscription,
} from "./tenant-stream.ts";
import { VerdictWaits } from "./verdict-waits.ts";

const TENANT_PAGE = 200;

/** What a list shows of a session, stored or live. */
function summaryOf(row: SessionRecord & { readonly sessionId: SessionId }): ListedSession {
  const { sessionId, workspaceCwd, status, displayName, name, agent } = row;
  const { closed, pendingPrompts, updatedAtMs } = row;
  const state = {
    sessionId,
    workspaceCwd,
    status,
    displayName,
    name,
    agent,
    closed,
    pendingPrompts,
    updatedAtMs,
  };
  return { sessionId, state, audience: row.audience };
}

/** What the last server left at work does not work any more, even if its record says so (P5). */
function atRest(status: SessionState): SessionState {
  return status === "error" ? "error" : "inactive";
}

const SHUTTING_DOWN = streamError("The server is shutting down.", "daemon_shutdown");
const TENANT_DELETING = streamError("The tenant is being deleted.", "tenant_deleting");
const TENANT_DELETED = streamError("The tenant was deleted.", "tenant_deleted");

/** Holds the verdict of one prompt back from the streams of its client. */
export interface VerdictHold {
  /** Whether the client has a stream open, on which it may wait for the verdict. */
  isAwaited(): boolean;
  /** The prompt is admitted: from now on the hold has its time limit. */
  limit(): void;
  answered(fate: AnswerReceipt): void;
}

/** The prompt of a client that has no id has no streams to be held back from. */
export const UNHELD: VerdictHold = { isAwaited: () => false, limit: () => {}, answered: () => {} };

/**
 * The streams of one live session, from when it is opened until it ends or its store fails: what
 * is durable goes out here.
 */
class SessionStream implements Participant {
  readonly #live: LiveSession;
  readonly #streams: SessionStreams;
  readonly #world: SessionWorld;
  readonly #verdicts: HeldVerdicts;
  #bus: SessionBus | null = null;
  #isListed = false;
  /** Who saw it when it was last listed; undefined before that. */
  #audience: Audience | undefined;
  /** The figures of warnings that are on their way to the store, by the numbers of their events. */
  readonly #figures = new Map<number, BudgetFigures>();

  constructor(world: SessionWorld, streams: SessionStreams, live: LiveSession) {
    this.#world = world;
    this.#streams = streams;
    this.#live = live;
    this.#verdicts = new HeldVerdicts(world.clock, () => this.#bus);
  }

  get isWatched(): boolean {
    return (this.#bus?.subscriberCount ?? 0) > 0;
  }

  /** The clients that read a stream of it. */
  get clientIds(): ReadonlySet<ClientId> {
    return this.#bus?.clientIds ?? new Set();
  }

  subscribe(request: SubscribeRequest): Result<Subscription> {
    const { store, clock } = this.#world;
    const { key, epoch, lastEventId, session } = this.#live;
    if (request.sees?.(session.chosen.audience ?? null) === false) {
      return fail("session_not_found", { sessionId: key.sessionId });
    }
    const readPast = (after: number, limit: number) => store.readEvents(key, { after, limit });
    this.#bus ??= new SessionBus({ epoch, lastEventId }, () => clock.nowMs());
    const { clientId = null, childId } = request;
    const child = shownChildren(session).find((shown) => shown.childId === childId);
    if (childId !== undefined && child === undefined) return fail("child_not_found", { childId });
    const heldIds = this.#verdicts.heldIds(clientId);
    const made = this.#bus.subscribe(request, { readPast }, heldIds);
    // Nothing new comes of one that has ended.
    if (made.ok && child !== undefined && child.endedAtMs !== null) made.value.finish(lastEventId);
    return made;
  }

  holdVerdict(promptId: PromptId, clientId: ClientId): VerdictHold {
    this.#verdicts.hold(promptId, clientId);
    return {
      isAwaited: () => this.#bus?.hasClient(clientId) ?? false,
      limit: () => this.#verdicts.limit(promptId),
      answered: (fate) => this.#verdicts.answered(promptId, fate),
    };
  }

  /** Adds nothing. Figures of a budget are in the command, and not in every log. */
  journal(step: CommitStep): readonly JournalEntry[] {
    if (step.kind !== "decision" || step.command.type !== "announce") return [];
    const { figures } = step.command;
    const warning = step.written.find(({ event }) => event.type === "credits_warning");
    if (figures !== undefined && warning !== undefined) this.#figures.set(warning.id, figures);
    return [];
  }

  durable(written: readonly Written[], { chosen }: Session) {
    // Those who lost it are told nothing more, so this comes before what is published.
    if (written.some(({ event }) => event.type === "session_visibility_changed")) {
      this.#bus?.endOutside(chosen.audience ?? null, goneNotice(this.#live.key.sessionId));
    }
    if (written.some(({ event }) => eventIs(event, "listed"))) this.#list();
    for (const { id, event } of written) {
      if (event.type !== "credits_warning") continue;
      const warning = { ...event.data, ...this.#figures.get(id) };
      this.#figures.delete(id);
      this.#streams.warn(this.#live.key.tenantId, warning, chosen.audience ?? null);
    }
    this.#verdicts.arrived(written);
    this.#publish(written);
    this.#streams.openWaits?.durable(this.#live.key, written);
  }

  /** A log that is opened may say more than was published of it, so lists show it anew. */
  follow() {
    if (this.#isListed) return;
    this.#list();
    this.#streams.openWaits?.lookAgain(this.#live.key);
  }

  /** A stream outlives the live session only if its client opens the two again. */
  end(why: Refusal | null) {
    this.#verdicts.end();
    const failure = why && streamError("The session store failed; connect again.", why.code);
    this.#bus?.end(failure ?? this.#streams.lastNotice(this.#live.key.tenantId));
    this.#bus = null;
    this.#streams.left(this.#live, this);
  }

  #publish(written: readonly Written[]) {
    if (this.#bus === null || written.length === 0) return;
    const terminal = written.findLast(({ event }) => eventIs(event, "terminal"));
    this.#bus.publish(written.map(liveFrame), terminal?.id ?? null);
  }

  #list() {
    this.#isListed = true;
    const { key, session } = this.#live;
    const { sessionId } = key;
    const record = recordOf(session, this.#world.clock.nowMs());
    const before = this.#audience === undefined ? record.audience : this.#audience;
    this.#audience = record.audience;
    this.#streams.list(key.tenantId, summaryOf({ sessionId, ...record }), before);
  }
}

/** A reader who lost a session is told what a request for a missing one is answered. */
function goneNotice(sessionId: SessionId): Notice {
  return streamRefused(refusal("session_not_found", { sessionId }));
}

/** Leaves out the sessions that this viewer does not see; owners see all. */
export function visibleFilter({ role, userId }: Viewer): ListFilter {
  return role === "owner" ? {} : { visibleTo: userId };
}

/** The streams of all live sessions, and of their tenants. */
export class SessionStreams {
  readonly #world: SessionWorld;
  readonly #open = new Map<LiveSession, SessionStream>();
  readonly #tenants = new Map<TenantId, TenantStream>();
  #waits: VerdictWaits | null = null;
  #isStopping = false;

  constructor(world: SessionWorld) {
    this.#world = world;
  }

  /** Where requests wait for verdicts. */
  get waits(): VerdictWaits {
    this.#waits ??= new VerdictWaits();
    return this.#waits;
  }

  /** Null while no request has waited. */
  get openWaits(): VerdictWaits | null {
    return this.#waits;
  }

  /** The participant for a session that is being opened. */
  join(live: LiveSession): Participant {
    const stream = new SessionStream(this.#world, this, live);
    this.#open.set(live, stream);
    return stream;
  }

  left(live: LiveSession, stream: Participant) {
    if (this.#open.get(live) === stream) this.#open.delete(live);
  }

  subscribe(live: LiveSession, request: SubscribeRequest): Result<Subscription> {
    const stream = this.#open.get(live);
    return stream?.subscribe(request) ?? fail("store_unavailable", { reason: "it was evicted" });
  }

  /** Holds a prompt's verdict back from its client's streams, for a limited time. */
  holdVerdict(live: LiveSession, promptId: PromptId, clientId: ClientId | null): VerdictHold {
    if (clientId === null) return UNHELD;
    return this.#open.get(live)?.holdVerdict(promptId, clientId) ?? UNHELD;
  }

  clientsOf(live: LiveSession): ReadonlySet<ClientId> {
    return this.#open.get(live)?.clientIds ?? new Set();
  }

  isWatched(live: LiveSession): boolean {
    return this.#open.get(live)?.isWatched ?? false;
  }

  /** All sessions of a tenant as they are, and then each that changes. */
  watchTenant(
    viewer: Viewer,
    isLive: (sessionId: SessionId) => boolean,
  ): Result<TenantSubscription> {
    const { tenantId } = viewer;
    const filter = visibleFilter(viewer);
    const stream = this.#tenants.get(tenantId) ?? new TenantStream();
    this.#tenants.set(tenantId, stream);
    const readPage = async (cursor: string | null) => {
      const page = await this.#world.store.list(tenantId, filter, { limit: TENANT_PAGE, cursor });
      if (!page.ok) return page;
      const { sessions, nextCursor } = page.value;
      const listed = sessions
        .filter((row) => !isUnfinishedFork(row))
        .map((row) => {
          const { sessionId } = row;
          const shown = isLive(sessionId) ? row : { ...row, status: atRest(row.status) };
          return { sessionId, updated: sessionUpdated(summaryOf(shown)) };
        });
      return ok({ sessions: listed, nextCursor });
    };
    return stream.subscribe(readPage, viewer);
  }

  /** A session looks different in lists. */
  list(tenantId: TenantId, summary: ListedSession, before: Audience) {
    this.#tenants.get(tenantId)?.update(summary, before);
  }

  /** The log of a session of this audience says that a budget is nearly used up. */
  warn(tenantId: TenantId, warning: Parameters<TenantStream["warn"]>[0], audience: Audience) {
    this.#tenants.get(tenantId)?.warn(warning, audience);
  }

  /** Nearly all of the tenant's disk is used. */
  warnOfDisk(tenantId: TenantId, figures: DiskFigures) {
    this.#tenants.get(tenantId)?.warnOfDisk(figures);
  }

  /** A session is deleted that had this audience. */
  deleted({ tenantId, sessionId }: SessionKey, audience: Audience) {
    this.#tenants.get(tenantId)?.remove(sessionId, audience);
  }

  /** What the streams of a session end with, when it does. */
  lastNotice(tenantId: TenantId): Notice | null {
    // The deletion of a tenant may still fail, so no stream says that it is deleted (P1).
    if (this.#world.tenants.isClosed(tenantId)) return TENANT_DELETING;
    return this.#isStopping ? SHUTTING_DOWN : null;
  }

  /** From now on streams end because the server does. */
  stop() {
    this.#isStopping = true;
  }

  endTenants() {
    for (const stream of this.#tenants.values()) stream.end(SHUTTING_DOWN);
  }

  /**
   * The tenant is deleted; a later one of the same name has a stream of its own. If the store
   * failed, it may be gone or not: a client that connects again is told.
   */
  endTenant(tenantId: TenantId, failure: Refusal | null) {
    const unknown = failure && streamError("The tenant may be gone; connect again.", failure.code);
    this.#tenants.get(tenantId)?.end(unknown ?? TENANT_DELETED);
    this.#tenants.delete(tenantId);
  }
}
