import type { ContentBlock } from "../agent-update.ts";
import type { AskId, ClientId, PromptId, SessionId, ShellId, TurnId, UserId } from "../id.ts";
import type { JsonObject } from "../json.ts";
import type { PhaseBefore } from "../lifecycle.ts";
import { STEERED_MESSAGES_MAX } from "../limits.ts";
import type { Permit } from "../policy/access.ts";
import type { AskOutcome } from "../policy/ask.ts";
import type { Authority, TurnSpeaker } from "../policy/bound.ts";
import type { ApprovalMode, AutonomyProfile, SecurityMode } from "../policy/risk.ts";
import type { TokenUsage } from "../price.ts";
import { slashTextOf } from "../slash/commands.ts";
import type { AgentMode, Connection, PastChild, TurnState } from "../turn.ts";
import type { PromptStamp } from "./event.ts";
import type { SessionName } from "./name.ts";
import type { EndReason, StopCause } from "./reason.ts";
import type { Sharing } from "./visibility.ts";
import type { AttachedWorkflow, StagePrompt } from "./workflow.ts";

/**
 * All there is to know about a session in order to decide its next step. It is a fold of the
 * session's events and of nothing else; what decides nothing is read from the store instead.
 */
export interface Session {
  readonly sessionId: SessionId;
  readonly fixed: Fixed;
  readonly chosen: Chosen;

  readonly phase: PhaseBefore;
  readonly connection: Connection;

  /** The prompt at work, if there is one. */
  readonly running: RunningPrompt | null;
  /** Admitted prompts that wait for their turn, in order of arrival. */
  readonly queue: readonly WaitingPrompt[];

  readonly clients: ReadonlyMap<ClientId, RegisteredClient>;
  /** Recent idempotency keys, oldest first. */
  readonly admissions: ReadonlyMap<string, Admission>;
  /** Keys that were granted by older rules and are void; the next start has an event for each. */
  readonly voidGrants: readonly string[];
  /** Recently ended asks, oldest first. */
  readonly resolvedAsks: ReadonlyMap<AskId, ResolvedAsk>;
  /** Shell results that the agent gets with the next prompt, oldest first. */
  readonly shellContext: readonly string[];

  /** Shell commands of clients that have no result yet. */
  readonly shells: ReadonlyMap<ShellId, RunningShell>;

  /** Counts the agents this session has had, so that a late word of an earlier one is known. */
  readonly activation: number;
  /** Why the agent is being taken down, while it is. */
  readonly ending: Ending | null;
  /** A client closed the session, and none has loaded it since: it answers as if unknown. */
  readonly closed: boolean;

  /** The agent's own name for its side of the conversation, by which it can be resumed. */
  readonly agentSessionId: string | null;
  /**
   * The epoch of the log that it was connected under. A log gets another one when it has lost its
   * end, as by a restored backup: then that side may know what the session does not.
   */
  readonly agentEpoch?: string;
  /** That side has been given no prompt yet: it knows nothing, and nothing is lost with it. */
  readonly agentUntold: boolean;
  /** The mode that it is in unless a client chooses one; null if it has no modes. */
  readonly agentUsualMode?: string | null;
  /** What it offered last, by the hash of its text; the text is in the store. */
  readonly agentOffer?: string | null;
  /**
   * How often clients have chosen the agent's mode. The same one chosen again is a choice too: the
   * agent may have left it by itself, and is put back.
   */
  readonly agentModeChoices?: number;
  /** What that side was last instructed with; null if it was not. */
  readonly instructed: Instructed | null;
  /** What there was around the session when its agent was last connected. */
  readonly surroundings: Surroundings | null;
  /** How the last turn failed, until the next one starts. */
  readonly lastTurnError: { readonly code: string; readonly message: string } | null;
  readonly lastVerdictAtMs: number | null;
  readonly totals: Totals;
  /** The words of the first prompt that has some, by which lists show it while it has no name. */
  readonly title?: string;
  /** Child sessions that have ended, the last ones only; their words are in the log. */
  readonly pastChildren?: readonly PastChild[];
  /** The workflow that drives it, or the last one that did. */
  readonly workflow?: AttachedWorkflow;
}

/** What is decided at creation, once. */
export interface Fixed {
  readonly workspaceCwd: string;
  readonly scope: "single" | "thread";
  readonly securityMode: SecurityMode;
  readonly allowlist: readonly string[];
  readonly storeId: string;
  /** What made it, and the session it was made from or under, where that is known. */
  readonly source: { readonly type: string; readonly id: string | null } | null;
  readonly parentSessionId: SessionId | null;
  readonly createdAtMs: number;
  /** The user who made it, once tokens are in use: its agent has the keys and home of that user. */
  readonly createdBy?: UserId;
}

