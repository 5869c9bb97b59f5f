import type { AgentUpdate, ContentBlock } from "../agent-update.ts";
import type { Refusal } from "../error.ts";
import type {
  AskId,
  ChildId,
  ClientId,
  PromptId,
  SessionId,
  ShellId,
  TurnId,
  UserId,
} from "../id.ts";
import type { JsonObject } from "../json.ts";
import type { BudgetPeriod } from "../ledger.ts";
import type { Role } from "../permission.ts";
import type { Access } from "../policy/access.ts";
import type { AskKind, AskOption, AskOutcome, MediationPolicy } from "../policy/ask.ts";
import type { Bound } from "../policy/bound.ts";
import type { GuardOpinion, WorkflowOpinion } from "../policy/gate.ts";
import type { ApprovalMode, AutonomyProfile } from "../policy/risk.ts";
import type { Price } from "../price.ts";
import type { AgentStatus } from "../status.ts";
import type { AgentMode, ContextUsage, SandboxState } from "../turn.ts";
import type { ChildOutcome } from "./child.ts";
import type { ChildStarted } from "./child-event.ts";
import type { BudgetFigures } from "./credit-event.ts";
import {
  type AgentContext,
  type AgentExit,
  type Announcements,
  type AnnouncementType,
  type CommandResult,
  type InstructionsSent,
  type Originator,
  type ShellResult,
  type Skipped,
  type Stamp,
  stampOf,
  type ToldByExtension,
} from "./event.ts";
import type { SessionName } from "./name.ts";
import type { StopReason } from "./reason.ts";
import type { Creation, ModelChange, ModelFailure, SlashWork, Surroundings } from "./state.ts";
import type { Sharing } from "./visibility.ts";
import type { StageRuling, WorkflowAct, WorkflowStep } from "./workflow.ts";

/**
 * Everything that can be asked of a session or happen to it, from any side. A command brings
 * the time, who is behind it, and every fresh id it may need, so that deciding is a pure function.
 */
export interface CommandData {
  // The instance
  create: { sessionId: SessionId; creation: Creation; skipped?: readonly Skipped[] };
  resume: { skipped: readonly Skipped[] };
  stop: { reason: StopReason };
  close: object;
  recovery: object;
  store_failure: object;

  // The agent
  activate: { skipped?: readonly Skipped[] };
  agent_status: AgentStatusReport;
  agent_exit: AgentExit & { message: string };
  agent_unavailable: { message: string };
  instructed: InstructionsSent;
  agent_offer: { offer: string | null };
  agent_update: { update: AgentUpdate };
  usage: { turnId: TurnId; usage: ContextUsage; price?: Price };

  // Prompts and turns
  /** With what it can begin at once, or why it cannot be paid for, now or when it is next. */
  prompt: NewPrompt & { start?: TurnStart; unpaid?: Refusal; unpaidNow?: Refusal };
  begin_turn: { promptId: PromptId; start: TurnStart };
  command_result: { promptId: PromptId; result: CommandResult; effect?: CommandEffect };
  remove_prompt: { promptId: PromptId };
  /** The prompt that is next may not run in this session as it is set by now. */
  refuse_prompt: { promptId: PromptId; why: Refusal };
  steer: { messageId: string; prompt: NewPrompt; agentCanSteer: boolean; unpaid?: Refusal };
  /** The agent fetches messages that wait for the end of its turn. */
  take_messages: { promptIds: readonly PromptId[] };
  cancel: object;
  reserve_slice: { turnId: TurnId; n: number; amountMicro: number };
  deadline_passed: { deadline: Deadline };
  limit_passed: { turnId: TurnId; limit: "budget" | "turn_too_large" };
  commit_refused: { turnId: TurnId };

  // Children of the turn at work
  start_child: { child: ChildStarted; openMax: number; perTurnMax: number };
  child_update: { childId: ChildId; update: AgentUpdate };
  child_usage: { childId: ChildId; usage: ContextUsage; tokensMax: number };
  child_ended: { childId: ChildId; outcome: ChildOutcome };

  // The workflow of the session
  attach_workflow: { workflow: NewWorkflow };
  begin_stage: NewStage;
  prompt_stage: { turnId: TurnId; stage: string; text: string };
  steer_workflow: { act: WorkflowAct };
  abort_workflow: { reason: string };

  // Asks of the agent, or of a child of its turn
  ask: NewAsk;
  /** The agent wants the server to do something, with what it takes to ask people about it. */
  access: NewAccess;
  /** The agent does not want the answer any more, or is not there to hear it. */
  ask_withdrawn: { requestId: AskId; reason: "withdrawn" | "completed" | "agent_gone" };
  vote: { requestId: AskId; outcome: AskOutcome; answers?: Readonly<Record<string, string>> };
  /**
   * A user has no vote any more, as by being removed: no ask waits for it. Null if only an owner
   * became less, so that what was put to the owners is looked at again.
   */
  voter_gone: { userId: UserId | null; quorum: number | null };
  /** Null is all of them. */
  revoke_grant: { key: string | null };

