import type { PromptId, SessionId, UserId } from "../id.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { SecurityMode } from "../policy/risk.ts";
import { hasTurn, type SessionState } from "../status.ts";
import { EMPTY_TURN } from "../turn.ts";
import { type SessionEvent, stampOf } from "./event.ts";
import { created } from "./evolve/instance.ts";
import { evolve } from "./evolve.ts";
import type { SessionName } from "./name.ts";
import { DAMAGED } from "./slot-codec.ts";
import { SESSION_CODEC } from "./slot-table.ts";
import type { Creation, Session, WaitingPrompt } from "./state.ts";
import { type Audience, sharingOf } from "./visibility.ts";

/** Takes the JSON of one version to the next. What it is given may be damaged. */
export type Migration = (older: JsonObject) => JsonObject;

/** The first takes version 1 to version 2, and so on: a change of the shape adds one. */
export const MIGRATIONS: readonly Migration[] = [
  // Sessions of version 1 knew nothing of skills, nor of their surroundings.
  (older) => ({
    ...older,
    running: isObject(older.running) ? { ...older.running, slash: null } : older.running,
    agentUntold: false,
    instructed: null,
    surroundings: null,
  }),
  // In version 2 a grant could be for a title, and so for every command of a tool: all are void.
  (older) => ({
    ...older,
    running: isObject(older.running) ? { ...older.running, permits: [] } : older.running,
    connection: isObject(older.connection)
      ? { ...older.connection, sessionGrants: [] }
      : older.connection,
    voidGrants: grantedKeys(older.connection),
  }),
  // Version 3 held the texts of a turn and other fields that decide nothing.
  (older) => ({
    ...older,
    connection: isObject(older.connection) ? decisive(older.connection) : older.connection,
  }),
  // Sessions of version 4 had no children.
  (older) => ({
    ...older,
    connection: isObject(older.connection) ? childless(older.connection) : older.connection,
  }),
];

function childless({ turn, ...connection }: JsonObject): JsonObject {
  return { ...connection, turn: isObject(turn) ? { ...turn, children: [] } : turn };
}

function decisive(connection: JsonObject): JsonObject {
  const { messageIdStack: _, turn, ...kept } = connection;
  if (!isObject(turn)) return { ...kept, turn };
  const { fullContent, deferredInteractiveMessage: asks } = turn;
  const decided = Object.entries(turn).filter(([name]) => !UNREAD_IN_VERSION_3.has(name));
  const hasOutput = typeof fullContent === "string" ? fullContent !== "" : undefined;
  const openAsks = asks === null ? [] : asks;
  return { ...kept, turn: { ...Object.fromEntries(decided), hasOutput, openAsks } };
}

const UNREAD_IN_VERSION_3: ReadonlySet<string> = new Set([
  "fullContent",
  "stopRequested",
  "turnStopped",
  "isThinking",
  "thinkingContent",
  "deferredInteractiveMessage",
  "pendingApproval",
  "pendingGitHubAction",
  "acked",
]);

function grantedKeys(connection: unknown): readonly unknown[] {
  const grants = isObject(connection) ? connection.sessionGrants : null;
  return Array.isArray(grants) ? grants.map((grant: unknown) => [grant].flat()[0]) : [];
}

/** The slot in which the core keeps the folded session, in every snapshot. */
export const CORE_SLOT = {
  owner: "fermata.core",
  version: String(MIGRATIONS.length + 1),
} as const;

/** The session as text; equal sessions give equal texts. */
export function writeSlot(session: Session): string {
  return JSON.stringify(SESSION_CODEC.write(session));
}

/**
 * The session of a slot. Null for what is not exactly a session, of this version or one that can
 * be migrated: then the conversation goes on from the manifest instead (P6), which is better than
 * half a session that was never decided (P4).
 */
export function readSlot(
  version: string,
  text: string,
  migrations: readonly Migration[] = MIGRATIONS,
): Session | null {
  const json = migrated(version, text, migrations);
  const session = SESSION_CODEC.read(json);
  return session === DAMAGED || !isLawful(session) ? null : session;
}

function migrated(version: string, text: string, migrations: readonly Migration[]): unknown {
  const versions = ["1", ...migrations.map((_, index) => String(index + 2))];
  const from = versions.indexOf(version);
  if (from < 0) return null;
  try {
    const json: unknown = JSON.parse(text);
    if (!isObject(json)) return null;
    return migrations.slice(from).reduce((older, migrate) => migrate(older), json);
  } catch {
    // A migration that stumbles has met damage, just as the parser has.
    return null;
  }
}

/** What a store's manifest says of a session. */
export interface ManifestFields {
  readonly sessionId: SessionId;
  readonly storeId: string;
  readonly mode: SecurityMode;
  readonly createdAt: number;
}

/** What a store's record says of a session. */
export interface RecordFields {
  readonly workspaceCwd: string;
  readonly displayName: string | null;
  readonly name: SessionName | null;
  readonly parentSessionId: SessionId | null;
  readonly sourceType: string | null;
  readonly sourceId: string | null;
  /** Records of before have none. */
  readonly agent: string | null;
  readonly shared: boolean;
  readonly closed: boolean;
  readonly createdBy: UserId | null;
  readonly audience: Audience;
}

/**
 * The session without its slot: at rest, as if just made, with all that is written elsewhere too.
 * What only the slot knew is gone, and nothing is allowed because of it: an empty allowlist
 * refuses, and the default mode asks (P6, P7).
 */
