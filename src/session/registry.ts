import { type Refusal, refusal } from "../core/error.ts";
import type { TenantId } from "../core/id.ts";
import { EVICTIONS_TRIED_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { type Actor, type Command, SERVER } from "../core/session/command.ts";
import type { SessionKey } from "../store/store.ts";
import type { Outcome } from "./actor/written.ts";
import { createSession, type NewSession } from "./life/open.ts";
import { type LiveOwner, LiveSession } from "./live.ts";
import { givenBy, type SessionWorld } from "./world.ts";

export interface NewSessionOrder {
  readonly key: SessionKey;
  readonly creation: NewSession;
  readonly actor: Actor;
}

/** A session that was asked for, and whether it had been there before. */
export interface Joined {
  readonly live: LiveSession;
  readonly attached: boolean;
}

/**
 * The sessions that are in memory, at most one of each. Whoever asks for one that is being opened
 * or made waits for that, so no two owners of a session ever meet in one server.
 */
export class SessionRegistry {
  readonly #world: SessionWorld;
  readonly #owner: LiveOwner;
  /** What live sessions tell of themselves comes through here, to know of those that are over. */
  readonly #ears: LiveOwner;
  readonly #live = new Map<string, LiveSession>();
  readonly #opening = new Map<string, Promise<Result<LiveSession>>>();
  /** On their way out: whoever wants one of these waits, and opens it anew. */
  readonly #leaving = new Map<string, PromiseWithResolvers<void>>();
  readonly #making = new Set<Promise<unknown>>();
  /** How many are being made or opened, by tenant and workspace. */
  readonly #arriving = new Map<string, number>();
  /** Those that are making room. */
  readonly #departing = new Set<LiveSession>();
  readonly #joining = new Map<string, Promise<Result<Joined>>>();
  /** Made, and without their agents yet. */
  readonly #unready = new Set<LiveSession>();
  /** Whether a stream is open on a session: those are not let go. */
  readonly #isWatched: (live: LiveSession) => boolean;
  #isStopping = false;

  constructor(world: SessionWorld, owner: LiveOwner, isWatched: (live: LiveSession) => boolean) {
    this.#world = world;
    this.#owner = owner;
    this.#ears = {
      published: (live, written) => owner.published(live, written),
      interrupted: (live, why) => owner.interrupted(live, why),
      commandNext: (live, prompt) => owner.commandNext(live, prompt),
      released: (live) => this.#forget(live),
    };
    this.#isWatched = isWatched;
  }

  get all(): readonly LiveSession[] {
    return [...this.#live.values()];
  }

  /** The live one, if there is one: nothing is opened for a look. */
  peek(key: SessionKey): LiveSession | null {
    return this.#live.get(nameOf(key)) ?? null;
  }

  /** The same, also if it is just being opened or made: that is waited for. */
  async arrived(key: SessionKey): Promise<LiveSession | null> {
    await this.#opening.get(nameOf(key));
    return this.peek(key);
  }

  /**
   * Opens a stored session on demand; however many ask, it is opened once. Recovery opens all that
   * it finds, at the cap or not: they have to be closed.
   */
  get(key: SessionKey, cap: "capped" | "uncapped" = "capped"): Promise<Result<LiveSession>> {
    const name = nameOf(key);
    const live = this.#live.get(name);
    if (live !== undefined) return Promise.resolve(ok(live));
    const why = this.#refusalFor(key.tenantId);
    if (why !== null) return Promise.resolve({ ok: false, refusal: why });
    const known = this.#opening.get(name);
    if (known !== undefined) return known;
    const opening = this.#open(name, key, cap);
    this.#opening.set(name, opening);
    return opening;
  }

  /**
   * Makes a session, or joins the one that its workspace shares. It answers when the agent is
   * ready; if none can be had, nothing is left behind.
   */
  create(order: NewSessionOrder): Promise<Result<Joined>> {
    const making = this.#create(order).finally(() => this.#making.delete(making));
    this.#making.add(making);
    return making;
  }

  async #create(order: NewSessionOrder): Promise<Result<Joined>> {
    const { key, creation } = order;
    if (creation.scope === "thread") return this.#make(order);
    const place = JSON.stringify([key.tenantId, creation.workspaceCwd]);
    const joining = this.#joining.get(place);
    if (joining !== undefined) return joining.then(joinedToo);
    const making = this.#joinOrMake(order).finally(() => this.#joining.delete(place));
    this.#joining.set(place, making);
    return making;
  }

  /**
   * Lets a session go that nobody needs in memory; no if somebody does after all. What is to be
   * done with it then is done before anybody else can have it.
   */
  async letGo(live: LiveSession, then: () => Promise<unknown> = NOTHING): Promise<boolean> {
    const name = nameOf(live.key);
    if (this.#live.get(name) !== live) return then === NOTHING || this.#afterOthers(name, then);
    const leaving = Promise.withResolvers<void>();
    this.#live.delete(name);
    this.#leaving.set(name, leaving);
    const isGone = await live.letGo();
    if (isGone) await then();
    this.#leaving.delete(name);
    if (!isGone) this.#keep(live);
    leaving.resolve();
    if (isGone) this.#forget(live);
    return isGone;
  }

  /** Somebody else lets it go already: then this comes after, unless it is wanted again. */
  async #afterOthers(name: string, then: () => Promise<unknown>): Promise<boolean> {
    await this.#leaving.get(name)?.promise;
    if (this.#live.has(name) || this.#opening.has(name)) return false;
    await then();
    return true;
  }

  #keep(live: LiveSession) {
    if (this.#isStopping) live.rest();
    this.#live.set(nameOf(live.key), live);
  }

  async abandon(live: LiveSession): Promise<void> {
    const name = nameOf(live.key);
    this.#live.delete(name);
    // If it was on its way out, nobody waits for that any more.
    this.#leaving.get(name)?.resolve();
    this.#leaving.delete(name);
    await live.abandon();
    this.#forget(live);
  }

  /** Why nothing of this tenant is taken in; null if it is. */
  #refusalFor(tenantId: TenantId): Refusal | null {
    if (this.#isStopping) return refusal("server_stopping");
    return this.#world.tenants.isClosed(tenantId) ? refusal("tenant_deleting") : null;
  }

  /**
   * Resolves when no session of this tenant, for which nobody is let in any more, is on its way in
   * or out. Those that wait for their agents do not wait any longer.
   */
  async arrivals(tenantId: TenantId): Promise<void> {
    const isOurs = ([name]: readonly [string, unknown]) => name.startsWith(namesOf(tenantId));
    const unready = [...this.#unready].filter(({ key }) => key.tenantId === tenantId);
    await Promise.all(unready.map((live) => live.abandon()));
    const opening = [...this.#opening].filter(isOurs).map(([, promise]) => promise);
    const leaving = [...this.#leaving].filter(isOurs).map(([, { promise }]) => promise);
    await Promise.all([...opening, ...leaving]);
  }

  /** Resolves when nothing is being opened, made or let go any more. */
  async quiet(): Promise<void> {
    while (this.#opening.size + this.#making.size + this.#leaving.size > 0) {
      await Promise.all([...this.#opening.values(), ...this.#making, ...this.#partings()]);
    }
  }

  #partings(): readonly Promise<void>[] {
    return [...this.#leaving.values()].map(({ promise }) => promise);
  }

  #forget(live: LiveSession) {
    if (this.#live.get(nameOf(live.key)) === live) this.#live.delete(nameOf(live.key));
    this.#owner.released(live);
  }

  /** From now on nothing new is taken in. */
  stopTakingIn() {
    this.#isStopping = true;
    for (const live of this.all) live.rest();
  }

  async #open(
    name: string,
    key: SessionKey,
    cap: "capped" | "uncapped",
  ): Promise<Result<LiveSession>> {
    try {
      await this.#leaving.get(name)?.promise;
      const back = this.#live.get(name);
      if (back !== undefined) return ok(back);
      const opened = await LiveSession.open(this.#world, key, this.#ears);
      if (!opened.ok) return opened;
      return cap === "capped" ? await this.#admit(opened.value) : ok(this.#begin(opened.value));
    } finally {
      this.#opening.delete(name);
    }
  }

  /** What there is no room for goes back to where it was: nothing has been done with it. */
  async #admit(live: LiveSession): Promise<Result<LiveSession>> {
    const room = await this.#makeRoom(live.key.tenantId, live.session.fixed.workspaceCwd);
    if (!room.ok) {
      if (!(await live.letGo())) await live.abandon();
      return room;
    }
    this.#begin(live);
    room.value();
    return ok(live);
  }

  #begin(live: LiveSession): LiveSession {
    this.#keep(live);
    live.start();
    return live;
  }

  async #joinOrMake(order: NewSessionOrder): Promise<Result<Joined>> {
    const { key, creation } = order;
    const shared = await this.#sharedSession(key.tenantId, creation.workspaceCwd);
    if (!shared.ok) return shared;
    if (shared.value === null) return this.#make(order);
    const live = await this.get(shared.value);
    if (!live.ok) return live;
    // One that is just being closed is nobody's to join any more.
    if (isClosing(live.value)) return this.#make(order);
    return joinedToo(ok({ live: live.value, attached: true }));
  }

  /**
   * The one that was made last, unless its clients have closed it or it has died: then there will
   * be another, and one that comes back from the dead is not joined in its place.
   */
  async #sharedSession(
    tenantId: TenantId,
    workspaceCwd: string,
  ): Promise<Result<SessionKey | null>> {
    const filter = { workspaceCwd, shared: true, closed: false };
    const page = await this.#world.store.list(tenantId, filter, { limit: 16, cursor: null });
    if (!page.ok) return page;
    const [last] = [...page.value.sessions].sort((a, b) => b.createdAtMs - a.createdAtMs);
    const isThere = last !== undefined && last.status !== "error";
    return ok(isThere ? { tenantId, sessionId: last.sessionId } : null);
  }

  /** Whoever asks for it by its id while it is being made waits for that, too. */
  async #make(order: NewSessionOrder): Promise<Result<Joined>> {
    const { sessionId, tenantId } = order.key;
    const why = this.#refusalFor(tenantId);
    if (why !== null) return { ok: false, refusal: why };
    const name = nameOf(order.key);
    const conflict = this.#live.has(name) ? "live" : this.#opening.has(name) ? "pending" : null;
    if (conflict !== null) return fail("session_id_conflict", { sessionId, conflict });
    const making = this.#made(order).finally(() => this.#opening.delete(name));
    this.#opening.set(name, making);
    const made = await making;
    return made.ok ? ok({ live: made.value, attached: false }) : made;
  }

  async #made({ key, creation, actor }: NewSessionOrder): Promise<Result<LiveSession>> {
    const room = await this.#makeRoom(key.tenantId, creation.workspaceCwd);
    if (!room.ok) return room;
    try {
      const made = await createSession(this.#world, key, creation, actor);
      // Its place is kept until it is there: only then is it counted among the others.
      if (made.ok) return await this.#readied(new LiveSession(this.#world, made.value, this.#ears));
      // Nobody knows whether it was made. It was not asked for twice, so it may go.
      if (made.refusal.code === "store_unavailable") await this.#delete(key);
      return made;
    } finally {
      room.value();
    }
  }

  /** Nobody gets at it before it has its agent: without one it has never been. */
  async #readied(live: LiveSession): Promise<Result<LiveSession>> {
    const { tenantId } = live.key;
    this.#unready.add(live);
    const why = this.#refusalFor(tenantId) ?? (await live.activated());
    this.#unready.delete(live);
    if (why === null) {
      this.#keep(live);
      return ok(live);
    }
    await live.abandon();
    await this.#delete(live.key);
    return { ok: false, refusal: this.#refusalFor(tenantId) ?? why };
  }

  async #delete(key: SessionKey): Promise<void> {
    await this.#world.store.delete(key, this.#world.holder, []);
  }

  /**
   * Keeps a place for one more, until it is given back. At the cap the one that has been idle and
   * unwatched for longest makes room; those on their way in are counted like those that are there.
   */
  async #makeRoom(tenantId: TenantId, workspaceCwd: string): Promise<Result<() => void>> {
    const place = JSON.stringify([tenantId, workspaceCwd]);
    const limit = this.#world.settings.sessionsLiveMax ?? Number.POSITIVE_INFINITY;
    this.#arriving.set(place, (this.#arriving.get(place) ?? 0) + 1);
    for (let tries = 0; tries < EVICTIONS_TRIED_MAX; tries += 1) {
      const staying = this.all.filter(
        (live) =>
          live.key.tenantId === tenantId &&
          live.session.fixed.workspaceCwd === workspaceCwd &&
          !this.#departing.has(live),
      );
      const count = staying.length + (this.#arriving.get(place) ?? 0);
      if (count <= limit) return ok(() => this.#arrived(place));
      const idlest = this.#idlest(staying);
      if (idlest === null) break;
      this.#departing.add(idlest);
      await this.evict(idlest, "evicted").finally(() => this.#departing.delete(idlest));
    }
    this.#arrived(place);
    return fail("session_limit_exceeded", { limit, scope: "workspace" });
  }

  #idlest(some: readonly LiveSession[]): LiveSession | null {
    const idle = some.filter((live) => !live.isBusy && !this.#isWatched(live));
    const [first] = idle.sort((one, other) => one.attendance.activeMs - other.attendance.activeMs);
    return first ?? null;
  }

  #arrived(place: string) {
    const arriving = (this.#arriving.get(place) ?? 1) - 1;
    if (arriving === 0) this.#arriving.delete(place);
    else this.#arriving.set(place, arriving);
  }

  /** Ends the live instance in good order; the session stays where it is stored. */
  async evict(
    live: LiveSession,
    reason: Command<"stop">["reason"],
    then?: () => Promise<unknown>,
  ): Promise<Refusal | null> {
    const by = givenBy(this.#world.clock, SERVER);
    const outcome: Outcome = await live.submit({ ...by, type: "stop", reason });
    if (outcome.refusal !== null) return outcome.refusal;
    // If somebody brings it back meanwhile, it may be at work before anybody has seen it rest.
    await live.until(({ connection, ending }) => {
      return connection.sessionState === "inactive" || ending === null;
    });
    if (await this.letGo(live, then)) return null;
    return refusal("session_busy", { sessionId: live.key.sessionId });
  }
}

/** It counts from this moment, so that nobody takes the session away from whoever joins it. */
function joinedToo(joined: Result<Joined>): Result<Joined> {
  if (!joined.ok) return joined;
  joined.value.live.attendance.attachCount += 1;
  return ok({ ...joined.value, attached: true });
}

function isClosing({ session: { closed, ending } }: LiveSession): boolean {
  return closed || ending?.reason === "client_close";
}

const NOTHING = async () => {};

function nameOf({ tenantId, sessionId }: SessionKey): string {
  return JSON.stringify([tenantId, sessionId]);
}

/** What the names of all sessions of a tenant begin with. */
function namesOf(tenantId: TenantId): string {
  return `${JSON.stringify([tenantId]).slice(0, -1)},`;
}
