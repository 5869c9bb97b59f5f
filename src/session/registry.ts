import { type Refusal, refusal } from "../core/error.ts";
import type { TenantId } from "../core/id.ts";
import { EVICTIONS_TRIED_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { type Command, SERVER, userOf } from "../core/session/command.ts";
import type { SessionKey } from "../store/store.ts";
import { type CreationRequest, createSession, type OpenSession } from "./actor/open.ts";
import { deletionEntry } from "./audit/entries.ts";
import {
  conflictWith,
  type Entry,
  isClosing,
  type Joined,
  keyOf,
  type Leaving,
  type Opening,
  type SessionSpot,
  settledEntry,
} from "./entry.ts";
import { agentArrival } from "./eviction.ts";
import { deleteMade, unmake } from "./life/making.ts";
import { type LiveOptions, LiveSession } from "./live.ts";
import { capacityRefusal, fullWorkspace, idlestOf, limitRefusal, spotOf } from "./live-cap.ts";
import type { Participant } from "./participant.ts";
import { SharedSessions } from "./shared-sessions.ts";
import { type SessionWorld, stampedBy } from "./world.ts";

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
  readonly #creating = new Set<Promise<Result<Joined>>>();
  readonly #shared: SharedSessions;
  #isStopping = false;

  constructor(world: SessionWorld, { join, isWatched, unmade }: RegistryOptions) {
    this.#world = world;
    this.#isWatched = isWatched;
    this.#shared = new SharedSessions(world, {
      peek: (key) => this.peek(key),
      get: (key) => this.get(key),
      make: (request) => this.#make(request),
    });
    this.#liveOptions = {
      join: (live) => [...join(live), this.#closing(live)],
      released: (live) => this.#forget(live),
      unmade,
    };
  }

  get all(): readonly LiveSession[] {
    return [...this.#entries.values()].flatMap((one) => (one.state === "live" ? [one.live] : []));
  }

  /** The live session, if there is one; none is opened for it. */
  peek(key: SessionKey): LiveSession | null {
    const entry = this.#entries.get(nameOf(key));
    return entry?.state === "live" ? entry.live : null;
  }

  /** The same, after waiting for one that is being opened. */
  async arrived(key: SessionKey): Promise<LiveSession | null> {
    const entry = this.#entries.get(nameOf(key));
    if (entry?.state === "opening") await entry.opened;
    return this.peek(key);
  }

  /**
   * Opens a stored session on demand; concurrent requests share one opening. Recovery opens all
   * that it finds, at the cap or not, also if another request opens it already: they have to be
   * closed, and prompts may wait in them (P2).
   */
  get(key: SessionKey, cap: "capped" | "uncapped" = "capped"): Promise<Result<LiveSession>> {
    const name = nameOf(key);
    const entry = this.#entries.get(name);
    if (entry?.state === "live") return Promise.resolve(ok(entry.live));
    const why = this.#refusalFor(key.tenantId);
    if (why !== null) return Promise.resolve({ ok: false, refusal: why });
    if (entry?.state === "opening") {
      if (cap === "uncapped") entry.isCapped = false;
      return entry.opened;
    }
    const left = entry?.left.promise ?? null;
    const isCapped = cap === "capped";
    return this.#opening(key, isCapped, (opening) => this.#open(opening, left));
  }

  /**
   * Makes a session, or joins the one of its workspace and user. It answers when the agent is
   * ready. Meanwhile the session is there like any other that is `activating`; if no agent can be
   * had and no other client has come to it, nothing is left behind.
   */
  create(request: CreationRequest): Promise<Result<Joined>> {
    const isShared = request.creation.scope !== "thread";
    const creating = isShared ? this.#shared.create(request) : this.#make(request);
    this.#creating.add(creating);
    return creating.finally(() => this.#creating.delete(creating));
  }

  /**
   * Gives a session back to the store that is not used; answers no if it is, after all. What is to
   * be done with it then is done before another request can have it.
   */
  async release(live: LiveSession, then: () => Promise<unknown> = NOTHING): Promise<boolean> {
    const name = nameOf(live.key);
    if (this.peek(live.key) !== live) return this.#afterOthers(live, then);
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
  async #afterOthers(live: LiveSession, then: () => Promise<unknown>): Promise<boolean> {
    const entry = this.#entries.get(nameOf(live.key));
    if (entry?.state === "leaving") await entry.left.promise;
    if (then === NOTHING) return this.peek(live.key) !== live;
    if (this.#entries.has(nameOf(live.key))) return false;
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
   * out, and no maker of one waits.
   */
  async settled(tenantId: TenantId): Promise<void> {
    const ours = [...this.#entries.values()].filter((entry) => keyOf(entry).tenantId === tenantId);
    await Promise.all(ours.map(settledEntry));
  }

  /** Resolves when no session is being opened, made or released any more. */
  async quiet(): Promise<void> {
    while (true) {
      const moving = [...this.#entries.values()].filter(({ state }) => state !== "live");
      if (moving.length + this.#creating.size === 0) return;
      await Promise.all([...moving.map(settledEntry), ...this.#creating]);
    }
  }

  /** From now on no session is opened or made. */
  stopTakingIn() {
    this.#isStopping = true;
    for (const live of this.all) live.rest();
  }

  #keep(live: LiveSession, answered: Promise<void> | null = null): LiveSession {
    if (this.#isStopping) live.rest();
    const entry: Entry = { state: "live", live, isEvicted: false, answered };
    this.#entries.set(nameOf(live.key), entry);
    return live;
  }

  /** A session that its clients have closed is live no more once they have been told so. */
  #closing(live: LiveSession): Participant {
    return {
      durable: (written) => {
        if (written.some(({ event }) => event.type === "session_closed")) void this.release(live);
      },
    };
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
    isCapped: boolean,
    work: (opening: Opening) => Promise<Result<LiveSession>>,
  ): Promise<Result<LiveSession>> {
    const name = nameOf(key);
    const { promise: opened, resolve } = Promise.withResolvers<Result<LiveSession>>();
    const opening: Opening = { state: "opening", key, opened, spot: null, isCapped };
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
  ): Promise<Result<LiveSession>> {
    const back = await left;
    if (back !== null) return ok(this.#keep(back));
    const opened = await LiveSession.open(this.#world, opening.key, this.#liveOptions);
    if (!opened.ok) return opened;
    const live = opened.value;
    const why = opening.isCapped ? await this.#takePlace(opening, spotOf(live), "any") : null;
    if (why !== null) {
      // It goes back to the store as it was: nothing has been done with it.
      if (!(await live.release())) await live.abandon();
      // Recovery may have come for it meanwhile; from here on it has an opening of its own.
      if (!opening.isCapped) return this.#open(opening, null);
      this.#entries.delete(nameOf(opening.key));
      return { ok: false, refusal: why };
    }
    this.#keep(live);
    live.start();
    return opened;
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
    const answered = Promise.withResolvers<void>();
    const made = await this.#opening(request.key, true, (opening) => {
      return this.#made(opening, request, answered.promise);
    });
    if (!made.ok) return made;
    const refused = await this.#answerable(made.value);
    answered.resolve();
    const entry = this.#entries.get(name);
    if (entry?.state === "live" && entry.live === made.value) entry.answered = null;
    if (refused !== null) return { ok: false, refusal: refused };
    return ok({ live: made.value, attached: false });
  }

  async #made(
    opening: Opening,
    request: CreationRequest,
    answered: Promise<void>,
  ): Promise<Result<LiveSession>> {
    const { key, creation } = request;
    const { workspaceCwd } = creation;
    const spot = { workspaceCwd, userId: userOf(request.actor) };
    const why = await this.#takePlace(opening, spot, "maker");
    if (why !== null) return { ok: false, refusal: why };
    const made = await createSession(this.#world, request);
    if (made.ok) return this.#begun(made.value, answered);
    // It is unknown whether the store made it. No client knows of it, so it may go.
    if (made.refusal.code === "store_unavailable") {
      const atMs = this.#world.clock.nowMs();
      const unmade = { sessionId: key.sessionId, epoch: `unmade ${atMs}`, atMs, audience: [] };
      const audit = [deletionEntry({ ...unmade, actor: SERVER })];
      await this.#world.store.delete(key, this.#world.holder, audit);
    }
    return made;
  }

  /** From here on it is there for all who see it, and its maker counts as present. */
  async #begun(made: OpenSession, answered: Promise<void>): Promise<Result<LiveSession>> {
    const live = new LiveSession(this.#world, made, this.#liveOptions);
    const late = this.#refusalFor(live.key.tenantId);
    if (late !== null) {
      await live.abandon();
      await deleteMade(this.#world, this.#liveOptions, live);
      return { ok: false, refusal: late };
    }
    const nowMs = this.#world.clock.nowMs();
    for (const clientId of live.session.clients.keys()) live.attendance.saw(clientId, nowMs);
    this.#keep(live, answered);
    live.start();
    return ok(live);
  }

  /** Waits for the agent of a session just made; answers why its maker cannot have it. */
  async #answerable(live: LiveSession): Promise<Refusal | null> {
    const why = await agentArrival(live);
    if (why === null) return null;
    const { tenantId, sessionId } = live.key;
    // The request that closed it decides what becomes of it.
    const isOurs = !isClosing(live);
    if (isOurs) await unmake({ world: this.#world, registry: this, ...this.#liveOptions }, live);
    const ended = this.#refusalFor(tenantId);
    if (ended !== null) return ended;
    if (!isOurs) return refusal("session_closing", { sessionId });
    return capacityRefusal(why, this.#entries.values(), live);
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

const NOTHING = async () => {};

function nameOf({ tenantId, sessionId }: SessionKey): string {
  return JSON.stringify([tenantId, sessionId]);
}
