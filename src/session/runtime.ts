import type { Refusal } from "../core/error.ts";
import type { ClientId, SessionId, TenantId } from "../core/id.ts";
import { SESSION_IDLE_MS, SESSION_REAP_MS } from "../core/limits.ts";
import type { LiveReplayMode } from "../core/replay/window.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import type { Actor, Command } from "../core/session/command.ts";
import type { SessionKey, SessionRecord } from "../store/store.ts";
import type { Outcome } from "./actor/actor.ts";
import { recordOf } from "./actor/record.ts";
import type { Written } from "./actor/written.ts";
import { frameOf } from "./bus/frame.ts";
import { streamError } from "./bus/notice.ts";
import { SessionBus } from "./bus/session-bus.ts";
import type { SubscribeRequest, Subscription } from "./bus/subscription.ts";
import { type SessionSummary, sessionUpdated, TenantStream } from "./bus/tenant-stream.ts";
import type { TenantSubscription } from "./bus/tenant-subscription.ts";
import { EXPORT_FORMATS, type ExportFormat, exportSession, storeSource } from "./export/index.ts";
import { LET_GO, type LiveOwner, type LiveSession } from "./live.ts";
import { type RecoveryProgress, reconcileStaleSessions } from "./recovery.ts";
import { type Joined, type NewSessionOrder, SessionRegistry } from "./registry.ts";
import { replayOf, type SessionReplay } from "./replay.ts";
import { shutDown } from "./shutdown.ts";
import type { CallOff, SessionWorld } from "./world.ts";

interface ExportedFile {
  readonly mediaType: string;
  readonly pieces: AsyncIterable<string>;
}

/** Events after which a session looks different in a list. */
const LISTED: ReadonlySet<string> = new Set([
  "session_created",
  "session_status",
  "session_lifecycle",
  "session_metadata_updated",
  "session_closed",
  "prompt_admitted",
]);

const TENANT_PAGE = 200;

/** What a list shows of a session, stored or live. */
function summaryOf(row: SessionRecord & { readonly sessionId: SessionId }): SessionSummary {
  const { sessionId, workspaceCwd, status, displayName, closed, pendingPrompts, updatedAtMs } = row;
  const state = {
    sessionId,
    workspaceCwd,
    status,
    displayName,
    closed,
    pendingPrompts,
    updatedAtMs,
  };
  return { sessionId, state };
}

/** What ends the streams that are open when it is told. */
const TERMINAL: ReadonlySet<string> = new Set(["session_died", "session_closed"]);

/**
 * All live sessions of a server, with their streams and the rules by which they come and go. This
 * is what a network in front of it, or a program around it, speaks to.
 */
export class SessionRuntime implements LiveOwner {
  readonly #world: SessionWorld;
  readonly #registry: SessionRegistry;
  readonly #buses = new Map<LiveSession, SessionBus>();
  readonly #tenants = new Map<TenantId, TenantStream>();
  #progress: RecoveryProgress = { total: 0, recovered: 0, setAside: [] };
  #callOffReaper: CallOff = () => {};
  #isStopping = false;

  constructor(world: SessionWorld) {
    this.#world = world;
    this.#registry = new SessionRegistry(world, this, (live) => this.#isWatched(live));
    this.#reapLater();
  }

  /** How far the recovery after the start has come; sessions can be used meanwhile. */
  get recovery(): RecoveryProgress {
    return this.#progress;
  }

