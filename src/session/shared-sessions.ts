import type { SessionId } from "../core/id.ts";
import { SHARED_SESSIONS_KNOWN_MAX } from "../core/limits.ts";
import { ok, type Result } from "../core/result.ts";
import { userOf } from "../core/session/command.ts";
import { BoundedMap } from "../platform/bounded-map.ts";
import type { SessionKey } from "../store/store.ts";
import type { CreationRequest } from "./actor/open.ts";
import { isClosing, type Joined } from "./entry.ts";
import type { LiveSession } from "./live.ts";
import type { SessionWorld } from "./world.ts";

/** What it needs of all sessions. */
interface SessionsByKey {
  peek(key: SessionKey): LiveSession | null;
  get(key: SessionKey): Promise<Result<LiveSession>>;
  make(request: CreationRequest): Promise<Result<Joined>>;
}

/** The sessions that the clients of one user share, one in each workspace. */
export class SharedSessions {
  readonly #world: SessionWorld;
  readonly #sessions: SessionsByKey;
  /** Requests at work, by what makes two of them one. */
  readonly #creating = new Map<string, Promise<Result<Joined>>>();
  /** The last one that was joined or made, by the same. While it lives, none was made after it. */
  readonly #last = new BoundedMap<string, SessionId>(SHARED_SESSIONS_KNOWN_MAX);

  constructor(world: SessionWorld, sessions: SessionsByKey) {
    this.#world = world;
    this.#sessions = sessions;
  }

  /** Joins the session of the request's workspace and user, or makes it. */
  create(request: CreationRequest): Promise<Result<Joined>> {
    const { key, creation, actor } = request;
    const name = JSON.stringify([key.tenantId, creation.workspaceCwd, userOf(actor)]);
    const known = this.#creating.get(name);
    if (known !== undefined) return known.then(joinedToo);
    const creating = this.#joinOrMake(request, name);
    this.#creating.set(name, creating);
    return creating.finally(() => {
      if (this.#creating.get(name) === creating) this.#creating.delete(name);
    });
  }

  async #joinOrMake(request: CreationRequest, name: string): Promise<Result<Joined>> {
    const shared = this.#known(request, name) ?? (await this.#stored(request));
    if (!shared.ok) return shared;
    const joined = await this.#join(shared.value, request);
    if (joined.ok) this.#last.set(name, joined.value.live.key.sessionId);
    return joined;
  }

  async #join(shared: SessionKey | null, request: CreationRequest): Promise<Result<Joined>> {
    if (shared === null) return this.#sessions.make(request);
    const live = await this.#sessions.get(shared);
    if (!live.ok && live.refusal.code !== "session_not_found") return live;
    // One that was deleted, or is just being closed, cannot be joined any more.
    if (!live.ok || isClosing(live.value)) return this.#sessions.make(request);
    return joinedToo(ok({ live: live.value, attached: true }));
  }

  /** Without asking the store, as long as the last one lives and has not died. */
  #known({ key: { tenantId } }: CreationRequest, name: string): Result<SessionKey> | null {
    const sessionId = this.#last.get(name);
    const live = sessionId === undefined ? null : this.#sessions.peek({ tenantId, sessionId });
    const isThere = live !== null && !isClosing(live);
    return isThere && live.session.connection.sessionState !== "error" ? ok(live.key) : null;
  }

  /**
   * The shared session that was made last, unless its clients have closed it or it has died: then
   * another is made, and one that comes back from the dead is not joined in its place.
   */
  async #stored(request: CreationRequest): Promise<Result<SessionKey | null>> {
    const { tenantId } = request.key;
    const { workspaceCwd } = request.creation;
    const createdBy = userOf(request.actor);
    const filter = { workspaceCwd, shared: true, closed: false, createdBy };
    const page = await this.#world.store.list(tenantId, filter, { limit: 16, cursor: null });
    if (!page.ok) return page;
    const [last] = [...page.value.sessions].sort((a, b) => b.createdAtMs - a.createdAtMs);
    const isThere = last !== undefined && last.status !== "error";
    return ok(isThere ? { tenantId, sessionId: last.sessionId } : null);
  }
}

/** The client counts from this moment, so that the session is not evicted before it has joined. */
function joinedToo(joined: Result<Joined>): Result<Joined> {
  if (!joined.ok) return joined;
  joined.value.live.attendance.attachCount += 1;
  return ok({ ...joined.value, attached: true });
}
