import type { Refusal } from "../core/error.ts";
import type { ClientId, PromptId, ShellId, TurnId } from "../core/id.ts";
import type { LiveReplayMode } from "../core/replay/window.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { Actor, CommandData } from "../core/session/command.ts";
import type { SessionName } from "../core/session/name.ts";
import type { ModelChange, Session } from "../core/session/state.ts";
import {
  type Audience,
  isVisibleTo,
  type Sharing,
  sharingOf,
  type Viewer,
} from "../core/session/visibility.ts";
import type { AgentMode } from "../core/turn.ts";
import type { SessionKey, StoredRecord } from "../store/store.ts";
import type { SeenClient, SessionSummary } from "../wire/session-summary.ts";
import type { AgentStart } from "./agent/agent-side.ts";
import { visibleFilter } from "./bus/streams.ts";
import type { SubscribeRequest } from "./bus/subscription.ts";
import type { OptionChange } from "./choice/option-changes.ts";
import type { ExportFormat } from "./export/export.ts";
import type { SessionHost } from "./host.ts";
import type { Resumed } from "./life/clients.ts";
import type { LiveSession } from "./live.ts";
import type { ClientCommand, PromptRequest, SteerRequest } from "./requests.ts";
import type { Forked, ForkOptions } from "./side/fork.ts";
import type { ShellRequest } from "./side/shell.ts";
import type { TurnWait } from "./view/ended-turn.ts";
import type { FieldsOptions } from "./view/fields.ts";
import { summaryOfStored } from "./view/summary.ts";
import type { TranscriptStart } from "./view/transcript.ts";

/**
 * A session that its viewer may see; it may be closed, and nothing is opened for it. Only
 * `SessionService` makes one, so a front cannot reach a session without that check (P8).
 */
export class KnownSession {
  readonly key: SessionKey;
  readonly viewer: Viewer;
  protected readonly host: SessionHost;
  /** As it was read when the session was found; null for a live one. */
  readonly #record: Result<StoredRecord> | null;

  constructor(
    host: SessionHost,
    key: SessionKey,
    viewer: Viewer,
    record: Result<StoredRecord> | null = null,
  ) {
    this.host = host;
    this.key = key;
    this.viewer = viewer;
    this.#record = record;
  }

  async record(): Promise<Result<StoredRecord>> {
    return this.#record ?? this.host.reads.record(this.key);
  }

  /** The session as in a list, with its clients. */
  async status(): Promise<Result<StatusView>> {
    const live = this.host.peek(this.key);
    if (live?.session.closed === false) return ok(this.host.reads.status(live));
    const record = await this.record();
    if (!record.ok) return record;
    if (record.value.closed) return fail("session_not_found", { sessionId: this.key.sessionId });
    return ok({ ...summaryOfStored(record.value), clients: [] });
  }

  transcript(page: { readonly start: TranscriptStart; readonly limit: number }) {
    return this.host.reads.transcript(this.key, page);
  }

  /** Whether this client is registered, as far as that is in memory. */
  hasClient(clientId: ClientId): boolean {
    return this.host.peek(this.key)?.session.clients.has(clientId) ?? false;
  }

  /** Brings it back, also if it was closed, and does not wait for its agent (P6). */
  async resume(actor: Actor, start?: AgentStart): Promise<Result<JoinedSession>> {
    const resumed = await this.host.resume(this.key, actor, start);
    if (!resumed.ok) return resumed;
    const { live, ...how } = resumed.value;
    return ok({ ...how, session: new SessionAccess(this.host, live, this.viewer) });
  }

  /** Takes back the registration of a client of which nothing else is known. */
  detach(clientId: ClientId, actor: Actor) {
    return this.host.detach(this.key, clientId, actor);
  }

  delete(actor: Actor) {
    return this.host.delete(this.key, actor);
  }
}

interface StatusView extends SessionSummary {
  readonly clients: readonly SeenClient[];
}