  // What the session is set to
  /** What is not in it stays as it is. */
  metadata: { displayName?: string; name?: SessionName };
  /** What the agent has taken, or what it has not. */
  model: { change: ModelChange } | { failure: ModelFailure };
  approval_mode: { mode: ApprovalMode; persisted: boolean };
  autonomy: { profile: AutonomyProfile };
  /** The agent's own, by its id; null is the agent's usual one. */
  agent_mode: { mode: AgentMode };
  /** One of the agent's own that it has taken. */
  agent_option: { configId: string; value: string | boolean; category: string | null };
  sandbox: { state: SandboxState };
  reload_skills: { hash: string; difference: string };
  reload_persona: { hash: string; difference: string };
  change_agent: { to: string };
  change_cwd: { to: string };
  /** In total, unless it is for each month. */
  set_budget: { budgetMicro: number | null; period?: BudgetPeriod };
  visibility: Sharing;

  // Clients and their shell
  /** At the limit of clients, the first of the idle ones makes room. */
  attach: { clientId: ClientId; idle: readonly ClientId[] };
  detach: { clientId: ClientId };
  client_expiry: { clientId: ClientId };
  shell_started: { shellId: ShellId; command: string; cwd: string; idempotency: Idempotency };
  shell_output: { shellId: ShellId; output: string };
  shell_result: ShellResult;

  /** With its originator, where the server reports what a client has done. */
  /** `figures` are of a warning: for the audit and the tenant's stream, not for every log. */
  announce: { announcement: Announcement; originator?: Originator; figures?: BudgetFigures };
}

/** What a slash command does to its session, in one commit with its answer. */
export type CommandEffect = {
  [Type in EffectType]: Readonly<{ type: Type } & CommandData[Type]>;
}[EffectType];

type EffectType =
  | "reload_skills"
  | "reload_persona"
  | "change_agent"
  | "attach_workflow"
  | "steer_workflow"
  | "close";

export type CommandType = keyof CommandData;

/** `Command` is any of them; `Command<"prompt">` is that one. */
export type Command<Type extends CommandType = CommandType> = {
  [One in Type]: CommandHead<One> & Readonly<CommandData[One]>;
}[Type];

interface CommandHead<Type extends CommandType> {
  readonly type: Type;
  readonly atMs: number;
  readonly actor: Actor;
  /**
   * What the tenant's policy says to it: for a request, of the caller; for what a turn asks for,
   * of the users whose words are in the turn. Absent where no policy binds.
   */
  readonly bound?: Bound;
}

/** Who is behind a command. A clock, a store and an operator all speak as the server. */
export type Actor =
  | {
      readonly kind: "client";
      readonly clientId: ClientId | null;
      readonly userId: UserId | null;
      /** With which the caller came; absent is an owner without a name, or any other user. */
      readonly role?: Role;
      /** Whether the caller's socket ends on this machine; only `local-only` votes ask. */
      readonly loopback: boolean;
    }
  | {
      readonly kind: "agent";
      /** Which of the session's agents: an earlier one's late word is not the present one's. */
      readonly activation: number;
    }
  | { readonly kind: "server" };

export type ClientActor = Extract<Actor, { kind: "client" }>;

export const SERVER = { kind: "server" } as const satisfies Actor;

/** A key of the caller's choosing, and a hash of what it stands for. */
export type Idempotency = { readonly key: string; readonly hash: string } | null;

export interface NewPrompt {
  readonly promptId: PromptId;
  readonly content: readonly ContentBlock[];
  readonly deadlineAtMs: number | null;
  readonly idempotency: Idempotency;
  /** The session's last event before this, from which the caller reads on. */
  readonly lastEventId: number;
  /** What else goes into the agent's prompt request, such as `_meta`. */
  readonly params: JsonObject | null;
  /** How many may be without a verdict, this one included, where the client chose that. */
  readonly pendingMax?: number | null;
  /** False for retries and continuations, which other clients have seen already. */
  readonly echo: boolean;
  /** What a session without a name is called from here on: words of its first prompt. */
  readonly name?: SessionName;
}

/** A workflow that was found, and what it begins with. */
export interface NewWorkflow {
  readonly name: string;
  readonly hash: string;
  readonly input: string;
  readonly first: WorkflowStep;
}

/** The next stage of the session's workflow, or a group of them. */
export interface NewStage
  extends Pick<NewPrompt, "promptId" | "content" | "deadlineAtMs" | "lastEventId"> {
  readonly stages: readonly string[];
}

/** What a turn needs to begin: its id, and credits that the ledger has already set aside. */
export interface TurnStart {
  readonly turnId: TurnId;
  readonly reservedMicro: number;
  readonly price: Price | null;
  /** Which model that price is for; null if unknown. */
  readonly model?: string | null;
  /** What a prompt that begins with a slash was found to be. */
  readonly slash?: SlashWork;
  /** What extensions have the agent told in front of the prompt. */
  readonly told?: readonly ToldByExtension[];
}

