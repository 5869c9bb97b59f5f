import type { Refusal } from "../../core/error.ts";
import type { ClientId, UserId } from "../../core/id.ts";
import { CLIENTS_MAX } from "../../core/limits.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import { type Actor, SERVER } from "../../core/session/command.ts";
import type { Viewer } from "../../core/session/visibility.ts";
import type { SessionKey } from "../../store/store.ts";
import type { CreationRequest } from "../actor/open.ts";
import { changeIn } from "../actor/written.ts";
import type { AgentStart } from "../agent/agent-side.ts";
import { liveDeletion } from "../audit/entries.ts";
import type { SessionStreams } from "../bus/streams.ts";
import type { Joined } from "../entry.ts";
import { EVICTED, ensureAgent, retryIfEvicted, wakeAgent } from "../eviction.ts";
import type { LiveSession } from "../live.ts";
import type { SessionRegistry } from "../registry.ts";
import { boundCreation } from "../tenant/policy-check.ts";
import { type SessionWorld, stampedBy } from "../world.ts";

/** A session that was brought back. */
export interface Resumed extends Joined {
  /** Why it has no agent, if that is known already. */
  readonly agentFailure: Refusal | null;
  /** Called when the client has its answer, by who asked that its agent's start waits for that. */
  readonly answered?: () => void;
}

interface Arriving {
  readonly actor: Actor;
  readonly register: Register;
  readonly start: AgentStart;
}

interface ArrivalParts {
  readonly world: SessionWorld;
  readonly registry: SessionRegistry;
  /** The session as its clients may have it. */
  find(key: SessionKey): Promise<Result<LiveSession>>;
  readonly streams: Pick<SessionStreams, "clientsOf">;
}

type BroughtBack = Pick<Resumed, "live" | "answered">;

/** Registers a client at a session; answers why it does not. */
type Register = (live: LiveSession) => Promise<Refusal | null>;

/** How clients come to a session. */
export class Arrivals {
  readonly #parts: ArrivalParts;
  readonly #resuming = new Map<string, Promise<Result<BroughtBack>>>();

  constructor(parts: ArrivalParts) {
    this.#parts = parts;
  }

