import type { ContentBlock } from "../agent-update.ts";
import { parseClientId, parsePromptId, parseSessionId, parseShellId, parseUserId } from "../id.ts";
import { PHASES } from "../lifecycle.ts";
import { ROLES } from "../permission.ts";
import type { Authority, TurnSpeaker } from "../policy/bound.ts";
import { APPROVAL_MODES, AUTONOMY_PROFILES } from "../policy/risk.ts";
import { SESSION_STATES } from "../status.ts";
import { CHILD_STATES, type Connection, EMPTY_TURN, type PastChild } from "../turn.ts";
import type { PromptStamp } from "./event.ts";
import { parseSessionName } from "./name.ts";
import { STOP_REASONS } from "./reason.ts";
import {
  atLeastOne,
  type Codec,
  count,
  either,
  type Fields,
  flag,
  foreign,
  id,
  list,
  map,
  nullAtRest,
  number,
  object,
  oneOf,
  optional,
  orNull,
  text,
  whole,
} from "./slot-codec.ts";
import {
  askId,
  childId,
  jsonObject,
  PERMIT,
  riskTier,
  TOKENS,
  TURN,
  timeMs,
  turnId,
} from "./slot-turn.ts";
import type {
  Admission,
  AgentOption,
  Chosen,
  Ending,
  FirstAnswer,
  Fixed,
  Instructed,
  ModelConfig,
  RegisteredClient,
  ResolvedAsk,
  RunningPrompt,
  RunningShell,
  Session,
  SnapshotRef,
  Surroundings,
  Totals,
  WaitingPrompt,
} from "./state.ts";
import {
  type AttachedWorkflow,
  EXECUTION_OUTCOMES,
  type StagePrompt,
  WORKFLOW_STATES,
  type WorkflowStep,
} from "./workflow.ts";

/**
 * What every field of a session is in its slot, one table for each of its parts. To add a field or
 * a word, add it here and a migration in slot.ts: the texts that are stored already have neither.
 */

const sessionId = id(parseSessionId);
const sessionName = id(parseSessionName);
const promptId = id(parsePromptId);
const clientId = id(parseClientId);
const userId = id(parseUserId);
const shellId = id(parseShellId);

const contentBlock = foreign((block): block is ContentBlock => typeof block.type === "string");

const SNAPSHOT_REF: Fields<SnapshotRef> = { version: whole, hash: text };

const FIXED: Fields<Fixed> = {
  workspaceCwd: text,
  scope: oneOf("single", "thread"),
  securityMode: oneOf("ask", "allowlist", "yolo"),
  allowlist: list(text),
  storeId: text,
  source: orNull(object({ type: text, id: orNull(text) })),
  parentSessionId: orNull(sessionId),
  createdAtMs: timeMs,
  createdBy: optional(userId),
};

const MODEL_CONFIG: Fields<ModelConfig> = {
  modelId: orNull(text),
  temperature: optional(number),
  reasoning: optional(text),
  verbosity: optional(text),
};

const AGENT_OPTION: Fields<AgentOption> = {
  agent: text,
  value: either((value): value is boolean => typeof value === "boolean", flag, text),
  category: orNull(text),
};

const CHOSEN: Fields<Chosen> = {
  activeAgent: text,
  modelConfig: object(MODEL_CONFIG),
  skills: object(SNAPSHOT_REF),
  persona: object(SNAPSHOT_REF),
  approvalMode: oneOf(...APPROVAL_MODES),
  displayName: orNull(text),
  titleSource: orNull(oneOf("manual", "auto")),
  name: optional(sessionName),
  currentCwd: text,
  budgetMicro: orNull(count),
  audience: optional(list(userId)),
  monthBudgetMicro: optional(orNull(count)),
  agentOptions: optional(map(text, object(AGENT_OPTION))),
};

type Selected = Extract<ResolvedAsk, { outcome: "selected" }>;
type Cancelled = Extract<ResolvedAsk, { outcome: "cancelled" }>;

const SELECTED: Fields<Selected> = {
  outcome: oneOf("selected"),
  optionId: text,
  promptId: optional(promptId),
};

const CANCELLED: Fields<Cancelled> = { outcome: oneOf("cancelled"), promptId: optional(promptId) };

const resolvedAsk: Codec<ResolvedAsk> = either(
  (ask: ResolvedAsk): ask is Selected => ask.outcome === "selected",
  object(SELECTED),
  object(CANCELLED),
);

const CONNECTION: Fields<Connection> = {
  turn: nullAtRest(object(TURN), EMPTY_TURN),
  sessionState: oneOf(...SESSION_STATES),
  sessionGrants: map(text, riskTier),
  autonomyProfile: oneOf(...AUTONOMY_PROFILES),
  agentMode: orNull(text),
  sandboxState: oneOf("none", "provisioning", "ready", "timed_out"),
  sandboxProvisionedAt: orNull(timeMs),
  lastSandboxActivity: orNull(timeMs),
};

const AUTHORITY: Fields<Authority> = { role: oneOf(...ROLES), isMember: flag };

const SPEAKER: Fields<TurnSpeaker> = {
  userId: orNull(userId),
  authority: orNull(object(AUTHORITY)),
};

