import type { Refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Result } from "../../core/result.ts";
import type { ExtensionScope } from "../catalog.ts";
import type { SessionFacts } from "../contract.ts";
import type { PlainData } from "../plain-data.ts";

/**
 * A workflow as data, the same whether it was declared in a file or made by a module. It has been
 * checked as a whole: ids are unique, each id that it names is there, and each number is in its
 * bounds.
 */
export interface WorkflowPlan {
  readonly name: string;
  /** One sentence for people. */
  readonly description: string;
  /** What the words after its name are to say; null if it needs none. */
  readonly input: string | null;
  /** Of the shape of what it keeps; it takes or refuses what is stored in another. */
  readonly slotVersion: number;
  readonly entry: string;
  readonly stages: readonly StagePlan[];
  /** What may follow each stage, for drawings; null if its code alone decides. */
  readonly paths: readonly PlanPath[] | null;
}

export interface PlanPath {
  readonly from: string;
  readonly next: Next;
  /** In words for people; empty is in all other cases. */
  readonly when: string;
}

export interface StagePlan {
  readonly id: string;
  readonly name: string;
  /**
   * What the agent is told, with places for what is known when the stage begins: `${input}`,
   * `${ctx.x}`, `${results.STAGE.field}`, `${visits.STAGE}`, `${attempt}`. What follows a `|` in
   * it stands there if nothing is known: `${results.review.findings|none yet}`.
   */
  readonly body: string;
  /**
   * A command that is run in Setup, with the same places. How it went is `ctx.run`. A workflow with
   * one needs a server whose operator allows shells.
   */
  readonly run: string | null;
  /** Patterns of an allowlist. What matches needs no person; null has no opinion of any call. */
  readonly allowedTools: readonly string[] | null;
  /** What becomes of the other calls. Without `allowedTools` it says nothing. */
  readonly otherTools: "ask" | "deny";
  /**
   * What the agent says by the tool `complete_stage`, or in its last message if it has no tools of
   * ours; null ends the stage with the agent's turn.
   */
  readonly completion: StageCompletion | null;
  /** So many tool calls the agent may make in one Act; then it is stopped. */
  readonly turnCap: number;
  readonly retry: RetryPolicy;
}

export interface StageCompletion {
  /** What it is to say by that, in a sentence for the agent; empty leaves it to the schema. */
  readonly description: string;
  /** Of what it says: an object, in the part of JSON Schema that extensions have. */
  readonly schema: JsonObject;
}

export interface RetryPolicy {
  /** The first one included. */
  readonly maxAttempts: number;
  readonly backoffMs: number;
}

/** What each phase is told: facts, frozen. A phase changes nothing but by what it answers. */
export interface StageExecution {
  readonly executionId: string;
  readonly stageId: string;
  /** From 1. */
  readonly attempt: number;
  /** Of the parallel group that the stage is in; null if in none. */
  readonly groupId: string | null;
  /** The words after the name of the workflow when it was started. */
  readonly input: string;
  readonly ctx: StageContext;
  /** What each stage came to when it last ended. A join finds all stages of its group here. */
  readonly results: { readonly [stageId: string]: PlainData };
  /** How often each stage has ended: what bounds a way back. */
  readonly visits: { readonly [stageId: string]: number };
}

/** What Setup has written, and no other phase: kept from stage to stage, and stored. */
export type StageContext = { readonly [key: string]: PlainData };

/** What came of Act. */
export interface ActReport {
  /** The agent has made as many tool calls as it may, and was stopped. */
  readonly isCapHit: boolean;
  /** What it completed the stage with; null if it did not. */
  readonly completion: PlainData;
  /** Its last words. */
  readonly text: string;
  /** The gate let the stage be skipped, so there was no Act. */
  readonly isSkipped: boolean;
}

export type GateVerdict = "proceed" | "retry" | "skip";

export type AssertVerdict = "ok" | "retry" | "skip" | "fail";

/** How a stage has ended. */
export type StageOutcome = "ok" | "skipped" | "failed";

/** What follows a stage. */
export type Next =
  /** One after the other, each in its own turn; none is the end of the workflow. */
  | { readonly kind: "sequential"; readonly stages: readonly string[] }
  /** Two or more together, in one turn. Then the join; without one the workflow ends. */
  | { readonly kind: "parallel"; readonly stages: readonly string[]; readonly join?: string }
  /** It waits for a person, who reads the reason, and has the stage done again or ends it. */
  | { readonly kind: "pause"; readonly reason: string };

/**
 * One workflow at work for one session: a declared one is interpreted in this process, and that of
 * a module runs in a thread. It keeps nothing between two calls: all it needs is in what it is
 * told. Each call can be given up, and has its deadline with the caller.
 */
export interface WorkflowRun {
  readonly plan: WorkflowPlan;
  /** The context to begin with; refused if it cannot go on from what is stored. Null is new. */
  attach(stored: StoredContext | null, signal: AbortSignal): Promise<Result<StageContext>>;
  /** What it answers is laid over the context. */
  setup(at: StageExecution, signal: AbortSignal): Promise<Result<StageContext>>;
  checkGate(at: StageExecution, signal: AbortSignal): Promise<Result<GateVerdict>>;
  assert(at: StageExecution, act: ActReport, signal: AbortSignal): Promise<Result<AssertVerdict>>;
  /** What the stage comes to, for `results`. */
  exit(
    at: StageExecution,
    act: ActReport,
    outcome: StageOutcome,
    signal: AbortSignal,
  ): Promise<Result<PlainData>>;
  /** Asked of the last stage of a list, with its result in `results` and its visit counted. */
  next(at: StageExecution, outcome: StageOutcome, signal: AbortSignal): Promise<Result<Next>>;
  /** Resolves when nothing of it is left. */
  end(): Promise<void>;
}

export interface StoredContext {
  readonly slotVersion: number;
  readonly ctx: StageContext;
}

/** Knows the workflows that sessions can have. */
export interface WorkflowCatalog {
  /** All in a place, by name; of those that cannot be started, why. No code runs by that. */
  list(place: ExtensionScope): Promise<readonly WorkflowListing[]>;
  find(place: ExtensionScope, name: string): Promise<Result<FoundWorkflow>>;
  /** Brings up what was found once, in the version that it had then. */
  open(text: string, host: WorkflowHost): Promise<Result<WorkflowRun>>;
}

export interface WorkflowListing {
  readonly name: string;
  readonly description: string;
  readonly source: WorkflowSource;
  /** Null if it can be started. */
  readonly why: Refusal | null;
}

export type WorkflowSource = "bundled" | "package" | "home" | "workspace";

export interface FoundWorkflow {
  readonly plan: WorkflowPlan;
  /** The version, by its content. */
  readonly hash: string;
  /** All that it takes to open this version again; kept with the session. */
  readonly text: string;
}

/** What a session lends to the workflow at work in it. */
export interface WorkflowHost {
  readonly tenantId: TenantId;
  readonly session: SessionFacts;
  /** Runs a command in the directory of the session; refused where shells are not allowed. */
  run(command: string, signal: AbortSignal): Promise<Result<CommandOutcome>>;
  /** A line for the operator's log. */
  log(message: string): void;
}

export interface CommandOutcome {
  readonly exitCode: number;
  /** The end of what it wrote. */
  readonly output: string;
}
