import type { SessionId, TenantId } from "../../core/id.ts";
import { SESSION_NAME_NUMBER_MAX, SESSION_NAMESAKES_READ_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { numberedName, type SessionName } from "../../core/session/name.ts";
import { type Audience, isVisibleTo, type Viewer } from "../../core/session/visibility.ts";
import type { ListFilter, SessionStore, StoredRecord } from "../../store/store.ts";
import { visibleFilter } from "../bus/streams.ts";
import { isUnfinishedFork } from "../side/fork-draft.ts";

/** A session that is to have a name. */
export interface NamedSession {
  readonly sessionId: SessionId;
  readonly name: SessionName;
  /** Who sees the session, or will when it is there. */
  readonly audience: Audience;
}

interface NameClaim extends NamedSession {
  readonly tenantId: TenantId;
}

/**
 * The names of sessions, as one caller sees them: a session that the caller does not see has no
 * part in any answer, so its name shows nowhere (P8). The store finds names by an index. A name
 * that is about to be stored is claimed before the store is asked: so of two requests at one time
 * one sees the other.
 */
export class SessionNames {
  readonly #store: Pick<SessionStore, "list">;
  readonly #claims = new Set<NameClaim>();

  constructor(store: Pick<SessionStore, "list">) {
    this.#store = store;
  }

  /**
   * The session that a caller means by a name; null if there is none. The caller's own comes before
   * those of others: a name does not mean another one because a user shares a session of that name.
   */
  async find(viewer: Viewer, name: SessionName): Promise<Result<SessionId | null>> {
    const alike = await this.#alike(viewer, { name });
    if (!alike.ok) return alike;
    const { sessions, hasMore } = alike.value;
    const isOwn = ({ createdBy }: StoredRecord) => createdBy === viewer.userId;
    let own: readonly StoredRecord[] = sessions.filter(isOwn);
    if (own.length === 0 && hasMore) {
      const mine = await this.#alike(viewer, { name, createdBy: viewer.userId });
      if (!mine.ok) return mine;
      own = mine.value.sessions;
    }
    const meant = own.length > 0 ? own : sessions;
    if (meant.length < 2) return ok(meant[0]?.sessionId ?? null);
    const sessionIds = meant.map(({ sessionId }) => sessionId).join(", ");
    return fail("session_name_ambiguous", { name, sessionIds });
  }

  /**
   * Does what gives a session its name, unless the caller sees another one of that name. The name
   * is stored when that is done, or never will be.
   */
  async give<Value>(
    viewer: Viewer,
    session: NamedSession,
    act: () => Promise<Result<Value>>,
  ): Promise<Result<Value>> {
    const claim = { ...session, tenantId: viewer.tenantId };
    const rival = this.#rivalOf(viewer, session);
    if (rival !== null) return this.#taken(viewer, session, rival);
    this.#claims.add(claim);
    try {
      const other = await this.#otherOf(viewer, session);
      if (!other.ok) return other;
      return await (other.value === null ? act() : this.#taken(viewer, session, other.value));
    } finally {
      this.#claims.delete(claim);
    }
  }

  /** Another session that is being given the name, as far as the caller sees it. */
  #rivalOf(viewer: Viewer, { name, sessionId }: NamedSession): SessionId | null {
    for (const claim of this.#claims) {
      const isRival = claim.name === name && claim.sessionId !== sessionId;
      const isSeen = claim.tenantId === viewer.tenantId && isVisibleTo(claim.audience, viewer);
      if (isRival && isSeen) return claim.sessionId;
    }
    return null;
  }

  /** Another session that has the name, as far as the caller sees it. */
  async #otherOf(viewer: Viewer, { name, sessionId }: NamedSession) {
    const alike = await this.#alike(viewer, { name });
    if (!alike.ok) return alike;
    const other = alike.value.sessions.find((one) => one.sessionId !== sessionId);
    return ok(other?.sessionId ?? null);
  }

  async #taken(viewer: Viewer, session: NamedSession, by: SessionId): Promise<Result<never>> {
    const free = await this.#freeName(viewer, session);
    if (!free.ok) return free;
    const { name } = session;
    return fail("session_name_taken", { name, sessionId: by, suggestion: free.value });
  }

  /**
   * The name with a number that is free among what the caller sees. Numbers are tried in steps that
   * double and then halve: a thousand sessions of one name cost twenty reads and not a thousand.
   */
  async #freeName(viewer: Viewer, session: NamedSession): Promise<Result<SessionName>> {
    let [taken, free] = [1, 2];
    let isOver = false;
    while (free - taken > 1 || !isOver) {
      const number: number = isOver ? Math.floor((taken + free) / 2) : free;
      const name = numberedName(session.name, number);
      const other = await this.#otherOf(viewer, { ...session, name });
      if (!other.ok) return other;
      const isFree = other.value === null && this.#rivalOf(viewer, { ...session, name }) === null;
      if (isFree || number > SESSION_NAME_NUMBER_MAX) [free, isOver] = [number, true];
      else if (isOver) taken = number;
      else [taken, free] = [number, number * 2];
    }
    return ok(numberedName(session.name, free));
  }

  /** The sessions of a name that the caller sees, the last used first, and whether that is all. */
  async #alike(viewer: Viewer, filter: ListFilter): Promise<Result<Alike>> {
    const seen = { ...filter, ...visibleFilter(viewer) };
    const page = { limit: SESSION_NAMESAKES_READ_MAX, cursor: null };
    const listed = await this.#store.list(viewer.tenantId, seen, page);
    if (!listed.ok) return listed;
    const sessions = listed.value.sessions.filter((row) => !isUnfinishedFork(row));
    return ok({ sessions, hasMore: listed.value.nextCursor !== null });
  }
}

interface Alike {
  readonly sessions: readonly StoredRecord[];
  readonly hasMore: boolean;
}
