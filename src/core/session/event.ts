import type { AgentUpdate, ContentBlock } from "../agent-update.ts";
import type { ChildId, ClientId, PromptId, SessionId, ShellId, TurnId, UserId } from "../id.ts";
import type { JsonObject } from "../json.ts";
import type { LifecycleEvent, Phase, PhaseBefore } from "../lifecycle.ts";
import type { Authority } from "../policy/bound.ts";
import type { ApprovalMode, AutonomyProfile } from "../policy/risk.ts";
import type { InvocationMode, SkillSource } from "../skill/skill.ts";
import type { SessionState } from "../status.ts";
import type { AgentMode, SandboxState } from "../turn.ts";
import type { AskEvents } from "./ask-event.ts";
import type { ChildEvents } from "./child-event.ts";
import type {
  BudgetWarning,
  CreditEvents,
  CreditWait,
  TurnCost,
  UsageSuspicion,
} from "./credit-event.ts";
import type { SessionName } from "./name.ts";
import type { EndReason, StatusCause, StopCause, TurnOutcome } from "./reason.ts";
import type {
  Creation,
  ModelConfig,
  ModelSetting,
  SlashWork,
  SnapshotRef,
  Surroundings,
  TitleSource,
} from "./state.ts";
import type { Visibility } from "./visibility.ts";
import type { StagePrompt, WorkflowEvents } from "./workflow.ts";

/**
 * Every fact that can stand in a session's log, by type, with its payload. Names and required
 * fields are the wire's where the wire has them; the rest is ours and additive.
 * What is stored is what is sent: there are no private events.
 */
export interface EventData
  extends AskEvents,
    ChildEvents,
    CreditEvents,
    WorkflowEvents,
    Announcements {
  // The instance, its two machines, and its agent
  session_created: { creation: Creation };
  session_status: StatusChange;
  session_lifecycle: PhaseChange;
  agent_connected: Connected;
  agent_offer: { offer: string | null };
  instructions_sent: InstructionsSent;
  session_drift: { changes: readonly Drift[] };
  session_died: { reason: string; message?: string } & AgentExit;
  session_closed: { reason: string; closedBy?: ClientId };

  // Prompts and turns
  prompt_admitted: PromptAdmission;
  pending_prompt_added: { promptId: PromptId; text: string; queuedAt: number };
  pending_prompt_started: { promptId: PromptId; text: string };
  pending_prompt_completed: { promptId: PromptId; state: "completed" | "removed" };
  session_update: { update: AgentUpdate };
  mid_turn_message_injected: SteeredMessages;
  prompt_cancelled: { reason?: Exclude<StopCause, "client"> | "forward_failed" };
  turn_complete: TurnCompletion;
  turn_error: TurnError;

  // What the session is set to
  session_metadata_updated: { displayName?: string; titleSource: TitleSource };
  session_named: Naming;
  model_switched: { modelId: string };
  model_switch_failed: { requestedModelId: string; error: string };
  model_config_changed: { from: ModelConfig; to: ModelConfig };
  approval_mode_changed: ApprovalModeChange;
  autonomy_profile_changed: { from: AutonomyProfile; to: AutonomyProfile };
  agent_mode_changed: { from: AgentMode; to: AgentMode };
  agent_option_changed: { configId: string; value: string | boolean; category: string | null };
  sandbox_changed: { state: SandboxState; from?: SandboxState };
  skills_reloaded: SnapshotChange;
  persona_reloaded: SnapshotChange;
  active_agent_changed: { from: string; to: string };
  session_cwd_changed: { from: string; to: string };
  session_budget_changed: { from: number | null; to: number | null };
  session_visibility_changed: VisibilityChange;
  session_month_budget_changed: { from: number | null; to: number | null };

  // Clients and their shell
  client_attached: { clientId: ClientId; userId?: UserId };
  client_detached: { clientId: ClientId };
  client_expired: { clientId: ClientId };
  user_shell_command: { shellId: ShellId; command: string; cwd: string } & Keyed;
  user_shell_result: ShellResult;
}

