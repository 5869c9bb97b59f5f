import type { PromptId, TenantId, TurnId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { SEARCH_ANSWER_STEP_MS, SNAPSHOT_BYTES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Viewer } from "../../core/session/visibility.ts";
import type { SkillSnapshot } from "../../core/skill/skill.ts";
import type {
  FoundPage,
  JournalRow,
  ListFilter,
  Listing,
  ListPage,
  SearchRequest,
  SessionKey,
  StoredRecord,
} from "../../store/store.ts";
import type { LiveSummary, SeenClient } from "../../wire/session-summary.ts";
import {
  type AuditFileFormat,
  type AuditFilter,
  type AuditPage,
  type AuditRange,
  auditFile,
  auditPage,
} from "../audit/audit-view.ts";
import type { SessionSight } from "../audit/sight.ts";
import { type Notice, notice } from "../bus/frame.ts";
import { visibleFilter } from "../bus/streams.ts";
import type { VerdictWaits } from "../bus/verdict-waits.ts";
import { NO_KNOWLEDGE, readKnowledge } from "../knowledge.ts";
import type { LiveSession } from "../live.ts";
import { turnOfRecord } from "../side/fork.ts";
import { isUnfinishedFork } from "../side/fork-draft.ts";
import { contextUsage, sessionStats } from "../stats/stats.ts";
import { effectiveRules } from "../tenant/policy-check.ts";
import type { SessionWorld } from "../world.ts";
import { agentState, availableCommands } from "./agent-state.ts";
import { approvalsView, askingDoubt } from "./approvals.ts";
import { EndedTurns, type TurnWait } from "./ended-turn.ts";
import { sessionFields } from "./fields.ts";
import { pendingInteractions, seenClients, summaryOfLive } from "./summary.ts";
import { type TranscriptStart, transcriptPage } from "./transcript.ts";
import {
  currentTurn,
  pendingTurn,
  promotedMessages,
  type QueuedMessage,
  queuedMessages,
  settledMessageIds,
  turnOf,
} from "./turn-status.ts";

/** A live session as in a list, with its clients and what is missing of it. */
interface LiveStatus extends LiveSummary, Partial<Pick<LiveSession, "skipped">> {
  readonly clients: readonly SeenClient[];
}

/** What clients can read of sessions. Nothing is opened or changed by it. */
export class SessionReads {
  readonly #world: SessionWorld;

  readonly #waiting: { readonly waits: VerdictWaits };
  #endedTurns: EndedTurns | null = null;

  constructor(world: SessionWorld, waiting: { readonly waits: VerdictWaits }) {
    this.#world = world;
    this.#waiting = waiting;
  }

  record(key: SessionKey) {
    return this.#world.store.readRecord(key);
  }

  /** A page of a tenant's sessions, without forks that are not finished. */
  async list(
    tenantId: TenantId,
    filter: ListFilter,
    page: { readonly limit: number; readonly cursor: string | null },
  ): Promise<Result<Listing>> {
    const found = await this.#world.store.list(tenantId, filter, page);
    if (!found.ok) return found;
    const sessions = found.value.sessions.filter((row: StoredRecord) => !isUnfinishedFork(row));
    return ok({ ...found.value, sessions });
  }

  /** What was said in the sessions that the viewer sees, without forks that are not finished. */
  async search(
    viewer: Viewer,
    { query, filter }: SearchRequest,
    page: ListPage,
  ): Promise<Result<FoundPage>> {
    const { store, clock } = this.#world;
    if (store.contract.capabilities.search !== true) return fail("search_unavailable");
    const startedMs = clock.nowMs();
    const request = { query, filter: { ...filter, ...visibleFilter(viewer) } };
    const found = await store.search?.(viewer.tenantId, request, page);
    const seesAll = viewer.role === "owner";
    if (!seesAll) await stepAfter(clock, startedMs);
    if (found === undefined) return fail("search_unavailable");
    if (!found.ok) return found;
    const hits = found.value.hits.filter(({ session }) => !isUnfinishedFork(session));
    // What is not indexed yet may be of a session that the viewer does not see (P8).
    return ok({ ...found.value, hits, isIndexing: seesAll && found.value.isIndexing });
  }

  /** A live session as in a list, with its clients and what is missing of it (P6). */
  status(live: LiveSession): LiveStatus {
    const { skipped } = live;
    const missing = skipped.length === 0 ? {} : { skipped };
    const doubt = this.askingDoubt(live);
    return { ...summaryOfLive(live), ...doubt, ...missing, clients: seenClients(live) };
  }

  /** The session for a client that joins its stream. */
  snapshot(live: LiveSession): Notice {
    return sessionSnapshot(live);
  }

  /** How the agent asks for permission, where that is not certain. */
  askingDoubt(live: LiveSession) {
    return askingDoubt(this.#world, live);
  }

  fields(live: LiveSession, options: Parameters<typeof sessionFields>[2]) {
    return sessionFields(this.#world, live, options);
  }

  agentState(live: LiveSession) {
    return agentState(this.#world.store, live);
  }

  contextUsage(live: LiveSession, showDetails: boolean) {
    return contextUsage(live, showDetails);
  }

  stats(live: LiveSession) {
    return sessionStats(this.#world, live);
  }

  /** With what is so for the prompts of this caller. */
  async approvals(live: LiveSession, viewer: Pick<Viewer, "userId" | "role">) {
    const view = await approvalsView(this.#world, live);
    if (!view.ok) return view;
    const yours = await effectiveRules(this.#world, live, viewer);
    return yours.ok ? ok({ ...view.value, yours: yours.value }) : yours;
  }

  /** The agent's commands, and the skills; skills that cannot be read are left out (P6). */
  async commands(live: LiveSession): Promise<Result<CommandsView>> {
    const { store } = this.#world;
    const known = await readKnowledge(this.#world, live.key.tenantId, live.session.chosen);
    const { skills } = known.ok ? known.value : NO_KNOWLEDGE;
    const commands = await availableCommands(store, live);
    return commands.ok ? ok({ skills, commands: commands.value }) : commands;
  }

  transcript(key: SessionKey, page: { readonly start: TranscriptStart; readonly limit: number }) {
    return transcriptPage(this.#world.store, key, page);
  }

  currentTurn(live: LiveSession) {
    return currentTurn(this.#sourceOf(live));
  }

  turn(live: LiveSession, promptId: PromptId) {
    return turnOf(this.#sourceOf(live), promptId);
  }

  /** The turn when it has its verdict, or as it is when the wait is over. */
  turnWhenEnded(live: LiveSession, promptId: PromptId, wait: TurnWait) {
    this.#endedTurns ??= new EndedTurns(this.#waiting.waits, this.#world.clock);
    return this.#endedTurns.turn(() => this.#sourceOf(live), promptId, wait);
  }

  /** The turn that a record of the conversation belongs to; null if there is none. */
  turnOfRecord(key: SessionKey, recordId: PromptId | TurnId) {
    return turnOfRecord(this.#world.store, key, recordId);
  }

  /** Mid-turn messages that wait, those that an agent was given, and those that became prompts. */
  async midTurnMessages(live: LiveSession): Promise<Result<MidTurnMessages>> {
    const settled = await settledMessageIds(this.#sourceOf(live));
    if (!settled.ok) return settled;
    const waiting = queuedMessages(live.session);
    const others = new Set([...waiting.map(({ messageId }) => messageId), ...settled.value]);
    const known = promotedMessages(live.session).map(({ messageId }) => messageId);
    const promoted = known.filter((messageId) => !others.has(messageId));
    return ok({ waiting, settled: settled.value, promoted });
  }

  audit(
    tenantId: TenantId,
    filter: AuditFilter,
    range: AuditRange,
    sight: SessionSight,
  ): Promise<Result<AuditPage>> {
    const isSeen = (row: JournalRow) => sight.seesEntry(row);
    return auditPage(this.#world.store, tenantId, filter, range, isSeen);
  }

  auditFile(tenantId: TenantId, filter: AuditFilter, format: AuditFileFormat, sight: SessionSight) {
    const isSeen = (row: JournalRow) => sight.seesEntry(row);
    return auditFile(this.#world.store, tenantId, filter, format, isSeen);
  }

  /** The first audit entry that there is of a session; null if there is none. */
  async firstEntry({ tenantId, sessionId }: SessionKey): Promise<Result<JournalRow | null>> {
    const query = { journal: "audit", sessionId, after: 0, limit: 1 } as const;
    const page = await this.#world.store.readJournal(tenantId, query);
    return page.ok ? ok(page.value.rows[0] ?? null) : page;
  }

  #sourceOf({ key, session }: LiveSession) {
    return { key, session, store: this.#world.store };
  }
}

export interface CommandsView {
  readonly skills: SkillSnapshot;
  readonly commands: readonly JsonObject[];
}

export interface MidTurnMessages {
  readonly waiting: readonly QueuedMessage[];
  readonly settled: readonly string[];
  readonly promoted: readonly string[];
}

/**
 * A `session_snapshot`: all that a client needs in order to join without further requests. It tells
 * what is durable, so a client that reads on from here misses nothing.
 */
function sessionSnapshot(live: LiveSession): Notice {
  const { session } = live;
  const asks = pendingInteractions(session);
  const state = {
    sessionId: session.sessionId,
    currentModelId: currentModel(live),
    currentApprovalMode: session.chosen.approvalMode,
    status: session.connection.sessionState,
    turn: { ...pendingTurn(session) },
  };
  const whole = notice("session_snapshot", { ...state, asks });
  if (whole.bytes <= SNAPSHOT_BYTES_MAX) return whole;
  const named = asks.map(({ requestId, kind, createdAt }) => ({ requestId, kind, createdAt }));
  return notice("session_snapshot", { ...state, asks: named, asksCut: true });
}

/** Without a chosen model, the session uses the agent's own default. */
function currentModel({ session, agent }: LiveSession): string | null {
  return session.chosen.modelConfig.modelId ?? agent?.offer.model ?? null;
}

/** Resolves at the next whole step of time since the start (P8). */
function stepAfter(clock: SessionWorld["clock"], startedMs: number): Promise<void> {
  const passedMs = Math.max(0, clock.nowMs() - startedMs);
  const leftMs = SEARCH_ANSWER_STEP_MS - (passedMs % SEARCH_ANSWER_STEP_MS);
  return new Promise((resolve) => {
    clock.after(leftMs, resolve);
  });
}
