import type { ContentBlock } from "../core/agent-update.ts";
import { refusal } from "../core/error.ts";
import { type ClientId, isUuid, type PromptId, parsePromptId, type TenantId } from "../core/id.ts";
import type { LiveReplayMode } from "../core/replay/window.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import { type Actor, type Command, clientOf, userOf } from "../core/session/command.ts";
import { type Sharing, sharingOf, type Viewer } from "../core/session/visibility.ts";
import { slashTextOf } from "../core/slash/commands.ts";
import type { CallOff } from "../platform/clock.ts";
import type { SessionKey } from "../store/store.ts";
import type { CreationRequest } from "./actor/open.ts";
import type { Outcome } from "./actor/written.ts";
import type { AgentStart } from "./agent/agent-side.ts";
import { SessionStreams, UNHELD } from "./bus/streams.ts";
import type { SubscribeRequest, Subscription } from "./bus/subscription.ts";
import type { TenantSubscription } from "./bus/tenant-stream.ts";
import { Choices } from "./choice/choices.ts";
import { BuiltInCommands } from "./command/built-in-commands.ts";
import { SlashCommands } from "./command/slash-commands.ts";
import { EVICTED, retryIfEvicted } from "./eviction.ts";
import { type ExportFormat, type ExportWriter, exportFile } from "./export/export.ts";
import type { ExportReader } from "./export/permits.ts";
import { ExportProcesses } from "./export/process.ts";
import { type ExportSight, storeSource } from "./export/source.ts";
import { Arrivals, Departures, noteSignOfLife, type Resumed } from "./life/clients.ts";
import { deleteEmptySessions, deleteIfEmpty } from "./life/empty.ts";
import { closeSession, deleteSession, reapIdle, shutDown, type TellDrain } from "./life/ending.ts";
import { type Recovery, type RecoveryProgress, reconcileStaleSessions } from "./life/recovery.ts";
import type { LiveSession } from "./live.ts";
import { SessionRegistry } from "./registry.ts";
import { replayOf, type SessionReplay } from "./replay.ts";
import type { AdmittedPrompt, ClientCommand, PromptRequest, SteerRequest } from "./requests.ts";
import { deleteUnfinishedForks } from "./side/fork-draft.ts";
import { SideWork } from "./side/side-work.ts";
import { boundCommand } from "./tenant/policy-check.ts";
import { fullDisk } from "./tenant/tenant-disk.ts";
import { removeTenant, withoutOutsiders } from "./tenant/tenant-removal.ts";
import { SessionReads } from "./view/reads.ts";
import { type SessionWorld, stampedBy } from "./world.ts";

/**
 * All live sessions of a server, with their streams and the rules by which they come and go. The
 * program around it starts and stops it; fronts reach sessions through `SessionService`.
 */
export class SessionHost {
  readonly #world: SessionWorld;
  readonly #registry: SessionRegistry;
  /** What can be done with sessions beside their turns. */
  readonly side: SideWork;
  /** What sessions are set to. */
  readonly choices: Choices;
  readonly reads: SessionReads;
  readonly #arrivals: Arrivals;
  readonly #departures: Departures;
  readonly #streams: SessionStreams;
  readonly #exports: ExportWriter;
  #progress: RecoveryProgress = { total: 0, recovered: 0, setAside: [] };
  #callOffReaper: CallOff = () => {};
  #isStopping = false;