/** Facts that change nothing of the session's state, but that a person may ask about later. */
export interface Announcements {
  command_result: CommandResult & { promptId: PromptId };
  skill_invoked: SkillInvoked;
  session_branched: { sourceSessionId: SessionId; newSessionId: SessionId; displayName: string };
  secret_redacted: { where: string };
  credits_warning: BudgetWarning;
  credits_waiting: { promptId: PromptId } & CreditWait;
  agent_setting_refused: SettingRefused;
  usage_suspect: UsageSuspicion;
  /** An extension was ended in the middle of its work; the session goes on without it (P6). */
  extension_disabled: { extension: string; reason: string };
  /** Extensions were replaced at a client's request; what is left out from here on is listed. */
  extensions_reloaded: { reloaded: readonly string[]; skipped: readonly Skipped[] };
}

export type AnnouncementType = keyof Announcements;

export type EventType = keyof EventData;

/** The wire's envelope without its number, which the actor adds when it appends the event. */
export interface EventOf<Type extends EventType> extends Stamp {
  readonly v: 1;
  readonly type: Type;
  readonly data: OfSession & Readonly<EventData[Type]>;
  readonly _meta: { readonly serverTimestamp: number };
}

/** The prompt an event belongs to, and the client, user or child whose doing it was. */
export interface Stamp extends PromptStamp {
  readonly childId?: ChildId;
}

/** The same of what no child does. */
export interface PromptStamp {
  readonly promptId?: PromptId;
  readonly originatorClientId?: ClientId;
  readonly originatorUserId?: UserId;
}

/** Whose doing something is, as far as that is known: no client, no user, or neither is fine. */
export interface Originator {
  readonly clientId: ClientId | null;
  readonly userId?: UserId | null;
}

export function stampOf(promptId: PromptId | null, { clientId, userId }: Originator): PromptStamp {
  return {
    ...(promptId !== null && { promptId }),
    ...(clientId !== null && { originatorClientId: clientId }),
    ...(userId && { originatorUserId: userId }),
  };
}

/** `SessionEvent` is any of them; `SessionEvent<"turn_error">` is that one. */
export type SessionEvent<Type extends EventType = EventType> = {
  [One in Type]: EventOf<One>;
}[Type];

export type Numbered<Event> = Event & { readonly id: number };

/** The one event by which a prompt ends (P2). */
export function isVerdict(
  event: SessionEvent,
): event is SessionEvent<"turn_complete" | "turn_error"> {
  return event.type === "turn_complete" || event.type === "turn_error";
}

interface OfSession {
  readonly sessionId: SessionId;
}

interface StatusChange {
  from: SessionState;
  to: SessionState;
  cause: StatusCause;
  turnId?: TurnId;
  message?: string;
  /** With `activating`: which of the session's agents this will be. */
  activation?: number;
}

interface PhaseChange {
  event: LifecycleEvent;
  from: PhaseBefore;
  to: Phase;
  turnId?: TurnId;
  promptId?: PromptId;
  outcome?: TurnOutcome;
  reason?: EndReason;
  skipped?: readonly Skipped[];
  /** With `SessionTurnStart`: what a line that begins with a slash was found to be. */
  slash?: SlashWork;
  /** With `SessionTurnStart`: what the agent is told in front of the prompt. */
  told?: readonly ToldByExtension[];
}

/** What an extension of the session says to the agent, which no person has said. */
export interface ToldByExtension {
  readonly extension: string;
  readonly text: string;
}

/** What the agent is not set to, though the session is, or though the agent was before. */
interface SettingRefused {
  setting: ModelSetting | "mode" | "option";
  /** Null if it is what the agent had before, and never reported. */
  value: string | number | boolean | null;
  reason: string;
}

/** Something that could not be brought back on resume; the conversation goes on without it (P6). */
export interface Skipped {
  readonly name: string;
  readonly reason: string;
}