/** What changes only by an explicit command, one field at a time (P7). */
export interface Chosen {
  readonly activeAgent: string;
  readonly modelConfig: ModelConfig;
  readonly skills: SnapshotRef;
  readonly persona: SnapshotRef;
  readonly approvalMode: ApprovalMode;
  readonly displayName: string | null;
  readonly titleSource: TitleSource | null;
  readonly name?: SessionName;
  readonly currentCwd: string;
  /** What the session may cost in all; null is no limit of its own. */
  readonly budgetMicro: number | null;
  /** The users who see it beside owners; left out for the whole tenant. */
  readonly audience?: readonly UserId[];
  /** What it may cost in each calendar month (UTC); none is no limit of its own. */
  readonly monthBudgetMicro?: number | null;
  /** Options of its agents' own that clients have set, by their ids. */
  readonly agentOptions?: ReadonlyMap<string, AgentOption>;
}

/** An option of an agent's own that is no setting of its model and not its mode. */
export interface AgentOption {
  /** The agent that it is of: to another one the same id may mean something else. */
  readonly agent: string;
  readonly value: string | boolean;
  /** ACP's word for what it is about; null if the agent says none. */
  readonly category: string | null;
}

/** Given by a person, or by the agent as long as no person has. */
export type TitleSource = "manual" | "auto";

/** What a session is created with. */
export interface Creation
  extends Omit<Fixed, "createdAtMs" | "createdBy">,
    Omit<Chosen, "titleSource" | "currentCwd" | "audience" | "agentOptions">,
    Partial<Sharing> {
  /** Null takes the profile that the approval mode stands for. */
  readonly autonomyProfile: AutonomyProfile | null;
  /** The agent's own mode; one that the approval mode stands for comes with that. */
  readonly agentMode?: AgentMode;
}

export interface ModelConfig {
  readonly modelId: string | null;
  readonly temperature?: number;
  readonly reasoning?: string;
  readonly verbosity?: string;
}

/** A snapshot is named, not held: the version gives the order, the hash the content. */
export interface SnapshotRef {
  readonly version: number;
  readonly hash: string;
}

/** The snapshots of an agent's instructions, by their hashes. */
export interface Instructed {
  readonly skills: string;
  readonly persona: string;
}

/** What can change behind a session's back; null where it could not be seen. */
export interface Surroundings {
  /** The agent's own name and version. */
  readonly agent: string | null;
  /** The model that it is set to. */
  readonly model: string | null;
  /** What the files would come to if they were loaded now, by their hashes. */
  readonly skills: string | null;
  readonly persona: string | null;
  readonly mcpServers: readonly string[];
}

export interface WaitingPrompt {
  readonly promptId: PromptId;
  readonly text: string;
  readonly content: readonly ContentBlock[];
  readonly clientId: ClientId | null;
  readonly userId: UserId | null;
  readonly deadlineAtMs: number | null;
  readonly admittedAtMs: number;
  /** What else the caller wants the agent's prompt request to say. */
  readonly params: JsonObject | null;
  /** Whether other clients are shown the prompt when it starts. */
  readonly echo: boolean;
  /** It was announced as waiting, so its end is announced as well. */
  readonly waited: boolean;
  /** With which role its user spoke, where that binds the turn. */
  readonly authority?: Authority;
  /** Of a message into an earlier turn that became a prompt. */
  readonly messageId?: string;
  /** Of a prompt of the server that is an execution of these stages. */
  readonly stage?: StagePrompt;
}

export interface RunningPrompt extends WaitingPrompt {
  readonly turnId: TurnId;
  readonly startedAtMs: number;
  /** Why it was stopped, if it was. Its verdict says so once the agent has settled. */
  readonly stopCause: StopCause | null;
  readonly stopAskedAtMs: number | null;
  readonly steeredIds: readonly string[];
  /** Other users who have steered it: what binds them binds the turn. */
  readonly steeredBy?: readonly TurnSpeaker[];
  /** Messages that waited as prompts until the agent fetched them; its log has their content. */
  readonly taken?: readonly WaitingPrompt[];
  /** What the agent gets beside the prompt: the shell results since the last turn. */
  readonly shellContext: readonly string[];
  /** What was answered to the calls of this turn, for what the agent does after it. */
  readonly permits: readonly Permit[];
  /** What its events are stamped with, made once and not for every chunk. */
  readonly stamp: PromptStamp;
  /** What a line that begins with a slash was found to be; null for any other prompt. */
  readonly slash: SlashWork | null;
}

/** A turn that was called for by a slash: of the agent's own command, a skill, or a tool. */
export type SlashWork = "agent" | "skill" | "tool";

/** How an ask ended, and in which prompt, which older slots do not say. */
export type ResolvedAsk = AskOutcome & { readonly promptId?: PromptId };

export interface RegisteredClient {
  /** How often it attached without detaching; at zero it is forgotten. */
  readonly count: number;
  /** Bound to the user who registered it, once tokens are in use. */
  readonly userId: UserId | null;
}

/** What a retry with the same key is answered. */
export interface Admission {
  readonly hash: string;
  readonly answer: FirstAnswer;
  readonly atMs: number;
}

export type FirstAnswer =
  /** The last event before the prompt was admitted: its caller reads on from there. */
  { readonly promptId: PromptId; readonly lastEventId: number } | { readonly shellId: ShellId };