  constructor(world: SessionWorld, streams = new SessionStreams(world)) {
    this.#world = world;
    this.reads = new SessionReads(world, streams);
    this.#streams = streams;
    this.#exports = world.exports ?? new ExportProcesses(world.clock);
    const isWatched = (live: LiveSession) => this.#streams.isWatched(live);
    this.choices = new Choices(world, (key, actor) => this.#seen(key, actor));
    const builtIns = new BuiltInCommands(world, {
      choices: this.choices,
      create: (request) => this.#registry.create(request),
    });
    this.#registry = new SessionRegistry(world, {
      join: (live) => [streams.join(live), new SlashCommands(world, builtIns, live)],
      isWatched,
      unmade: ({ key, session }) => streams.deleted(key, session.chosen.audience ?? null),
    });
    const find = (key: SessionKey) => this.find(key);
    this.#arrivals = new Arrivals({ world, registry: this.#registry, find, streams });
    this.#departures = new Departures({ world, registry: this.#registry, streams });
    this.side = new SideWork(world, find);
    this.#reapLater();
  }

  /** How far the recovery after the start has come; sessions can be used meanwhile. */
  get recovery(): RecoveryProgress {
    return this.#progress;
  }

  /** Closes what the last server left open. Sessions can be used meanwhile. */
  async recover(): Promise<Result<Recovery>> {
    const forks = await deleteUnfinishedForks(this.#world);
    if (!forks.ok) return forks;
    const tell = (progress: RecoveryProgress) => {
      this.#progress = progress;
    };
    await deleteEmptySessions(this.#parts);
    return reconcileStaleSessions(this.#world, this.#registry, tell);
  }

  /** Makes a session or joins the shared one; its agent is there with the answer. */
  async create(request: CreationRequest): Promise<Result<Resumed>> {
    const full = await fullDisk(this.#world, request.key, this.#streams);
    return full === null ? this.#arrivals.create(request) : { ok: false, refusal: full };
  }

  /**
   * The session, as its clients may have it: opened from the store if it is not live, and not
   * found if it was closed on request and not loaded since.
   */
  async find(key: SessionKey): Promise<Result<LiveSession>> {
    const found = await this.#registry.get(key);
    if (!found.ok || !found.value.session.closed) return found;
    if (this.#departures.isLeft(found.value)) await this.#registry.release(found.value);
    return fail("session_not_found", { sessionId: key.sessionId });
  }

  /** Brings a session back, also one that was closed, and does not wait for its agent (P6). */
  resume(key: SessionKey, actor: Actor, start?: AgentStart): Promise<Result<Resumed>> {
    return this.#arrivals.resume(key, actor, start);
  }

  attach(key: SessionKey, actor: Actor): Promise<Result<LiveSession>> {
    return this.#arrivals.attach(key, actor);
  }

  /** Gives a command to a session on behalf of an actor. */
  command(key: SessionKey, actor: Actor, request: ClientCommand): Promise<Result<Outcome>> {
    return this.submit(key, { ...request, ...this.#by(actor) });
  }

  /** Gives a command to a session, for a client that is present by that. */
  submit(key: SessionKey, command: Command): Promise<Result<Outcome>> {
    return retryIfEvicted(async () => {
      const found = await this.find(key);
      return found.ok ? accepted(await this.#submit(found.value, command)) : found;
    });
  }

  /** Admits a prompt of a client. Where it reads on is noted before, so that it misses nothing. */
  prompt(key: SessionKey, actor: Actor, request: PromptRequest): Promise<Result<AdmittedPrompt>> {
    return retryIfEvicted(async () => {
      const found = await this.find(key);
      if (!found.ok) return found;
      const { content, deadlineMs, isRetry, ...given } = request;
      // Others have seen the words of a prompt that failed; any other prompt is shown to them.
      const isSeen = isRetry && found.value.session.lastTurnError !== null;
      const prompt = { ...this.#newPrompt(found.value, content, deadlineMs), ...given };
      const by = this.#by(actor);
      return this.#admit(found.value, { ...by, type: "prompt", ...prompt, echo: !isSeen });
    });
  }

  /** Admits a prompt as it is. */
  admit(key: SessionKey, command: Command<"prompt">): Promise<Result<AdmittedPrompt>> {
    return retryIfEvicted(async () => {
      const found = await this.find(key);
      return found.ok ? this.#admit(found.value, command) : found;
    });
  }

  /** Its verdict reaches no stream of its client before `answered` was called. */
  async #admit(live: LiveSession, command: Command<"prompt">): Promise<Result<AdmittedPrompt>> {
    // The credits and streams of a session are those of the log as it is opened now.
    const bounded = await boundCommand(this.#world, live, command);
    if (!bounded.ok) return bounded;
    const away = (await live.settled()) ?? (await fullDisk(this.#world, live.key, this.#streams));
    if (away !== null) return { ok: false, refusal: away };
    let hold = UNHELD;
    const admission = live.credit.admit(bounded.value, async (paid) => {
      await live.settled();
      hold = this.#streams.holdVerdict(live, command.promptId, clientOf(command.actor));
      return this.#submit(live, paid);
    });
    const outcome = await admission.finally(() => hold.limit());
    const admitted = accepted(outcome);
    if (!admitted.ok) hold.answered("settled");
    return admitted.ok ? ok({ ...outcome, eventEpoch: live.epoch, hold }) : admitted;
  }

  /**
   * Sends a message to an agent at work. One that can take it gets it at once; for any other it
   * waits as a prompt of its own, so nothing that was accepted is lost.
   */
  steer(key: SessionKey, actor: Actor, message: SteerRequest): Promise<Result<Outcome>> {
    return retryIfEvicted(async () => {
      const found = await this.find(key);
      if (!found.ok) return found;
      const live = found.value;
      const { messageId, content } = message;
      const isFree = slashTextOf(content) !== null;
      const paid = isFree ? DONE : await live.credit.affordable(userOf(actor));
      const promptId = await this.#promptIdFor(live, messageId);
      const prompt = { ...this.#newPrompt(live, content, null), ...(promptId && { promptId }) };
      const steered = { messageId, prompt, agentCanSteer: live.agent?.offer.canSteer ?? false };
      const unpaid = paid.ok ? {} : { unpaid: paid.refusal };
      const command = { ...this.#by(actor), type: "steer", ...steered, ...unpaid } as const;
      return accepted(await this.#submit(live, command));
    });
  }

  /** Clients look for a message that became a prompt under its own id, if that can be one. */
  async #promptIdFor(live: LiveSession, messageId: string): Promise<PromptId | null> {
    const promptId = isUuid(messageId) ? parsePromptId(messageId) : null;
    if (promptId === null) return null;
    const earlier = await this.reads.turn(live, promptId);
    return earlier.ok && earlier.value === null ? promptId : null;
  }

  /** A client can only shorten the time that the server gives a prompt. */
  #newPrompt(live: LiveSession, content: readonly ContentBlock[], deadlineMs: number | null) {
    const { clock, ids, settings } = this.#world;
    const { promptMs } = settings;
    const ms = promptMs === null ? null : Math.min(promptMs, deadlineMs ?? promptMs);
    return {
      promptId: ids.prompt(),
      content,
      deadlineAtMs: ms === null ? null : clock.nowMs() + ms,
      idempotency: null,
      lastEventId: live.lastEventId,
      params: null,
      pendingMax: settings.pendingPromptsMax,
      echo: true,
    };
  }

  async #submit(live: LiveSession, command: Command): Promise<Outcome> {
    const isLate = this.#isStopping && command.type === "prompt";
    if (isLate) return live.refuse(refusal("server_stopping"));
    noteSignOfLife(this.#world, live, command.actor);
    return live.submit(command);
  }

  /** Chooses who sees a session. No ask waits for a user who does not see it any more. */
  async setVisibility(key: SessionKey, actor: Actor, to: Sharing): Promise<Result<Sharing>> {
    const changed = await this.command(key, actor, { type: "visibility", ...to });
    if (!changed.ok) return changed;
    const live = this.#registry.peek(key);
    if (live === null) return ok(to);
    await withoutOutsiders(this.#world, live);
    const { fixed, chosen } = live.session;
    return ok(sharingOf(chosen.audience ?? null, fixed.createdBy));
  }

  async heartbeat(key: SessionKey, actor: Actor): Promise<Result<void>> {
    const found = await this.#seen(key, actor);
    return found.ok ? DONE : found;
  }

  /** Takes a client's registration back. The last one to leave lets the session rest. */
  async detach(key: SessionKey, clientId: ClientId, actor: Actor): Promise<Result<void>> {
    const found = await this.find(key);
    if (!found.ok) return found;
    return this.#departures.detach(found.value, clientId, actor);
  }

  /** Ends a session for all clients. What is stored stays, unless it never had a prompt. */
  async close(key: SessionKey, actor: Actor): Promise<Result<void>> {
    const closed = await this.#close(key, actor);
    if (closed.ok) await deleteIfEmpty(this.#parts, closed.value, actor);
    return closed.ok ? DONE : closed;
  }

  #close(key: SessionKey, actor: Actor): Promise<Result<LiveSession>> {
    return closeSession(() => this.find(key), { ...this.#by(actor), type: "close" });
  }

  /** Closes it if it is live, and removes what is stored of it. */
  async delete(key: SessionKey, actor: Actor): Promise<Result<void>> {
    const close = this.#close.bind(this);
    const deleted = await deleteSession({ ...this.#parts, close }, key, actor);
    if (!deleted.ok) return deleted;
    this.#streams.deleted(key, deleted.value);
    return DONE;
  }

  /** The client that made this session does not know of it: the answer was lost. */
  ownerVanished(live: LiveSession, actor: Actor): Promise<void> {
    return this.#departures.ownerVanished(live, actor);
  }

  subscribe(key: SessionKey, request: SubscribeRequest): Promise<Result<Subscription>> {
    return retryIfEvicted(async () => {
      const found = await this.find(key);
      if (!found.ok) return found;
      const why = await found.value.settled();
      if (why !== null) return { ok: false, refusal: why };
      // Nothing is waited for from here on: the stream of one that was let go would tell nothing.
      const live = this.#registry.peek(key);
      if (live !== found.value) return { ok: false, refusal: EVICTED };
      return this.#streams.subscribe(live, request);
    });
  }

  /** Where a stream of this session goes on that is opened now, without a replay. */
  cursorOf(live: LiveSession): Pick<SessionReplay, "lastEventId" | "eventEpoch"> {
    return { lastEventId: live.lastEventId, eventEpoch: live.epoch };
  }

  /** All sessions that a viewer sees as they are, and then each that changes. */
  watchTenant(viewer: Viewer): Result<TenantSubscription> {
    const { tenantId } = viewer;
    return this.#streams.watchTenant(viewer, (sessionId) => {
      return this.#registry.peek({ tenantId, sessionId }) !== null;
    });
  }

  /**
   * What a client that loads a session is shown; it subscribes from where that ends. It may want
   * no more than so many turns.
   */
  async replay(
    key: SessionKey,
    mode: LiveReplayMode,
    turnsMax: number | null = null,
  ): Promise<Result<SessionReplay>> {
    const found = await this.find(key);
    if (!found.ok) return found;
    const { settings } = this.#world;
    const through = found.value.lastEventId;
    return replayOf(this.#world, key, { through, mode, bounds: settings.replay, turnsMax });
  }

  /** The session as a file, in pieces, with what kind of file that is. */
  export(
    { key, epoch }: LiveSession,
    format: ExportFormat,
    { sees, ...reader }: ExportReader & Pick<ExportSight, "sees">,
  ) {
    // The deletion of a tenant does not wait for its exports.
    const ending = this.#world.tenants.endingOf(key.tenantId);
    const signal = AbortSignal.any([reader.signal, ending]);
    const source = storeSource(this.#world.store, key, { epoch, sees });
    return exportFile(source, format, { ...reader, signal }, this.#exports);
  }

  /** Deletes a tenant with all that it has; the log is told by whom. */
  removeTenant(tenantId: TenantId, by: string): Promise<Result<void>> {
    return removeTenant(this.#parts, tenantId, by);
  }

  /** Ends everything in order; in a hurry without waiting. Returns whose turns were cut off. */
  async shutDown(hurry: AbortSignal, tell?: TellDrain) {
    this.#isStopping = true;
    this.#streams.stop();
    this.#callOffReaper();
    const cutOff = await shutDown(this.#world, this.#registry, hurry, tell);
    await Promise.all([this.side.end(), this.#exports.end()]);
    this.#streams.endTenants();
    return cutOff;
  }

  /** Evicts sessions that have been idle for too long. */
  reapIdle(): Promise<void> {
    return reapIdle(this.#world, this.#registry, (live) => this.#streams.isWatched(live));
  }

  /** The session if it is live, as its clients may have it; nothing is opened for a look. */
  peek(key: SessionKey): LiveSession | null {
    return this.#registry.peek(key);
  }

  /** All live sessions of all tenants, for the operator. */
  get live(): readonly LiveSession[] {
    return this.#registry.all;
  }

  /** The sessions of a tenant that are live at the moment. */
  liveOf(tenantId: TenantId): readonly LiveSession[] {
    return this.#registry.all.filter(({ key }) => key.tenantId === tenantId);
  }

  get #parts() {
    return { world: this.#world, registry: this.#registry, streams: this.#streams };
  }

  #reapLater() {
    this.#callOffReaper = this.#world.clock.after(this.#world.settings.reapMs, () => {
      void this.reapIdle().finally(() => {
        if (!this.#isStopping) this.#reapLater();
      });
    });
  }

  /** Finds the session, for a client that is present by that. */
  async #seen(key: SessionKey, actor: Actor): Promise<Result<LiveSession>> {
    const found = await this.find(key);
    if (found.ok) noteSignOfLife(this.#world, found.value, actor);
    return found;
  }

  #by(actor: Actor) {
    return stampedBy(this.#world.clock, actor);
  }
}

function accepted(outcome: Outcome): Result<Outcome> {
  return outcome.refusal === null ? ok(outcome) : { ok: false, refusal: outcome.refusal };
}
