import { z } from "zod";
import { APPROVAL_MODES, AUTONOMY_PROFILES } from "../../../core/policy/risk.ts";
import { SESSION_STATES } from "../../../core/status.ts";
import { named } from "../../../wire/named-schema.ts";
import type { LiveSummary } from "../../../wire/session-summary.ts";
import type { TurnStatus } from "../../../wire/turn-status.ts";
import { clockMs, count, flag, maybeText, names, one, open, text, time } from "./plain-shapes.ts";

const status = named("SessionStatus", () => z.enum(SESSION_STATES));
export const mode = () => z.enum(APPROVAL_MODES);
export const autonomy = () => z.enum(AUTONOMY_PROFILES);

/** The error that a failed turn, or an agent that did not start, is told as. */
const fault = named("Fault", () => z.looseObject({ error: text(), code: text() }));

const option = () =>
  z.object({ optionId: text(), label: text().optional(), kind: text().optional() });

const interaction = () => ({
  requestId: text(),
  kind: z.enum(["permission", "user_question"]),
  createdAt: time(),
  options: z.array(option()),
  action: open().optional(),
  title: text().optional(),
  questions: z.array(open()).optional(),
});

/** An open ask. `action` is what the agent wants to do; `questions` are what it wants to know. */
const pendingInteraction = named("PendingInteraction", () => z.object(interaction()));

export const listedAsk = named("ListedAsk", () =>
  z.object({
    sessionId: text(),
    workspaceCwd: text(),
    displayName: text().optional(),
    name: text().optional(),
    ...interaction(),
  }),
);

/** A schema for each field: one that answers get anew does not compile without. */
type Described<Answer> = Readonly<Record<keyof Answer, z.ZodType>>;

const summaryFields = () =>
  ({
    sessionId: text(),
    workspaceCwd: text(),
    createdAt: time(),
    updatedAt: time(),
    displayName: text().optional(),
    parentSessionId: text().optional(),
    sourceType: text().optional(),
    sourceId: text().optional(),
    createdBy: text().optional(),
    agent: text().optional(),
    name: text().optional(),
    clientCount: count(),
    hasActivePrompt: flag(),
    status: status(),
    closed: z.literal(true).optional(),
    isWaitingForPermission: flag().optional(),
    isWaitingForUserQuestion: flag().optional(),
    pendingInteractionCount: count().optional(),
    pendingInteractions: z.array(pendingInteraction()).optional(),
    hasTurnError: flag().optional(),
    turnError: open().optional(),
  }) satisfies Described<LiveSummary>;

/** A session as lists have it; what is known of live sessions only is left out of others. */
const listedSession = named("SessionSummary", () =>
  z.object({ ...summaryFields(), isArchived: z.literal(false) }),
);

export const sessionPage = named("SessionPage", () =>
  z.object({
    sessions: z.array(listedSession()),
    nextCursor: text().optional(),
    damaged: z.array(z.unknown()).optional(),
  }),
);

const asking = named("Asking", () => z.object({ how: text(), sentence: text() }));

const skipped = () => z.array(z.object({ name: text(), reason: text() })).optional();

export const sessionDetails = named("SessionDetails", () =>
  z.object({
    ...summaryFields(),
    clients: z.array(z.object({ clientId: text(), lastSeenAt: clockMs() })),
    skipped: skipped(),
    asking: asking().optional(),
  }),
);

const joinedFields = () => ({
  sessionId: text(),
  workspaceCwd: text(),
  attached: flag(),
  clientId: text(),
  createdAt: time(),
  name: text().optional(),
  hasActivePrompt: flag().optional(),
  currentCwd: text().optional(),
  sourceType: text().optional(),
  sourceId: text().optional(),
  sourcePersisted: z.literal(true).optional(),
  parentSessionId: text().optional(),
  parentSessionPersisted: z.literal(true).optional(),
  eventEpoch: text(),
  status: status().optional(),
  asking: asking().optional(),
  agentFailure: fault().optional(),
});

/** The session that a client is in now, and the id by which it is known there. */
export const joinedSession = named("JoinedSession", () =>
  z.object({ ...joinedFields(), modelApplied: flag().optional() }),
);

export const agentState = named("AgentState", () =>
  z.object({
    models: open().optional(),
    modes: open().optional(),
    configOptions: z.array(open()).optional(),
  }),
);

/** An event of a session, or a frame without a number. */
export const envelope = named("Event", () =>
  z.object({
    id: z.int().min(1).optional(),
    v: one(),
    type: text(),
    data: z.unknown(),
    promptId: text().optional(),
    childId: text().optional(),
    originatorClientId: text().optional(),
    originatorUserId: text().optional(),
    _meta: z.object({ serverTimestamp: clockMs() }).optional(),
  }),
);

const restoredFields = () => ({
  ...joinedFields(),
  state: agentState(),
  lastEventId: count(),
  skipped: skipped(),
});

export const resumedSession = named("ResumedSession", () => z.object(restoredFields()));

const terminal = named("PromptTerminal", () =>
  z.object({
    v: one(),
    promptId: text(),
    terminal: z.enum(["completed", "cancelled", "error", "interrupted"]),
    code: text().optional(),
    stopReason: text().optional(),
    at: time(),
  }),
);

const history = () => ({
  compactedReplay: z.array(envelope()),
  liveJournal: z.array(envelope()),
});

export const loadedSession = named("LoadedSession", () =>
  z.object({
    ...restoredFields(),
    ...history(),
    historyHasMore: flag().optional(),
    historyAnchorRecordId: text().optional(),
    promptTerminals: z.array(terminal()).optional(),
  }),
);

/** If the branch could not be opened now, it has its id and names only. */
export const branch = named("Branch", () =>
  z.object({
    ...z.object({ ...restoredFields(), ...history() }).partial().shape,
    sessionId: text(),
    displayName: text(),
    forkedFrom: z.object({ sessionId: text(), displayName: text() }),
  }),
);

export const turn = named("Turn", () =>
  z.object({
    sessionId: text(),
    state: z.enum(["idle", "queued", "running", "completed", "cancelled", "error"]),
    promptId: text().optional(),
    promptText: text().optional(),
    promptTextTruncated: z.literal(true).optional(),
    queuedAt: clockMs().optional(),
    startedAt: clockMs().optional(),
    endedAt: clockMs().optional(),
    stopReason: text().optional(),
    error: z.object({ message: text(), code: text(), errorKind: text().optional() }).optional(),
    cost: z
      .object({ chargedMicro: z.int(), usage: z.literal("unknown").optional() })
      .nullable()
      .optional(),
    resultText: text().optional(),
    resultTruncated: z.literal(true).optional(),
    resultCode: z.literal("RESULT_TEXT_TRUNCATED").optional(),
    originatorClientId: text().optional(),
  } satisfies Described<TurnStatus>),
);

/** What a reload changed. */
export const reloaded = named("Reloaded", () => {
  const version = () => z.object({ version: z.int(), hash: text() });
  return z.object({ from: version(), to: version(), difference: text() });
});

export const sharing = named("Sharing", () =>
  z.object({
    sessionId: text(),
    visibility: z.enum(["tenant", "private"]),
    createdBy: maybeText(),
    sharedWith: names(),
  }),
);