/** A session that a client has created, joined or brought back. */
export interface JoinedSession extends Omit<Resumed, "live"> {
  readonly session: SessionAccess;
}

/** A new session that goes on from another one. */
export interface ForkedSession extends Omit<Forked, "key"> {
  readonly known: KnownSession;
}

/** All that a client can read of an open session and do with it. */
export class SessionAccess extends KnownSession {
  readonly #live: LiveSession;

  constructor(host: SessionHost, live: LiveSession, viewer: Viewer) {
    super(host, live.key, viewer);
    this.#live = live;
  }

  /** The session as it is on the disk. */
  get session(): Session {
    return this.#live.session;
  }

  get epoch(): string {
    return this.#live.epoch;
  }

  get lastEventId(): number {
    return this.#live.lastEventId;
  }

  /** When a client was last seen in it. */
  get activeMs(): number {
    return this.#live.attendance.activeMs;
  }

  /** What could not be brought back when it was opened, and why (P6). */
  get skipped() {
    return this.#live.skipped;
  }

  /** The prompt that waits for credit, and for how much. */
  get waitingForCredit() {
    return this.#live.credit.waitingForCredit;
  }

  /** Gives it a command on behalf of an actor. */
  command(actor: Actor, request: ClientCommand) {
    return this.host.command(this.key, actor, request);
  }

  /** Gives it the name and the display name; what is not in it stays as it is. */
  rename(actor: Actor, to: CommandData["metadata"]) {
    const { name } = to;
    const rename = () => this.command(actor, { type: "metadata", ...to });
    if (name === undefined) return rename();
    const { sessionId } = this.key;
    const { audience = null } = this.session.chosen;
    return this.host.choices.names.give(this.viewer, { sessionId, name, audience }, rename);
  }

  /** Admits a prompt. The first one names a session that has no name. */
  async prompt(actor: Actor, request: PromptRequest) {
    const { names } = this.host.choices;
    const admit = (name: SessionName | null) =>
      this.host.prompt(this.key, actor, { ...request, ...(name && { name }) });
    const words = names.wordsFor(this.session, request.content);
    if (words === null) return admit(null);
    const { sessionId } = this.key;
    const { audience = null } = this.session.chosen;
    return names.automatic(this.viewer, { sessionId, name: words, audience }, admit);
  }

  steer(actor: Actor, message: SteerRequest) {
    return this.host.steer(this.key, actor, message);
  }

  heartbeat(actor: Actor) {
    return this.host.heartbeat(this.key, actor);
  }

  close(actor: Actor) {
    return this.host.close(this.key, actor);
  }

