import type { JsonObject } from "../../core/json.ts";
import type { SessionFacts } from "../contract.ts";
import type { Awaitable } from "../hook.ts";
import type { PlainData } from "../plain-data.ts";
import type {
  ActReport,
  AssertVerdict,
  GateVerdict,
  Next,
  RetryPolicy,
  StageContext,
  StageExecution,
  StageOutcome,
  StoredContext,
} from "./contract.ts";

/**
 * What the module of a workflow exports by default. It is called once when the workflow is found,
 * to learn its stages, and once for each session that has it, in a thread of its own.
 */
export type MakeWorkflow = (host: WorkflowModuleHost) => Awaitable<Workflow>;

/** What the module of a workflow is given. */
export interface WorkflowModuleHost {
  readonly id: string;
  /** What it is configured with; its schema has taken it. */
  readonly config: { readonly [key: string]: PlainData };
  readonly session: SessionFacts;
  /** A line for the operator's log. */
  log(message: string): void;
}

/** A workflow as its author writes it. What is left out has a default. */
export interface Workflow {
  /** What the words after its name are to say, such as "the task". By default it needs none. */
  readonly input?: string;
  /** By default the first of its stages. */
  readonly entry?: string;
  readonly stages: readonly Stage[];
  /**
   * The context to begin with, by what an earlier life of the session has stored: null if it is
   * new. What throws refuses to go on from that, and the session is a plain conversation.
   */
  attach?(stored: StoredContext | null): Awaitable<StageContext>;
}

/**
 * A stage: the agent is told its body, and works until it says that it has done. Each function is
 * one phase, told all that it needs. It answers, and changes nothing else.
 */
export interface Stage {
  readonly id: string;
  readonly name?: string;
  /** What the agent is told, with places such as `${input}`; see StagePlan. */
  readonly body: string;
  /** A command that is run in Setup, before the function; how it went is `at.ctx.run`. */
  readonly run?: string;
  readonly allowedTools?: readonly string[];
  /** Of the calls that are not in `allowedTools`: by default people are asked. */
  readonly otherTools?: "ask" | "deny";
  readonly completion?: {
    readonly description?: string;
    readonly schema: JsonObject;
  };
  readonly turnCap?: number;
  readonly retry?: Partial<RetryPolicy>;
  /** What it answers is laid over the context. By default nothing is. */
  setup?(at: StageExecution): Awaitable<StageContext>;
  /** By default the stage proceeds. */
  checkGate?(at: StageExecution): Awaitable<GateVerdict>;
  /** By default it is ok if the agent has completed, and is tried again if not. */
  assert?(at: StageExecution, act: ActReport): Awaitable<AssertVerdict>;
  /** By default what the agent completed with, or its last words. */
  exit?(at: StageExecution, act: ActReport, outcome: StageOutcome): Awaitable<PlainData>;
  /** By default the next stage in the list; after the last one the workflow ends. */
  next?(at: StageExecution, outcome: StageOutcome): Awaitable<Next>;
}