interface Connected {
  agentSessionId: string | null;
  context: AgentContext;
  surroundings?: Surroundings;
  /** Of this log: under another one, that side of the agent may know more than the log. */
  epoch?: string;
  /** The agent's mode unless a client chooses one; null if it has no modes. */
  usualMode?: AgentMode;
  /** The modes, models and options that it offers, by the hash of their text; null if none. */
  offer?: string | null;
}

/** The instructions that an agent got beside the conversation, word for word. */
export interface InstructionsSent {
  via: InstructionsVia;
  text: string;
  /** The hashes of the snapshots that it was made from. */
  skills: string;
  persona: string;
}

/** By the agent's own place for a system prompt, or as a block in front of a prompt. */
export type InstructionsVia = "system_prompt" | "context_block";

/** Something around the session is not what it was when its agent was last connected. */
export interface Drift {
  readonly what: "agent" | "model" | "skills" | "persona" | "mcp_servers";
  readonly from: string;
  readonly to: string;
}

/** How the agent got its context: afresh, or by which way of resuming. */
export type AgentContext = "new" | "resumed" | "loaded" | "seeded";

export interface AgentExit {
  exitCode: number | null;
  signalCode: string | null;
}

/** How a retry is known, where the caller asked for that. */
export interface Keyed {
  clientId?: ClientId;
  userId?: UserId;
  idempotency?: { readonly key: string; readonly hash: string };
}

interface PromptAdmission extends Keyed {
  promptId: PromptId;
  text: string;
  content: readonly ContentBlock[];
  admittedAtMs: number;
  lastEventId: number;
  deadlineAtMs?: number;
  params?: JsonObject;
  echo: boolean;
  /** With which role its user spoke, where that binds the turn. */
  authority?: Authority;
  /** Of a prompt of the server that is an execution of these stages. */
  stage?: StagePrompt;
}

interface Naming {
  name: SessionName;
  /** Given by a client, or made of the words of the first prompt. */
  source: "given" | "auto";
  from: SessionName | null;
}

interface SteeredMessages {
  messages: readonly string[];
  messageIds: readonly string[];
  items: readonly { readonly messageId: string; readonly content: readonly ContentBlock[] }[];
  authority?: Authority;
  /** The agent has fetched it: it waited as this prompt, whose verdict is that of the turn. */
  takenPromptId?: PromptId;
}

interface TurnCompletion {
  stopReason: string;
  /** As its settlement says, where it had a price. */
  cost?: TurnCost;
  promptId: PromptId;
  turnId?: TurnId;
  /** Where a branch can go on from this turn: both are names of the turn. */
  branchPoint?: { readonly assistantRecordUuid: TurnId; readonly checkpointUuid: TurnId };
}

interface TurnError {
  message: string;
  code: string;
  cost?: TurnCost;
  promptId: PromptId;
  turnId?: TurnId;
  errorKind?: string;
  /** Whether text of the turn is in the log although the turn is not in the conversation. */
  partialOutput?: boolean;
}

/** The envelope of a command's answer: a stable code, a sentence, and data. */
export interface CommandResult {
  readonly status: "ok" | "error";
  readonly code: string;
  readonly message: string;
  readonly data?: JsonObject;
}

/** A skill was called by its name; with its text, if an agent got it. */
interface SkillInvoked {
  promptId: PromptId;
  skill: string;
  source: SkillSource;
  mode: InvocationMode;
  text?: string;
}

interface ApprovalModeChange {
  previous: ApprovalMode;
  next: ApprovalMode;
  persisted: boolean;
  /** Ours: it is but another word for what is so, and brings no profile and no agent mode. */
  isWordOnly?: true;
}

interface VisibilityChange {
  visibility: Visibility;
  sharedWith: readonly UserId[];
  from: Visibility;
}

interface SnapshotChange {
  from: SnapshotRef;
  to: SnapshotRef;
  difference: string;
}

export interface ShellResult {
  shellId: ShellId;
  command: string;
  exitCode: number | null;
  signal: string | null;
  aborted: boolean;
  output: string;
  error?: string;
}