export function sessionFromManifest(
  manifest: ManifestFields,
  record: RecordFields,
  defaultAgent: string,
): Session {
  const { sessionId, storeId, mode: securityMode, createdAt } = manifest;
  const { workspaceCwd, displayName, name, parentSessionId, sourceType, sourceId } = record;
  const creation: Creation = {
    workspaceCwd,
    scope: record.shared ? "single" : "thread",
    securityMode,
    allowlist: [],
    storeId,
    source: sourceType === null ? null : { type: sourceType, id: sourceId },
    parentSessionId,
    activeAgent: record.agent ?? defaultAgent,
    modelConfig: { modelId: null },
    skills: UNKNOWN_SNAPSHOT,
    persona: UNKNOWN_SNAPSHOT,
    approvalMode: "default",
    displayName,
    ...(name !== null && { name }),
    autonomyProfile: null,
    budgetMicro: null,
    ...sharingOf(record.audience, record.createdBy),
  };
  const data = { sessionId, creation };
  const by = stampOf(null, { clientId: null, userId: record.createdBy });
  const _meta = { serverTimestamp: createdAt };
  const session = created({ v: 1, type: "session_created", ...by, data, _meta });
  return { ...session, phase: "Closed", closed: record.closed };
}

/** Comes before every version that was ever taken, so that a reload follows it. */
const UNKNOWN_SNAPSHOT = { version: 0, hash: "" };

/**
 * As `evolve`, for a session that has lost its slot: what an event takes for granted is granted.
 * More of the log than what follows the snapshot may be given again, from anywhere in it: what
 * was going on there has ended by the snapshot.
 */
export function evolveLost(session: Session, event: SessionEvent): Session {
  if (event.type === "session_status") return evolve(alive(session, event.data.from), event);
  if (event.type === "mid_turn_message_injected") {
    const { takenPromptId } = event.data;
    const isTaken = takenPromptId !== undefined && session.running !== null;
    return evolve(isTaken ? withPrompt(session, takenPromptId, event) : session, event);
  }
  if (event.type !== "session_lifecycle") return evolve(session, event);
  const { event: name, promptId } = event.data;
  const starts = name === "SessionTurnStart" && promptId !== undefined;
  return evolve(starts ? withPrompt(session, promptId, event) : session, event);
}

/** Nothing changes the status of an instance that has ended: this one had not, and was there. */
function alive(session: Session, sessionState: SessionState): Session {
  const phase = session.phase === "Closed" ? "Persisted" : session.phase;
  return { ...session, phase, connection: { ...session.connection, sessionState } };
}

/**
 * A turn that begins with a prompt of the lost queue is a turn all the same: it has a verdict to
 * come (P2) and credits to settle (P9). So has a message of that queue which the agent took.
 */
function withPrompt(session: Session, promptId: PromptId, event: SessionEvent): Session {
  if (session.queue.some((waiting) => waiting.promptId === promptId)) return session;
  const lost: WaitingPrompt = {
    promptId,
    text: "",
    content: [],
    clientId: event.originatorClientId ?? null,
    userId: event.originatorUserId ?? null,
    deadlineAtMs: null,
    admittedAtMs: event._meta.serverTimestamp,
    params: null,
    echo: false,
    waited: true, // It was admitted before the last snapshot, while another one was at work.
  };
  return { ...session, queue: [...session.queue, lost] };
}

/**
 * What holds between the fields of any session. Each field may be right
 * by itself and the whole still have no way on: no verdict for its turn, or no edge out of it.
 */
export function isLawful(session: Session): boolean {
  return LAWS.every((holds) => holds(session));
}

const LAWS: readonly ((session: Session) => boolean)[] = [
  ({ phase }) => phase !== "none",
  ({ phase, connection }) => phase !== "Closed" || connection.sessionState === "inactive",
  ({ phase, closed }) => !closed || phase === "Closed",
  ({ ending, connection }) => ending === null || connection.sessionState === "deactivating",
  hasItsTurn,
  waitsForPeople,
  waitsForItsChildren,
  tellsPromptsApart,
];

/** A turn is all there or not at all, and every part of it is of the same turn (P9). */
function hasItsTurn({ running, phase, connection }: Session): boolean {
  const { turn, sessionState } = connection;
  if (running === null) return !hasTurn(sessionState) && turn === EMPTY_TURN;
  const { promptId, clientId, userId, turnId, stamp } = running;
  // Prompts that began before stamps had users have one without.
  const isTheirs = (stamp.originatorUserId ?? userId) === userId;
  const isOfClient = (stamp.originatorClientId ?? null) === clientId;
  const stamped = stamp.promptId === promptId && isOfClient && isTheirs;
  const same = turn.turnId === turnId && turn.currentReservation?.turnId === turnId;
  return hasTurn(sessionState) && phase === "Active" && stamped && same;
}

function waitsForPeople({ connection: { turn, sessionState } }: Session): boolean {
  return (sessionState === "waiting") === turn.openAsks.size > 0;
}

/** Each child that asks is at work: the answer has one who hears it. */
function waitsForItsChildren({ connection: { turn } }: Session): boolean {
  return [...turn.openAsks.values()].every(({ childId }) => {
    return childId === undefined || turn.children.get(childId)?.ended === null;
  });
}

/** Or one of them would have two verdicts, and another none (P2). */
function tellsPromptsApart({ running, queue }: Session): boolean {
  const pending = running === null ? queue : [running, ...queue];
  return new Set(pending.map(({ promptId }) => promptId)).size === pending.length;
}
