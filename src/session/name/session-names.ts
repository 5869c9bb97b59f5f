import { type ContentBlock, promptText } from "../../core/agent-update.ts";
import type { SessionId, TenantId } from "../../core/id.ts";
import {
  PROMPT_PREVIEW_CHARS_MAX,
  SESSION_NAME_NUMBER_MAX,
  SESSION_NAME_TRIES_MAX,
  SESSION_NAMESAKES_READ_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { nameFromWords, numberedName, type SessionName } from "../../core/session/name.ts";
import type { Session } from "../../core/session/state.ts";
import { titleOf } from "../../core/session/title.ts";
import { type Audience, isVisibleTo, type Viewer } from "../../core/session/visibility.ts";
import type { ListFilter, StoredRecord } from "../../store/store.ts";
import { visibleFilter } from "../bus/streams.ts";
import { isUnfinishedFork } from "../side/fork-draft.ts";
import type { SessionWorld } from "../world.ts";

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
  readonly #world: Pick<SessionWorld, "store" | "redact">;
  readonly #claims = new Set<NameClaim>();

  constructor(world: Pick<SessionWorld, "store" | "redact">) {
    this.#world = world;
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
    const other = await this.#claimed(viewer, claim);
    if (!other.ok) return other;
    if (other.value !== null) return this.#taken(viewer, session, other.value);
    return act().finally(() => this.#claims.delete(claim));
  }

  /**
   * What a session without a name is to be called by the words of its first prompt, which may be
   * this one; null where it has a name, or has had no prompt with words of its own. A secret is
   * none of its words (P11). Words of other writing than a name's give the name of the workspace.
   */
  wordsFor(
    { chosen, fixed, title }: Session,
    content: readonly ContentBlock[],
  ): SessionName | null {
    if (chosen.name !== undefined) return null;
    const text = promptText(content).slice(0, PROMPT_PREVIEW_CHARS_MAX);
    const words = title ?? titleOf({ text: this.#world.redact(text), content });
    if (words === null) return null;
    const place = fixed.workspaceCwd.split("/").at(-1) ?? "";
    return nameFromWords(words.replaceAll("[redacted]", " ")) ?? nameFromWords(`session ${place}`);
  }

  /**
   * Does what names a session by words, with a number behind them where the caller sees a session
   * of that name. Without a name where none was found: a prompt does not fail for that.
   */
  async automatic<Value>(
    viewer: Viewer,
    session: NamedSession,
    act: (name: SessionName | null) => Promise<Result<Value>>,
  ): Promise<Result<Value>> {
    for (let { name } = session, tries = 0; tries < SESSION_NAME_TRIES_MAX; tries += 1) {
      const claim = { ...session, name, tenantId: viewer.tenantId };
      const isFree = await this.#claimed(viewer, claim);
      if (!isFree.ok) break;
      if (isFree.value === null) return act(name).finally(() => this.#claims.delete(claim));
      const free = await this.#freeName(viewer, session);
      if (!free.ok) break;
      name = free.value;
    }
    return act(null);
  }

  /** Claims a name; answers which session has it already, as far as the caller sees. */
  async #claimed(viewer: Viewer, claim: NameClaim): Promise<Result<SessionId | null>> {
    const rival = this.#rivalOf(viewer, claim);
    if (rival !== null) return ok(rival);
    this.#claims.add(claim);
    const other = await this.#otherOf(viewer, claim);
    if (!other.ok || other.value !== null) this.#claims.delete(claim);
    return other;
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
    const listed = await this.#world.store.list(viewer.tenantId, seen, page);
    if (!listed.ok) return listed;
    const sessions = listed.value.sessions.filter((row) => !isUnfinishedFork(row));
    return ok({ sessions, hasMore: listed.value.nextCursor !== null });
  }
}

interface Alike {
  readonly sessions: readonly StoredRecord[];
  readonly hasMore: boolean;
}