  /**
   * Makes a session or joins the shared one, and registers the client that asked. It answers when
   * there is an agent; one that was there before is joined without an agent, too (P6).
   */
  create(request: CreationRequest): Promise<Result<Resumed>> {
    const register = this.#registrar(request.actor);
    return retryIfEvicted(async () => {
      const bounded = await boundCreation(this.#parts.world, request);
      if (!bounded.ok) return bounded;
      const wanted = { ...bounded.value, registersMaker: true };
      const joined = await this.#parts.registry.create(wanted);
      if (!joined.ok) return joined;
      if (joined.value.attached) {
        return orAnew(await this.#joined(joined.value, register, ensureAgent));
      }
      noteSignOfLife(this.#parts.world, joined.value.live, request.actor);
      return ok({ ...joined.value, agentFailure: null });
    });
  }

  /**
   * Brings a session back, also one that was closed, and joins it. Its agent is on its way then,
   * and comes or not: the session is there all the same (P6). However many bring it back at once,
   * it is done once, and for one of them it was not there before.
   */
  resume(key: SessionKey, actor: Actor, start: AgentStart = "at once"): Promise<Result<Resumed>> {
    const register = this.#registrar(actor);
    return retryIfEvicted(async () => {
      const back = await this.#broughtBack(key, { actor, register, start });
      if (!back.ok) return back;
      back.value.live.attendance.attachCount += 1;
      return this.#joined(back.value, register, wakeAgent);
    });
  }

  /** Registers a client at a session that is not closed, and wants no agent for it. */
  attach(key: SessionKey, actor: Actor): Promise<Result<LiveSession>> {
    return retryIfEvicted(async () => {
      const found = await this.#parts.find(key);
      if (!found.ok) return found;
      const { attendance } = found.value;
      attendance.attachCount += 1;
      const why = await this.#register(found.value, actor);
      if (why === null) return found;
      attendance.left();
      return { ok: false, refusal: why };
    });
  }

  async #broughtBack(
    key: SessionKey,
    arriving: Arriving,
  ): Promise<Result<Omit<Resumed, "agentFailure">>> {
    const name = JSON.stringify([key.tenantId, key.sessionId]);
    const known = this.#resuming.get(name);
    const isThere = this.#parts.registry.peek(key)?.session.closed === false;
    const resuming =
      known ?? this.#resumed(key, arriving).finally(() => this.#resuming.delete(name));
    this.#resuming.set(name, resuming);
    const resumed = await resuming;
    const attached = known !== undefined || isThere;
    return resumed.ok ? ok({ ...resumed.value, attached }) : resumed;
  }

  /** What is asked for in one moment is one commit, so that the client waits for one flush. */
  async #resumed(key: SessionKey, arriving: Arriving): Promise<Result<BroughtBack>> {
    const { actor, register, start } = arriving;
    const found = await this.#parts.registry.get(key);
    if (!found.ok) return found;
    const live = found.value;
    await live.extended();
    const { skipped, agentSide } = live;
    const held = start === "after the answer" ? { answered: agentSide.hold() } : {};
    const [resumed] = await Promise.all([
      live.submit({ ...this.#by(actor), type: "resume", skipped }),
      // What these two were refused is looked at again where the client joins.
      register(live),
      live.activate(),
    ]);
    if (resumed.refusal !== null) return { ok: false, refusal: resumed.refusal };
    return ok({ live, ...held });
  }

  /** It counts before it is registered, so that the session is not evicted meanwhile. */
  async #joined(
    joined: Omit<Resumed, "agentFailure">,
    register: Register,
    bringAgent: (live: LiveSession) => Promise<Refusal | null>,
  ): Promise<Result<Resumed>> {
    const { live } = joined;
    const why = await register(live);
    if (why !== null) {
      live.attendance.left();
      return { ok: false, refusal: why };
    }
    const agentFailure = await bringAgent(live);
    if (agentFailure === EVICTED) return { ok: false, refusal: EVICTED };
    return ok({ ...joined, agentFailure });
  }

  /** Registers a client once, however often the session has to be opened anew meanwhile. */
  #registrar(actor: Actor): Register {
    let isRegistered = false;
    return async (live) => {
      const why = isRegistered ? null : await this.#register(live, actor);
      isRegistered ||= why === null;
      if (isRegistered) noteSignOfLife(this.#parts.world, live, actor);
      return why;
    };
  }

  async #register(live: LiveSession, actor: Actor): Promise<Refusal | null> {
    if (actor.kind !== "client" || actor.clientId === null) return null;
    const { clientId } = actor;
    const isFull = live.session.clients.size >= CLIENTS_MAX;
    const idle = isFull ? idleClients(live, this.#parts.streams.clientsOf(live)) : [];
    const attached = await live.submit({ ...this.#by(actor), type: "attach", clientId, idle });
    const evicted = changeIn(attached, "client_expired");
    if (evicted !== null) live.attendance.forget(evicted.clientId);
    if (attached.refusal === null) noteSignOfLife(this.#parts.world, live, actor);
    return attached.refusal;
  }

  #by(actor: Actor) {
    return stampedBy(this.#parts.world.clock, actor);
  }
}

/**
 * The clients that make room for another, the first one first: none that reads a stream; those of
 * the user who has most, and of these the one that was seen last the longest ago.
 */
function idleClients(
  { session: { clients }, attendance }: LiveSession,
  watching: ReadonlySet<ClientId>,
): readonly ClientId[] {
  const counts = Map.groupBy(clients.values(), ({ userId }) => userId ?? null);
  const idle = [...clients].filter(([clientId]) => !watching.has(clientId));
  const ranked = idle.map(([clientId, { userId }]) => ({
    clientId,
    count: counts.get(userId ?? null)?.length ?? 0,
    seenMs: attendance.seenMs(clientId) ?? 0,
  }));
  ranked.sort((a, b) => b.count - a.count || a.seenMs - b.seenMs);
  return ranked.map(({ clientId }) => clientId);
}

/** A client that does something in a session is present. */
export function noteSignOfLife({ clock }: SessionWorld, live: LiveSession, actor: Actor) {
  const named = actor.kind === "client" ? actor.clientId : null;
  // An id that the session does not know is no sign of life, and is not kept.
  const clientId = named !== null && live.session.clients.has(named) ? named : null;
  live.attendance.saw(clientId, clock.nowMs());
}

/** A shared session that was closed just then is not joined: the next request gets another. */
function orAnew(joined: Result<Resumed>): Result<Resumed> {
  if (joined.ok) return joined;
  const { code } = joined.refusal;
  const isGone = code === "session_closing" || code === "session_not_found";
  return isGone ? { ok: false, refusal: EVICTED } : joined;
}

interface DepartureParts {
  readonly world: SessionWorld;
  readonly registry: SessionRegistry;
  readonly streams: SessionStreams;
}

/** What becomes of a session when a client leaves it. */
export class Departures {
  readonly #parts: DepartureParts;

  constructor(parts: DepartureParts) {
    this.#parts = parts;
  }

  /** No registered client has been seen here, no stream is open, and nothing waits or runs. */
  isLeft(live: LiveSession): boolean {
    return live.present().length === 0 && !live.isBusy && !this.#parts.streams.isWatched(live);
  }

  /** Takes a client's registration back. The last one to leave lets the session rest. */
  async detach(live: LiveSession, clientId: ClientId, actor: Actor): Promise<Result<void>> {
    const { attendance } = live;
    const left = await this.#unregister(live, clientId, actor);
    if (!left.ok) return left;
    // Detaching an unknown client must not decrement the count.
    if (left.value) attendance.left();
    const isUnwanted = attendance.attachCount === 0 && attendance.spawnOwnerWantedKill;
    if (isUnwanted && !live.isBusy) await this.#remove(live);
    else if (this.isLeft(live)) await this.#parts.registry.evict(live, "last_client_detached");
    return DONE;
  }

  /**
   * The answer to the client that made this session was lost. If no other has joined, it is
   * removed as if it had not been made; else when the last one who joined has left.
   */
  async ownerVanished(live: LiveSession, actor: Actor): Promise<void> {
    const isAlone = live.attendance.attachCount === 0;
    live.attendance.spawnOwnerWantedKill = true;
    const clientId = actor.kind === "client" ? actor.clientId : null;
    if (clientId !== null) await this.#unregister(live, clientId, actor);
    if (isAlone) await this.#remove(live);
  }

  /** Whether it was registered. */
  async #unregister(live: LiveSession, clientId: ClientId, actor: Actor): Promise<Result<boolean>> {
    const atMs = this.#parts.world.clock.nowMs();
    const outcome = await live.submit({ atMs, actor, type: "detach", clientId });
    if (outcome.refusal !== null) return { ok: false, refusal: outcome.refusal };
    if (!live.session.clients.has(clientId)) live.attendance.forget(clientId);
    return { ok: true, value: outcome.isNews };
  }

  /**
   * Unless a client has come meanwhile, or has worked in it: what people have done is theirs, and
   * only the instance ends.
   */
  async #remove(live: LiveSession): Promise<void> {
    const { world, registry, streams } = this.#parts;
    if (live.session.totals.promptCount > 0) {
      if (this.isLeft(live)) await registry.evict(live, "last_client_detached");
      return;
    }
    await registry.evict(live, "killed", async () => {
      if (live.attendance.attachCount > 0 || live.session.totals.promptCount > 0) return;
      // Without the entry a crash right after the deletion would look like a lost session.
      const audit = liveDeletion(live, SERVER, world.clock.nowMs());
      const deleted = await world.store.delete(live.key, world.holder, audit);
      if (deleted.ok) streams.deleted(live.key, live.session.chosen.audience ?? null);
    });
  }
}

/**
 * Who has been at a session since this server opened it. It is observed and never stored, and
 * begins at nothing after a restart.
 */
export class Attendance {
  /** How many clients joined that had not made the session. */
  attachCount = 0;
  /** A client was told that it did something here after the session was made. */
  wasUsed = false;
  /** Its maker was gone before the answer: it ends when no other client is there. */
  spawnOwnerWantedKill = false;
  readonly #seenMs = new Map<ClientId, number>();
  /** Users who came as owners of the tenant: they see the session, private or not. */
  readonly #owners = new Set<UserId>();
  #activeMs: number;

  /** When this server began with it, or the last that happened in it before. */
  readonly openedMs: number;

  constructor(nowMs: number, openedMs: number) {
    this.#activeMs = nowMs;
    this.openedMs = openedMs;
  }

  /** One of those who joined has gone. */
  left() {
    this.attachCount = Math.max(0, this.attachCount - 1);
  }

  /** A client has shown a sign of life; its id is known only if it sent one. */
  saw(clientId: ClientId | null, nowMs: number) {
    this.#activeMs = nowMs;
    if (clientId !== null) this.#seenMs.set(clientId, nowMs);
  }

  noteRole({ userId, role }: Pick<Viewer, "userId" | "role">) {
    if (userId === null) return;
    if (role === "owner") this.#owners.add(userId);
    else this.#owners.delete(userId);
  }

  /** As what a user was last here; the role of others is taken for a member's. */
  roleOf(userId: UserId): "owner" | "member" {
    return this.#owners.has(userId) ? "owner" : "member";
  }

  forget(clientId: ClientId) {
    this.#seenMs.delete(clientId);
  }

  seenMs(clientId: ClientId): number | null {
    return this.#seenMs.get(clientId) ?? null;
  }

  get present(): readonly ClientId[] {
    return [...this.#seenMs.keys()];
  }

  /** The last heartbeat or prompt, or else the beginning. */
  get activeMs(): number {
    return this.#activeMs;
  }
}