  /** Closes what the last server left open. Whoever asks for a session meanwhile gets it. */
  async recover() {
    const tell = (progress: RecoveryProgress) => {
      this.#progress = progress;
    };
    return reconcileStaleSessions(this.#world, this.#registry, tell);
  }

  /** Makes a session or joins the shared one, and registers the client that asked. */
  async create(order: NewSessionOrder): Promise<Result<Joined>> {
    const joined = await this.#registry.create(order);
    if (!joined.ok) return joined;
    const { live, attached } = joined.value;
    const why = await this.#register(live, order.actor);
    if (why !== null) return { ok: false, refusal: why };
    if (attached) live.attendance.attachCount += 1;
    return joined;
  }

  /**
   * The session, as its clients may have it: opened from the store if it is not live, and not
   * found if it was closed on request and nobody has loaded it since.
   */
  async find(key: SessionKey): Promise<Result<LiveSession>> {
    const found = await this.#registry.get(key);
    if (!found.ok || !found.value.session.closed) return found;
    if (this.#isLeft(found.value)) await this.#registry.letGo(found.value);
    return fail("session_not_found", { sessionId: key.sessionId });
  }

  /** Brings a session back, also one that was closed, and joins it. */
  async resume(key: SessionKey, actor: Actor): Promise<Result<LiveSession>> {
    const found = await this.#registry.get(key);
    if (!found.ok) return found;
    const live = found.value;
    const { skipped } = live;
    const resumed = await live.submit({ ...this.#by(actor), type: "resume", skipped });
    if (resumed.refusal !== null) return { ok: false, refusal: resumed.refusal };
    const why = await this.#register(live, actor);
    live.attendance.attachCount += 1;
    return why === null ? ok(live) : { ok: false, refusal: why };
  }

  async attach(key: SessionKey, actor: Actor): Promise<Result<LiveSession>> {
    const found = await this.find(key);
    if (!found.ok) return found;
    const why = await this.#register(found.value, actor);
    if (why !== null) return { ok: false, refusal: why };
    found.value.attendance.attachCount += 1;
    return found;
  }

  /** Gives a command to a session; whoever does so has shown a sign of life. */
  async submit(key: SessionKey, command: Command): Promise<Result<Outcome>> {
    const found = await this.find(key);
    if (!found.ok) return found;
    this.#saw(found.value, command.actor);
    const outcome = await found.value.submit(command);
    // It was let go between the two: then it is opened again for this.
    if (outcome.refusal === LET_GO) return this.submit(key, command);
    return outcome.refusal === null ? ok(outcome) : { ok: false, refusal: outcome.refusal };
  }

  async heartbeat(key: SessionKey, actor: Actor): Promise<Result<void>> {
    const found = await this.find(key);
    if (!found.ok) return found;
    this.#saw(found.value, actor);
    return DONE;
  }

  /** Takes a client's registration back. The last one to leave lets the session rest. */
  async detach(key: SessionKey, clientId: ClientId, actor: Actor): Promise<Result<void>> {
    const found = await this.find(key);
    if (!found.ok) return found;
    const live = found.value;
    const outcome = await live.submit({ ...this.#by(actor), type: "detach", clientId });
    if (outcome.refusal !== null) return { ok: false, refusal: outcome.refusal };
    const { attendance } = live;
    if (!live.session.clients.has(clientId)) attendance.forget(clientId);
    attendance.attachCount = Math.max(0, attendance.attachCount - 1);
    if (attendance.attachCount === 0 && attendance.spawnOwnerWantedKill) await this.#remove(live);
    else if (this.#isLeft(live)) await this.#registry.evict(live, "last_client_detached");
    return DONE;
  }

  /**
   * The answer to whoever made this session could not be delivered. If nobody has joined, it is
   * removed as if it had not been made; else when the last one who joined has left.
   */
  async ownerVanished(live: LiveSession): Promise<void> {
    if (live.attendance.attachCount > 0) live.attendance.spawnOwnerWantedKill = true;
    else await this.#remove(live);
  }

  async subscribe(key: SessionKey, request: SubscribeRequest): Promise<Result<Subscription>> {
    const found = await this.find(key);
    if (!found.ok) return found;
    await found.value.settled();
    const { store } = this.#world;
    const readPast = (after: number, limit: number) => store.readEvents(key, { after, limit });
    return this.#busOf(found.value).subscribe(request, { readPast });
  }

  /** All sessions of a tenant as they are, and then each that changes. */
  watchTenant(tenantId: TenantId): Result<TenantSubscription> {
    const stream = this.#tenants.get(tenantId) ?? new TenantStream();
    this.#tenants.set(tenantId, stream);
    return stream.subscribe(async (cursor) => {
      const page = await this.#world.store.list(tenantId, {}, { limit: TENANT_PAGE, cursor });
      if (!page.ok) return page;
      const { sessions, nextCursor } = page.value;
      const told = sessions.map((row) => {
        return { sessionId: row.sessionId, updated: sessionUpdated(summaryOf(row)) };
      });
      return ok({ sessions: told, nextCursor });
    });
  }

  /** What a client that loads a session is shown; it subscribes from where that ends. */
  async replay(key: SessionKey, mode: LiveReplayMode): Promise<Result<SessionReplay>> {
    const found = await this.find(key);
    if (!found.ok) return found;
    return replayOf(this.#world.store, key, found.value.lastEventId, mode);
  }

  /** The session as a file, in pieces, with what kind of file that is. */
  async export(key: SessionKey, format: ExportFormat): Promise<Result<ExportedFile>> {
    const found = await this.find(key);
    if (!found.ok) return found;
    const pieces = await exportSession(storeSource(this.#world.store, key), format);
    if (!pieces.ok) return pieces;
    return ok({ mediaType: EXPORT_FORMATS[format].mediaType, pieces: pieces.value });
  }

  /** Ends everything in order. In a hurry, what still runs gets its verdict at once. */
  async shutDown(hurry: AbortSignal): Promise<void> {
    this.#isStopping = true;
    this.#callOffReaper();
    await shutDown(this.#world, this.#registry, hurry);
    const last = streamError("The server is shutting down.", "daemon_shutdown");
    for (const stream of this.#tenants.values()) stream.end(last);
  }

  published(live: LiveSession, written: readonly Written[]) {
    this.#tellTenant(live, written);
    const bus = this.#buses.get(live);
    if (bus === undefined || written.length === 0) return;
    const terminal = written.findLast(({ event }) => TERMINAL.has(event.type));
    bus.publish(written.map(frameOf), terminal?.id ?? null);
  }

  interrupted(live: LiveSession, why: Refusal) {
    const last = streamError("The session store failed; connect again.", why.code);
    this.#buses.get(live)?.end(last);
    this.#buses.delete(live);
  }

  /** A stream outlives the session in memory only if somebody opens the two again. */
  released(live: LiveSession) {
    const stopping = streamError("The server is shutting down.", "daemon_shutdown");
    this.#buses.get(live)?.end(this.#isStopping ? stopping : null);
    this.#buses.delete(live);
  }

  /** Lets go of what nobody has used for a while; the wire's idle reaper. */
  async reapIdle(): Promise<void> {
    const nowMs = this.#world.clock.nowMs();
    const idle = this.#registry.all.filter((live) => {
      const isUsed = live.isBusy || this.#isWatched(live);
      return !isUsed && nowMs - live.attendance.activeMs >= SESSION_IDLE_MS;
    });
    for (const live of idle) await this.#registry.evict(live, "idle_timeout");
  }

  /** Lists change with few events, and with none of an agent's chunks. */
  #tellTenant(live: LiveSession, written: readonly Written[]) {
    const stream = this.#tenants.get(live.key.tenantId);
    if (stream === undefined || !written.some(({ event }) => LISTED.has(event.type))) return;
    const { sessionId } = live.key;
    stream.update(summaryOf({ sessionId, ...recordOf(live.session, this.#world.clock.nowMs()) }));
  }

  /** The sessions of a tenant that are live at the moment. */
  liveOf(tenantId: TenantId): readonly LiveSession[] {
    return this.#registry.all.filter(({ key }) => key.tenantId === tenantId);
  }

  #reapLater() {
    this.#callOffReaper = this.#world.clock.after(SESSION_REAP_MS, () => {
      void this.reapIdle().finally(() => this.#reapLater());
    });
  }

  /** Nobody is registered, nobody watches, and nothing waits or runs. */
  #isLeft(live: LiveSession): boolean {
    const { clients } = live.session;
    return clients.size === 0 && !live.isBusy && !this.#isWatched(live);
  }

  #isWatched(live: LiveSession): boolean {
    return (this.#buses.get(live)?.subscriberCount ?? 0) > 0;
  }

  #busOf(live: LiveSession): SessionBus {
    const known = this.#buses.get(live);
    if (known !== undefined) return known;
    const nowMs = () => this.#world.clock.nowMs();
    const bus = new SessionBus({ epoch: live.epoch, lastEventId: live.lastEventId }, nowMs);
    this.#buses.set(live, bus);
    return bus;
  }

  async #register(live: LiveSession, actor: Actor): Promise<Refusal | null> {
    if (actor.kind !== "client" || actor.clientId === null) return null;
    this.#saw(live, actor);
    const { clientId } = actor;
    const present = live.present();
    const attached = await live.submit({ ...this.#by(actor), type: "attach", clientId, present });
    return attached.refusal;
  }

  #saw(live: LiveSession, actor: Actor) {
    const clientId = actor.kind === "client" ? actor.clientId : null;
    live.attendance.saw(clientId, this.#world.clock.nowMs());
  }

  /** Unless somebody has come and put it to work. */
  async #remove(live: LiveSession): Promise<void> {
    const { store, holder } = this.#world;
    await this.#registry.evict(live, "killed", () => store.delete(live.key, holder, []));
  }

  #by(actor: Actor) {
    return { atMs: this.#world.clock.nowMs(), actor };
  }
}
