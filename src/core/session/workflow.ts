import type { UserId } from "../id.ts";
import type { Authority } from "../policy/bound.ts";

/**
 * A workflow attached to a session: where it stands. What it keeps of its own is in its slot, into
 * which the core does not look.
 */
export interface AttachedWorkflow {
  readonly name: string;
  /** Of the text that it began with, which is in the store under this hash. */
  readonly hash: string;
  /** The words that it was started with. */
  readonly input: string;
  readonly state: WorkflowState;
  /** Why it does not go on; null while it does, or when it came to its end. */
  readonly reason: string | null;
  /** What it does: the first is at work or comes next. Empty at its end. */
  readonly plan: readonly WorkflowStep[];
  /** Executions of the first step: begun, failed, and cut off by the end of a server. */
  readonly attempts: number;
  readonly failures: number;
  readonly interruptions: number;
  /** When the last one of them ended, from which the pause before the next is counted. */
  readonly attemptEndedAtMs: number | null;
  /** Executions since it was started, or since a person had it go on. */
  readonly executions: number;
  /** There is something of it in its slot. */
  readonly keeps: boolean;
  /** The last ones that have ended, oldest first. */
  readonly past: readonly PastExecution[];
  /** Who started it: its prompts count as theirs. */
  readonly userId: UserId | null;
  readonly authority?: Authority;
}

/**
 * `paused`: a person decides how it goes on. `aborted`: it cannot go on here, and its place in the
 * session is kept. `ended` and `stopped` are over.
 */
export type WorkflowState = (typeof WORKFLOW_STATES)[number];

export const WORKFLOW_STATES = ["running", "paused", "aborted", "ended", "stopped"] as const;

/** One stage, or two and more that run together. Each execution of it is one turn. */
export interface WorkflowStep {
  readonly stages: readonly string[];
  readonly maxAttempts: number;
  readonly backoffMs: number;
}

/** The stages that a prompt of the server is for. */
export interface StagePrompt {
  readonly stages: readonly string[];
  readonly attempt: number;
}

export interface PastExecution extends StagePrompt {
  readonly outcome: ExecutionOutcome;
}

/**
 * How one execution ended: `retry` by its own judgement, `interrupted` with its server, and
 * `cancelled` by a person.
 */
export type ExecutionOutcome = (typeof EXECUTION_OUTCOMES)[number];

export const EXECUTION_OUTCOMES = [
  "ok",
  "skipped",
  "retry",
  "failed",
  "cancelled",
  "interrupted",
] as const;

/** What the workflow itself says at the end of an execution, before there is a verdict. */
export interface StageRuling {
  readonly outcome: "ok" | "skipped" | "retry" | "failed";
  /** For people. */
  readonly reason?: string;
  /** What follows, where it was asked; else the rest of the plan does. */
  readonly next?: StageNext;
  /** There is something to keep of it, which is stored if the turn ends as it says. */
  readonly kept?: boolean;
}

export type StageNext =
  | { readonly kind: "steps"; readonly steps: readonly WorkflowStep[] }
  | { readonly kind: "pause"; readonly reason: string };

/** How a person has it go on, or not. */
export type WorkflowAct = (typeof WORKFLOW_ACTS)[number];

export const WORKFLOW_ACTS = ["pause", "resume", "retry", "stop"] as const;

/** Whether a session has it still: another one cannot be attached. */
export function isAttached(workflow: AttachedWorkflow | undefined): workflow is AttachedWorkflow {
  if (workflow === undefined) return false;
  return workflow.state !== "ended" && workflow.state !== "stopped";
}

/** When its next execution may begin, for the pause between attempts. */
export function stageDueAtMs({ plan, failures, attemptEndedAtMs }: AttachedWorkflow): number {
  const [head] = plan;
  if (head === undefined || failures === 0 || attemptEndedAtMs === null) return 0;
  return attemptEndedAtMs + head.backoffMs;
}

export function isSameStages(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((stage, at) => stage === other[at]);
}

/** What can have happened to the workflow of a session. */
export interface WorkflowEvents {
  workflow_attached: WorkflowAttached;
  /** The turn that begins with it is an execution of these stages. */
  stage_started: StagePrompt;
  /** What the agent is told in the turn; people are shown it as what the user says. */
  stage_prompted: { stage: string; text: string };
  stage_ended: StageEnded;
  workflow_paused: { reason: string; message: string };
  workflow_resumed: { stages: readonly string[] };
  workflow_ended: { state: "ended" | "stopped" };
  workflow_aborted: { reason: string };
}

interface WorkflowAttached {
  name: string;
  hash: string;
  input: string;
  first: WorkflowStep;
  userId?: UserId;
  authority?: Authority;
}

interface StageEnded extends StagePrompt {
  outcome: ExecutionOutcome;
  /** Why, for people. */
  reason?: string;
  /** What the workflow keeps of it is in its slot, in the same commit. */
  kept?: boolean;
  /** What the workflow does from here on. */
  plan: readonly WorkflowStep[];
}

/** By which name its slot is stored, and its place in the manifest. */
export function slotOwnerOf({ name }: Pick<AttachedWorkflow, "name">): string {
  return `${SLOT_OWNERS}${name}`;
}

/** Whether that is the name of a workflow's slot, also of one that the session has no more. */
export function isWorkflowSlot(owner: string): boolean {
  return owner.startsWith(SLOT_OWNERS);
}

const SLOT_OWNERS = "workflow.";
