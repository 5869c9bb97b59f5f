import { type Refusal, refusal } from "../core/error.ts";
import type { TenantId } from "../core/id.ts";
import { EVICTIONS_TRIED_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { type Command, SERVER, userOf } from "../core/session/command.ts";
import type { SessionKey } from "../store/store.ts";
import { type CreationRequest, createSession } from "./actor/open.ts";
import { deletionEntry, liveDeletion } from "./audit/entries.ts";
import { type LiveOptions, LiveSession } from "./live.ts";
import {
  capacityRefusal,
  type Entry,
  fullWorkspace,
  idlestOf,
  type Leaving,
  limitRefusal,
  type Opening,
  type SessionSpot,
  spotOf,
} from "./live-cap.ts";
import { type SessionWorld, stampedBy } from "./world.ts";

/** A session that was asked for, and whether it had been there before. */
export interface Joined {
  readonly live: LiveSession;
  readonly attached: boolean;
}

interface RegistryOptions extends Omit<LiveOptions, "released"> {
  /** Whether a stream is open on a session: those are not evicted. */
  isWatched(live: LiveSession): boolean;
}

/** The sessions that are in memory, at most one instance of each. */
export class SessionRegistry {
  readonly #world: SessionWorld;
  readonly #liveOptions: LiveOptions;
  readonly #isWatched: RegistryOptions["isWatched"];
  readonly #entries = new Map<string, Entry>();
  /** Sessions that are being created, by what makes two requests one: the shared workspace. */
  readonly #creating = new Map<string, Promise<Result<Joined>>>();
  #isStopping = false;

  constructor(world: SessionWorld, { join, isWatched }: RegistryOptions) {
    this.#world = world;
    this.#isWatched = isWatched;
    this.#liveOptions = { join, released: (live) => this.#forget(live) };
  }

  get all(): readonly LiveSession[] {
    return [...this.#entries.values()].flatMap((one) => (one.state === "live" ? [one.live] : []));
  }

  /** The live session, if there is one; none is opened for it. */
  peek(key: SessionKey): LiveSession | null {
    const entry = this.#entries.get(nameOf(key));
    return entry?.state === "live" ? entry.live : null;
  }

  /** The same, after waiting for one that is being opened or made. */
  async arrived(key: SessionKey): Promise<LiveSession | null> {
    const entry = this.#entries.get(nameOf(key));
    if (entry?.state === "opening") await entry.opened;
    return this.peek(key);
  }

  /**
   * Opens a stored session on demand; concurrent requests share one opening. Recovery opens all
   * that it finds, at the cap or not: they have to be closed.
   */
  get(key: SessionKey, cap: "capped" | "uncapped" = "capped"): Promise<Result<LiveSession>> {
    const name = nameOf(key);
    const entry = this.#entries.get(name);
    if (entry?.state === "live") return Promise.resolve(ok(entry.live));
    const why = this.#refusalFor(key.tenantId);
    if (why !== null) return Promise.resolve({ ok: false, refusal: why });
    if (entry?.state === "opening") return entry.opened;
    const left = entry?.left.promise ?? null;
    return this.#opening(key, (opening) => this.#open(opening, left, cap));
  }

  /**
   * Makes a session, or joins the one of its workspace and user. It answers when the agent is
   * ready; if none can be had, nothing is left behind.
   */
  create(request: CreationRequest): Promise<Result<Joined>> {
    const { key, creation } = request;
    const isShared = creation.scope !== "thread";
    const ofUser = [key.tenantId, creation.workspaceCwd, userOf(request.actor)];
    const name = isShared ? JSON.stringify(["shared", ...ofUser]) : nameOf(key);
    const known = this.#creating.get(name);
    if (isShared && known !== undefined) return known.then(joinedToo);
    const creating = isShared ? this.#joinOrMake(request) : this.#make(request);
    this.#creating.set(name, creating);
    return creating.finally(() => {
      if (this.#creating.get(name) === creating) this.#creating.delete(name);
    });
  }

  /**
   * Gives a session back to the store that is not used; answers no if it is, after all. What is to
   * be done with it then is done before another request can have it.
   */
  async release(live: LiveSession, then: () => Promise<unknown> = NOTHING): Promise<boolean> {
    const name = nameOf(live.key);
    if (this.peek(live.key) !== live) return then === NOTHING || this.#afterOthers(live.key, then);
    const left = Promise.withResolvers<LiveSession | null>();
    const leaving: Leaving = { state: "leaving", key: live.key, left };
    this.#entries.set(name, leaving);
    const isGone = await live.release();
    if (isGone) await then();
    if (this.#entries.get(name) === leaving) this.#entries.delete(name);
    if (!isGone && !this.#entries.has(name)) this.#keep(live);
    left.resolve(isGone ? null : live);
    return isGone;
  }

  /** Another request releases it already: then this comes after, unless it is wanted again. */
  async #afterOthers(key: SessionKey, then: () => Promise<unknown>): Promise<boolean> {
    const entry = this.#entries.get(nameOf(key));
    if (entry?.state === "leaving") await entry.left.promise;
    if (this.#entries.has(nameOf(key))) return false;
    await then();
    return true;
  }

  /** Drops a session as it is; the next server closes what it leaves open. */
  async abandon(live: LiveSession): Promise<void> {
    const name = nameOf(live.key);
    const entry = this.#entries.get(name);
    if (entry?.state !== "opening") this.#entries.delete(name);
    if (entry?.state === "leaving") entry.left.resolve(null);
    await live.abandon();
  }

  /** Ends the live instance in good order; what is stored stays. */
  async evict(
    live: LiveSession,
    reason: Command<"stop">["reason"],
    then?: () => Promise<unknown>,
  ): Promise<Refusal | null> {
    const by = stampedBy(this.#world.clock, SERVER);
    const outcome = await live.submit({ ...by, type: "stop", reason });
    if (outcome.refusal !== null) return outcome.refusal;
    // A client may bring it back meanwhile, and then it never rests.
    await live.until(({ connection, ending }) => {
      return connection.sessionState === "inactive" || ending === null;
    });
    if (await this.release(live, then)) return null;
    return refusal("session_busy", { sessionId: live.key.sessionId });
  }

  /**
   * Resolves when no session of this tenant, which takes no new ones any more, is on its way in or
   * out. Those that wait for their agents do not wait any longer.
   */
  async settled(tenantId: TenantId): Promise<void> {
    const ours = [...this.#entries.values()].filter((entry) => {
      return entry.state !== "live" && entry.key.tenantId === tenantId;
    });
    const unready = ours.flatMap(
      (entry) => (entry.state === "opening" ? entry.unready : null) ?? [],
    );
    await Promise.all(unready.map((live) => live.abandon()));
    await Promise.all(ours.map(settledEntry));
  }

  /** Resolves when no session is being opened, made or released any more. */
  async quiet(): Promise<void> {
    while (true) {
      const moving = [...this.#entries.values()].filter(({ state }) => state !== "live");
      if (moving.length + this.#creating.size === 0) return;
      await Promise.all([...moving.map(settledEntry), ...this.#creating.values()]);
    }
  }

  /** From now on no session is opened or made. */
  stopTakingIn() {
    this.#isStopping = true;
    for (const live of this.all) live.rest();
  }

  #keep(live: LiveSession): LiveSession {
    if (this.#isStopping) live.rest();
    this.#entries.set(nameOf(live.key), { state: "live", live, isEvicted: false });
    return live;
  }

  #forget(live: LiveSession) {
    if (this.peek(live.key) === live) this.#entries.delete(nameOf(live.key));
  }

  /** Why nothing of this tenant is taken in; null if it is. */
  #refusalFor(tenantId: TenantId): Refusal | null {
    if (this.#isStopping) return refusal("server_stopping");
    return this.#world.tenants.isClosed(tenantId) ? refusal("tenant_deleting") : null;
  }

  /** Puts an entry in place while this opens or makes a session; it is there at once. */
  #opening(
    key: SessionKey,
    work: (opening: Opening) => Promise<Result<LiveSession>>,
  ): Promise<Result<LiveSession>> {
    const name = nameOf(key);
    const { promise: opened, resolve } = Promise.withResolvers<Result<LiveSession>>();
    const opening: Opening = { state: "opening", key, opened, spot: null, unready: null };
    this.#entries.set(name, opening);
    const done = work(opening).finally(() => {
      if (this.#entries.get(name) === opening) this.#entries.delete(name);
    });
    resolve(done);
    return opened;
  }

  async #open(
    opening: Opening,
    left: Promise<LiveSession | null> | null,
    cap: "capped" | "uncapped",
  ): Promise<Result<LiveSession>> {
    const back = await left;
    if (back !== null) return ok(this.#keep(back));
    const opened = await LiveSession.open(this.#world, opening.key, this.#liveOptions);
    if (!opened.ok) return opened;
    const live = opened.value;
    if (cap === "capped") {
      const why = await this.#takePlace(opening, spotOf(live), "any");
      if (why !== null) {
        // It goes back to the store as it was: nothing has been done with it.
        if (!(await live.release())) await live.abandon();
        return { ok: false, refusal: why };
      }
    }
    this.#keep(live);
    live.start();
    return opened;
  }

  async #joinOrMake(request: CreationRequest): Promise<Result<Joined>> {
    const shared = await this.#sharedSession(request);
    if (!shared.ok) return shared;
    if (shared.value === null) return this.#make(request);
    const live = await this.get(shared.value);
    if (!live.ok) return live;
    // One that is just being closed cannot be joined any more.
    if (isClosing(live.value)) return this.#make(request);
    return joinedToo(ok({ live: live.value, attached: true }));
  }

  /**
   * The shared session that was made last, unless its clients have closed it or it has died: then
   * another is made, and one that comes back from the dead is not joined in its place.
   */
  async #sharedSession(request: CreationRequest): Promise<Result<SessionKey | null>> {
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

  async #make(request: CreationRequest): Promise<Result<Joined>> {
    const { sessionId, tenantId } = request.key;
    const name = nameOf(request.key);
    // A session of this id that is leaving may yet stay, and must not lose its entry.
    for (let one = this.#entries.get(name); one?.state === "leaving"; ) {
      await one.left.promise;
      one = this.#entries.get(name);
    }
    const why = this.#refusalFor(tenantId);
    if (why !== null) return { ok: false, refusal: why };
    const known = this.#entries.get(name);
    if (known?.state === "live" || known?.state === "opening") {
      return fail("session_id_conflict", { sessionId, ...conflictWith(known) });
    }
    const made = await this.#opening(request.key, (opening) => this.#made(opening, request));
    return made.ok ? ok({ live: made.value, attached: false }) : made;
  }

  async #made(opening: Opening, request: CreationRequest): Promise<Result<LiveSession>> {
    const { key, creation } = request;
    const { workspaceCwd } = creation;
    const spot = { workspaceCwd, userId: userOf(request.actor) };
    const why = await this.#takePlace(opening, spot, "maker");
    if (why !== null) return { ok: false, refusal: why };
    const made = await createSession(this.#world, request);
    if (made.ok) {
      return this.#activated(opening, new LiveSession(this.#world, made.value, this.#liveOptions));
    }
    // It is unknown whether the store made it. No client knows of it, so it may go.
    if (made.refusal.code === "store_unavailable") {
      const atMs = this.#world.clock.nowMs();
      const unmade = { sessionId: key.sessionId, epoch: `unmade ${atMs}`, atMs, audience: [] };
      const audit = [deletionEntry({ ...unmade, actor: SERVER })];
      await this.#world.store.delete(key, this.#world.holder, audit);
    }
    return made;
  }

  /** Not to be found until its agent is ready, though listed; without one it is deleted. */
  async #activated(opening: Opening, live: LiveSession): Promise<Result<LiveSession>> {
    const { tenantId } = live.key;
    opening.unready = live;
    const refused = this.#refusalFor(tenantId);
    if (refused === null) live.start();
    const why = refused ?? (await live.activated());
    opening.unready = null;
    if (why === null) return ok(this.#keep(live));
    await live.abandon();
    const audit = liveDeletion(live, SERVER, this.#world.clock.nowMs());
    await this.#world.store.delete(live.key, this.#world.holder, audit);
    const refusal = capacityRefusal(why, this.#entries.values(), live);
    return { ok: false, refusal: this.#refusalFor(tenantId) ?? refusal };
  }

  /**
   * Takes a place in a workspace; answers why there is none. At the cap the session that has been
   * idle and unwatched for longest is evicted, at a user's share one of theirs. Sessions on their
   * way in count, too.
   */
  async #takePlace(
    opening: Opening,
    spot: SessionSpot,
    caller: "maker" | "any",
  ): Promise<Refusal | null> {
    const limit = this.#world.settings.sessionsLiveMax ?? Number.POSITIVE_INFINITY;
    opening.spot = spot;
    let full = fullWorkspace(this.#entries.values(), opening.key.tenantId, spot, limit);
    for (let tries = 0; full !== null && tries < EVICTIONS_TRIED_MAX; tries += 1) {
      const idlest = idlestOf(full.staying, this.#isWatched);
      if (idlest === null) break;
      idlest.isEvicted = true;
      await this.evict(idlest.live, "evicted").finally(() => {
        idlest.isEvicted = false;
      });
      full = fullWorkspace(this.#entries.values(), opening.key.tenantId, spot, limit);
    }
    if (full === null) return null;
    opening.spot = null;
    return limitRefusal(full, spot, caller);
  }
}

/** The client counts from this moment, so that the session is not evicted before it has joined. */
function joinedToo(joined: Result<Joined>): Result<Joined> {
  if (!joined.ok) return joined;
  joined.value.live.attendance.attachCount += 1;
  return ok({ ...joined.value, attached: true });
}

/** One that was closed is only stored, as far as clients can tell. */
function conflictWith(known: Exclude<Entry, Leaving>) {
  if (known.state === "opening") return { conflict: "pending" };
  const { closed, fixed } = known.live.session;
  if (closed) return { conflict: "persisted" };
  return { conflict: "live", liveWorkspaceCwd: fixed.workspaceCwd };
}

function isClosing({ session: { closed, ending } }: LiveSession): boolean {
  return closed || ending?.reason === "client_close";
}

function settledEntry(entry: Entry): Promise<unknown> {
  if (entry.state === "live") return Promise.resolve();
  return entry.state === "opening" ? entry.opened : entry.left.promise;
}

const NOTHING = async () => {};

function nameOf({ tenantId, sessionId }: SessionKey): string {
  return JSON.stringify([tenantId, sessionId]);
}