/** What was seen of an agent: one of ten statuses, with the data of each. */
export type AgentStatusReport<Status extends AgentStatus = AgentStatus> = {
  [One in Status]: { readonly status: One } & AgentStatusDetails[One];
}[Status];

interface AgentStatusDetails extends Record<AgentStatus, object> {
  connected: {
    readonly agentSessionId: string | null;
    readonly context: AgentContext;
    readonly surroundings?: Surroundings;
    /** Of the log that it is connected under. */
    readonly epoch?: string;
    /** The mode that it is in unless a client chooses one. */
    readonly usualMode?: AgentMode;
    /** What it offers, by the hash of its text; null if that is nothing. */
    readonly offer?: string | null;
  };
  turn_complete: {
    readonly turnId: TurnId;
    readonly stopReason: string;
    /** Of a turn that is an execution of stages. */
    readonly stage?: StageRuling;
  };
  turn_error: { readonly turnId: TurnId | null; readonly failure: AgentFailure };
  error: { readonly message: string };
}

/** An agent's refusal of a prompt, in its own words. */
export interface AgentFailure {
  readonly code: string;
  readonly message: string;
  readonly errorKind: string | null;
}

export type Deadline =
  | { readonly of: "prompt"; readonly promptId: PromptId }
  | { readonly of: "ask"; readonly requestId: AskId }
  /** The agent was told to stop and has not settled its turn since. */
  | { readonly of: "settling"; readonly turnId: TurnId }
  /** The sandbox has been idle, or on its way, for too long. */
  | { readonly of: "sandbox" }
  /** A child has been at work for too long. */
  | { readonly of: "child"; readonly childId: ChildId };

export interface NewAccess extends Mediated {
  readonly workflow?: WorkflowOpinion;
  readonly requestId: AskId;
  readonly access: Access;
}

export interface NewAsk extends Mediated {
  readonly requestId: AskId;
  readonly kind: AskKind;
  readonly toolCall: JsonObject;
  /** What the agent reported of the call before: an ask may name it and hold no more. */
  readonly known: JsonObject;
  readonly options: readonly AskOption[];
  readonly workflow: WorkflowOpinion;
  /** Where the call wants the server to write and the server does not, for any agent. */
  readonly outside?: string;
}

/** By which rules people decide, and by when. */
interface Mediated {
  readonly policy: MediationPolicy;
  readonly quorum: number | null;
  /** Clients seen since the server started: presence is observed, never stored. */
  readonly present: readonly ClientId[];
  readonly deadlineAtMs: number | null;
  /** What the extensions of the session want of it; absent if nothing. */
  readonly guard?: GuardOpinion;
  readonly childId?: ChildId;
}

export type Announcement = {
  [Type in AnnouncementType]: {
    readonly type: Type;
    readonly data: Readonly<Omit<Announcements[Type], "sessionId">>;
  };
}[AnnouncementType];

export function clientOf(actor: Actor): ClientId | null {
  return actor.kind === "client" ? actor.clientId : null;
}

export function userOf(actor: Actor): UserId | null {
  return actor.kind === "client" ? actor.userId : null;
}

/** Whether it is an owner of the tenant; without a role it is only if it is no user. */
export function isOwner(actor: Actor): boolean {
  if (actor.kind !== "client") return false;
  return actor.role === undefined ? actor.userId === null : actor.role === "owner";
}

/** Whose doing it is: an agent's and the server's own have no originator. */
export function originatorOf(actor: Actor): Originator {
  return { clientId: clientOf(actor), userId: userOf(actor) };
}

/** The stamp of what a caller did to the session itself, outside any prompt. */
export function callerStamp(actor: Actor): Stamp {
  return stampOf(null, originatorOf(actor));
}

/** Idempotency keys are their caller's own: no caller is answered with another's prompt. */
export function admissionKey(voter: string | null, key: string): string {
  return JSON.stringify([voter, key]);
}

/** The key of such a name. */
export function keyOfAdmission(name: string): string {
  const [, key]: readonly unknown[] = JSON.parse(name);
  return String(key);
}

/** As what a message into a turn is admitted, if it has to wait as a prompt of its own. */
export function steeredAs(messageId: string) {
  return { key: `${STEERED}${messageId}`, hash: NO_BODY };
}

/** The message that was admitted so; null if it was a prompt from the beginning. */
export function steeredMessage(
  idempotency: ReturnType<typeof steeredAs> | null | undefined,
): string | null {
  if (!idempotency || idempotency.hash !== NO_BODY) return null;
  const { key } = idempotency;
  return key.startsWith(STEERED) ? key.slice(STEERED.length) : null;
}

const STEERED = "steer ";

/** What a client sends always has a hash, so this one is ours. */
const NO_BODY = "";