const STAGE_PROMPT: Fields<StagePrompt> = { stages: list(text), attempt: atLeastOne };

const WORKFLOW_STEP: Fields<WorkflowStep> = {
  stages: list(text),
  maxAttempts: atLeastOne,
  backoffMs: count,
};

const WORKFLOW: Fields<AttachedWorkflow> = {
  name: text,
  hash: text,
  input: text,
  state: oneOf(...WORKFLOW_STATES),
  reason: orNull(text),
  plan: list(object(WORKFLOW_STEP)),
  attempts: count,
  failures: count,
  interruptions: count,
  attemptEndedAtMs: orNull(timeMs),
  executions: count,
  keeps: flag,
  past: list(object({ ...STAGE_PROMPT, outcome: oneOf(...EXECUTION_OUTCOMES) })),
  userId: orNull(userId),
  authority: optional(object(AUTHORITY)),
};

const WAITING_PROMPT: Fields<WaitingPrompt> = {
  promptId,
  text,
  content: list(contentBlock),
  clientId: orNull(clientId),
  userId: orNull(userId),
  deadlineAtMs: orNull(timeMs),
  admittedAtMs: timeMs,
  params: orNull(jsonObject),
  echo: flag,
  waited: flag,
  authority: optional(object(AUTHORITY)),
  messageId: optional(text),
  stage: optional(object(STAGE_PROMPT)),
};

const STAMP: Fields<PromptStamp> = {
  promptId: optional(promptId),
  originatorClientId: optional(clientId),
  originatorUserId: optional(userId),
};

const RUNNING_PROMPT: Fields<RunningPrompt> = {
  ...WAITING_PROMPT,
  turnId,
  startedAtMs: timeMs,
  stopCause: orNull(oneOf("client", "deadline", "budget", "turn_too_large")),
  stopAskedAtMs: orNull(timeMs),
  steeredIds: list(text),
  steeredBy: optional(list(object(SPEAKER))),
  taken: optional(list(object(WAITING_PROMPT))),
  shellContext: list(text),
  permits: list(object(PERMIT)),
  stamp: object(STAMP),
  slash: orNull(oneOf("agent", "skill", "tool")),
};

const CLIENT: Fields<RegisteredClient> = { count: atLeastOne, userId: orNull(userId) };

type ShellFirstAnswer = Extract<FirstAnswer, { shellId: unknown }>;

const firstAnswer: Codec<FirstAnswer> = either(
  (answer: FirstAnswer): answer is ShellFirstAnswer => "shellId" in answer,
  object({ shellId }),
  object({ promptId, lastEventId: count }),
);

const ADMISSION: Fields<Admission> = { hash: text, answer: firstAnswer, atMs: timeMs };

const SHELL: Fields<RunningShell> = {
  command: text,
  clientId: orNull(clientId),
  userId: optional(userId),
  startedAtMs: timeMs,
};

const ENDING: Fields<Ending> = {
  reason: oneOf(...STOP_REASONS, "client_close", "crash", "store_failure"),
  closedBy: orNull(clientId),
  closedByUser: optional(userId),
};

const TOTALS: Fields<Totals> = {
  promptCount: count,
  turnsCompleted: count,
  turnsFailed: count,
  toolCalls: count,
  toolFailures: count,
  chargedMicro: count,
  tokensByModel: map(text, object(TOKENS)),
};

const PAST_CHILD: Fields<PastChild> = {
  childId,
  promptId,
  title: text,
  agent: text,
  model: orNull(text),
  startedAtMs: timeMs,
  endedAtMs: timeMs,
  state: oneOf(...CHILD_STATES),
};

const INSTRUCTED: Fields<Instructed> = { skills: text, persona: text };

const SURROUNDINGS: Fields<Surroundings> = {
  agent: orNull(text),
  model: orNull(text),
  skills: orNull(text),
  persona: orNull(text),
  mcpServers: list(text),
};

const SESSION: Fields<Session> = {
  sessionId,
  fixed: object(FIXED),
  chosen: object(CHOSEN),
  phase: oneOf("none", ...PHASES),
  connection: object(CONNECTION),
  running: orNull(object(RUNNING_PROMPT)),
  queue: list(object(WAITING_PROMPT)),
  clients: map(clientId, object(CLIENT)),
  admissions: map(text, object(ADMISSION)),
  voidGrants: list(text),
  resolvedAsks: map(askId, resolvedAsk),
  shellContext: list(text),
  shells: map(shellId, object(SHELL)),
  activation: count,
  ending: orNull(object(ENDING)),
  closed: flag,
  agentSessionId: orNull(text),
  agentEpoch: optional(text),
  agentUsualMode: optional(orNull(text)),
  agentOffer: optional(orNull(text)),
  agentModeChoices: optional(count),
  agentUntold: flag,
  instructed: orNull(object(INSTRUCTED)),
  surroundings: orNull(object(SURROUNDINGS)),
  lastTurnError: orNull(object({ code: text, message: text })),
  lastVerdictAtMs: orNull(timeMs),
  totals: object(TOTALS),
  title: optional(text),
  pastChildren: optional(list(object(PAST_CHILD))),
  workflow: optional(object(WORKFLOW)),
};

export const SESSION_CODEC = object(SESSION);