export interface RunningShell {
  readonly command: string;
  readonly clientId: ClientId | null;
  readonly userId?: UserId;
  readonly startedAtMs: number;
}

export interface Ending {
  readonly reason: EndReason;
  readonly closedBy: ClientId | null;
  readonly closedByUser?: UserId;
}

export interface Totals {
  readonly promptCount: number;
  readonly turnsCompleted: number;
  readonly turnsFailed: number;
  readonly toolCalls: number;
  readonly toolFailures: number;
  readonly chargedMicro: number;
  readonly tokensByModel: ReadonlyMap<string, TokenUsage>;
}

/** Whether this client is registered, and by this user: no user speaks in another's name. */
export function isRegistered(session: Session, clientId: ClientId, userId: UserId | null): boolean {
  const known = session.clients.get(clientId);
  return known !== undefined && (known.userId === null || known.userId === userId);
}

/** The prompt at work, and the messages that its agent took into the turn. */
export function atWork({ running }: Session): readonly WaitingPrompt[] {
  return running === null ? [] : [running, ...(running.taken ?? [])];
}

/** How many prompts have no verdict yet. */
export function pendingCount(session: Session): number {
  return session.queue.length + atWork(session).length;
}

/**
 * How many prompts are to have a verdict without anything that a client does: those without one,
 * or the next stage of a workflow that goes on. Such a session is not let go.
 */
export function workCount(session: Session): number {
  const isDriven = session.workflow?.state === "running";
  return Math.max(pendingCount(session), isDriven ? 1 : 0);
}

/** A prompt that was sent as a message into a turn, and waits. */
export interface WaitingMessage extends WaitingPrompt {
  readonly messageId: string;
}

/** Messages into a turn that wait for its end, in order. The next one is a prompt by now. */
export function waitingMessages({ running, queue }: Session): readonly WaitingMessage[] {
  return (running === null ? queue.slice(1) : queue).filter(isMessage);
}

/**
 * Those that the agent may take into its turn. A line with a slash is a command, and only words of
 * users who speak in the turn already leave what binds it as it is.
 */
export function messagesToTake(session: Session): readonly WaitingMessage[] {
  const { running } = session;
  if (running === null || running.stopCause !== null) return [];
  const speakers = speakersOf(session);
  const free = STEERED_MESSAGES_MAX - running.steeredIds.length;
  const ours = waitingMessages(session).filter((message) => {
    const isWords = slashTextOf(message.content) === null;
    return isWords && speakers.some((one) => isSameSpeaker(one, speakerOf(message)));
  });
  return ours.slice(0, Math.max(0, free));
}

/** The same user with another token may speak with another role. */
export function isSameSpeaker(one: TurnSpeaker, other: TurnSpeaker): boolean {
  return one.userId === other.userId && one.authority?.role === other.authority?.role;
}

export function isMessage(prompt: WaitingPrompt): prompt is WaitingMessage {
  return prompt.messageId !== undefined;
}

/** The options that clients have set of the session's present agent. */
export function optionsOfAgent({ chosen }: Session): readonly (readonly [string, AgentOption])[] {
  const { activeAgent, agentOptions = new Map<string, AgentOption>() } = chosen;
  return [...agentOptions].filter(([, { agent }]) => agent === activeAgent);
}

/** The users whose words are in the turn at work; none if there is no turn. */
export function speakersOf({ running }: Session): readonly TurnSpeaker[] {
  return running === null ? [] : [speakerOf(running), ...(running.steeredBy ?? [])];
}

export function speakerOf({ userId, authority }: WaitingPrompt): TurnSpeaker {
  return { userId, authority: authority ?? null };
}

/** The session with its turn's fields changed; only `evolve` needs this. */
export function inTurn(session: Session, change: Partial<TurnState>): Session {
  const { connection } = session;
  return { ...session, connection: { ...connection, turn: { ...connection.turn, ...change } } };
}

/** What of a model can be set. The model comes first: what else an agent offers may hang on it. */
export const MODEL_SETTINGS = ["modelId", "temperature", "reasoning", "verbosity"] as const;

export type ModelSetting = (typeof MODEL_SETTINGS)[number];

/** What a client wants changed; what is not in it stays as it is. */
export interface ModelChange {
  readonly modelId?: string;
  readonly temperature?: number;
  readonly reasoning?: string;
  readonly verbosity?: string;
}

export interface ModelPart {
  readonly setting: ModelSetting;
  readonly value: string | number;
}

/** A part that the agent did not take. */
export interface ModelFailure extends ModelPart {
  readonly reason: string;
}

/** What is set in it, in the order in which an agent is asked for it. */
export function settingsOfModel(config: ModelConfig | ModelChange): readonly ModelPart[] {
  return MODEL_SETTINGS.flatMap((setting) => {
    const value = config[setting] ?? null;
    return value === null ? [] : [{ setting, value }];
  });
}

export function isSameConfig(one: ModelConfig, other: ModelConfig): boolean {
  return MODEL_SETTINGS.every((setting) => one[setting] === other[setting]);
}