  /** The client that made this session does not know of it: the answer was lost. */
  ownerVanished(actor: Actor): Promise<void> {
    return this.host.ownerVanished(this.#live, actor);
  }

  /**
   * Its events, for as long as the viewer sees it; a snapshot, where one is wanted, comes with the
   * end of the replay. With a child, its events alone.
   */
  subscribe(
    request: Omit<SubscribeRequest, "snapshot" | "sees" | "userId">,
    wantsSnapshot: boolean,
  ) {
    const snapshot = wantsSnapshot ? { snapshot: () => this.host.reads.snapshot(this.#live) } : {};
    const { userId } = this.viewer;
    return this.host.subscribe(this.key, { ...request, ...snapshot, sees: this.#sees, userId });
  }

  readonly #sees = (audience: Audience) => isVisibleTo(audience, this.viewer);

  /** Whom it is visible to. */
  get sharing(): Sharing {
    const { fixed, chosen } = this.session;
    return sharingOf(chosen.audience ?? null, fixed.createdBy);
  }

  /** Chooses whom it is visible to; that is for its creator and for owners. */
  async share(actor: Actor, to: Sharing): Promise<Result<Sharing>> {
    const { userId, role } = this.viewer;
    const isCreator = userId !== null && userId === this.session.fixed.createdBy;
    if (!isCreator && role !== "owner") return fail("sharing_forbidden");
    return this.host.setVisibility(this.key, actor, to);
  }

  /** Where a stream goes on that is opened now, without a replay. */
  get cursor() {
    return this.host.cursorOf(this.#live);
  }

  replay(mode: LiveReplayMode, turnsMax: number | null = null) {
    return this.host.replay(this.key, mode, turnsMax);
  }

  /** The signal says that the reader has left. It breaks off if the viewer sees it no more. */
  export(format: ExportFormat, signal: AbortSignal) {
    const { tenantId, userId } = this.viewer;
    return this.host.export(this.#live, format, { tenantId, userId, signal, sees: this.#sees });
  }

  /** Why the last attempt to bring an agent failed, if there is none on its way. */
  get agentFailure(): Refusal | null {
    return this.#live.agentFailure;
  }

  /** How the agent asks for permission, where that is not certain. */
  get askingDoubt() {
    return this.host.reads.askingDoubt(this.#live);
  }

  fields(options: FieldsOptions) {
    return this.host.reads.fields(this.#live, options);
  }

  agentState() {
    return this.host.reads.agentState(this.#live);
  }

  contextUsage(showDetails: boolean) {
    return this.host.reads.contextUsage(this.#live, showDetails);
  }

  stats() {
    return this.host.reads.stats(this.#live);
  }

  approvals() {
    return this.host.reads.approvals(this.#live, this.viewer);
  }

  commands() {
    return this.host.reads.commands(this.#live);
  }

  currentTurn() {
    return this.host.reads.currentTurn(this.#live);
  }

  turn(promptId: PromptId) {
    return this.host.reads.turn(this.#live, promptId);
  }

  /** The turn when it has its verdict, or as it is when the wait is over. */
  turnWhenEnded(promptId: PromptId, wait: Omit<TurnWait, "sees">) {
    return this.host.reads.turnWhenEnded(this.#live, promptId, { ...wait, sees: this.#sees });
  }

  turnOfRecord(recordId: PromptId | TurnId) {
    return this.host.reads.turnOfRecord(this.key, recordId);
  }

  midTurnMessages() {
    return this.host.reads.midTurnMessages(this.#live);
  }

  shell(request: ShellRequest, signal: AbortSignal) {
    return this.host.side.shell(this.key, request, signal);
  }

  recap() {
    return this.host.side.recap(this.key, this.viewer);
  }

  btw(question: string, signal: AbortSignal) {
    return this.host.side.btw(this.key, question, signal, this.viewer);
  }

  tasks() {
    return this.host.side.tasks(this.key);
  }

  children() {
    return this.host.side.children(this.key);
  }

  cancelTask(shellId: ShellId) {
    return this.host.side.cancelTask(this.key, shellId);
  }

  /** A new session that goes on from a completed turn; null if there is no such turn. */
  async fork(options: Omit<ForkOptions, "agent" | "among">): Promise<Result<ForkedSession | null>> {
    const among = visibleFilter(this.viewer);
    const forked = await this.host.side.fork(this.key, { ...options, among });
    if (!forked.ok) return forked;
    if (forked.value === null) return ok(null);
    const { key, ...made } = forked.value;
    return ok({ ...made, known: new KnownSession(this.host, key, this.viewer) });
  }

  changeModel(change: ModelChange, actor: Actor) {
    return this.host.choices.changeModel(this.key, change, actor);
  }

  changeAgent(agent: string, actor: Actor) {
    return this.host.choices.changeAgent(this.key, agent, actor);
  }

  changeAgentMode(mode: AgentMode, actor: Actor) {
    return this.host.choices.changeAgentMode(this.key, mode, actor);
  }

  changeAgentOption(change: OptionChange, actor: Actor) {
    return this.host.choices.changeAgentOption(this.key, change, actor);
  }

  reloadSkills(actor: Actor) {
    return this.host.choices.reloadSkills(this.key, actor);
  }

  reloadExtensions() {
    return this.#live.reloadExtensions();
  }

  reloadPersona(actor: Actor) {
    return this.host.choices.reloadPersona(this.key, actor);
  }
}
