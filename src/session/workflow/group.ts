import type { TurnId } from "../../core/id.ts";
import { isObject, stringAt } from "../../core/json.ts";
import {
  AGENT_NAME_CHARS_MAX,
  CHILD_TASK_CHARS_MAX,
  CHILD_TITLE_CHARS_MAX,
  CHILDREN_OPEN_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { StageRuling } from "../../core/session/workflow.ts";
import { NO_SKILLS } from "../../core/skill/skill.ts";
import { cutText } from "../../core/text.ts";
import type { ActReport, StagePlan, WorkflowRun } from "../../extension/workflow/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import type { Delegation } from "../agent/delegate-tool.ts";
import type { KeptState } from "./kept.ts";
import { completedIn, executionOf, runPhases, type StageEnd, stageIn, withHint } from "./phases.ts";

/** A group of stages that run together, in one turn. */
export interface GroupToRun {
  readonly clock: Clock;
  readonly run: WorkflowRun;
  readonly turnId: TurnId;
  readonly stages: readonly string[];
  readonly kept: KeptState;
  readonly facts: { readonly groupId: string; readonly attempt: number; readonly input: string };
  /** Null where a session can have no children. */
  readonly children: Delegation | null;
  readonly signal: AbortSignal;
}

export interface GroupEnd {
  readonly ruling: StageRuling;
  readonly kept: KeptState;
}

/**
 * Runs each stage of a group with an agent session of its own, as a child of the turn. All of them
 * begin with the same state. The first that fails ends the others, and the group with them.
 */
export async function runGroup(todo: GroupToRun): Promise<GroupEnd> {
  const { stages, kept, signal } = todo;
  const giveUp = new AbortController();
  const calledOff = () => giveUp.abort();
  signal.addEventListener("abort", calledOff, { once: true });
  if (signal.aborted) calledOff();
  const places = new Semaphore(CHILDREN_OPEN_MAX);
  let first: { readonly stage: string; readonly end: StageEnd } | null = null;
  const ends = await Promise.all(
    stages.map(async (stage) => {
      const end = await places.run(() => sibling(todo, stage, giveUp.signal));
      const isDone = end.outcome === "ok" || end.outcome === "skipped";
      if (!isDone) {
        first ??= { stage, end };
        giveUp.abort();
      }
      return end;
    }),
  );
  signal.removeEventListener("abort", calledOff);
  const failed: { readonly stage: string; readonly end: StageEnd } | null = first;
  if (failed !== null) return { ruling: rulingOf(failed), kept };
  return { ruling: { outcome: "ok" }, kept: ends.reduce(joined, kept) };
}

function rulingOf({ stage, end }: { readonly stage: string; readonly end: StageEnd }): StageRuling {
  const reason = `The parallel stage "${stage}" has failed: ${end.reason ?? "it gives no reason"}`;
  return { outcome: end.outcome === "failed" ? "failed" : "retry", reason };
}

function joined(sum: KeptState, { kept }: StageEnd): KeptState {
  return {
    ...sum,
    ctx: { ...sum.ctx, ...kept.ctx },
    results: { ...sum.results, ...kept.results },
    visits: { ...sum.visits, ...kept.visits },
  };
}

async function sibling(todo: GroupToRun, id: string, signal: AbortSignal): Promise<StageEnd> {
  const { clock, run, kept, facts } = todo;
  const stage = stageIn(run, id);
  if (stage === null || signal.aborted) {
    return { outcome: "retry", reason: "It was not begun.", next: null, kept };
  }
  const executionId = siblingId(facts.groupId, id);
  return runPhases(clock, {
    ...{ run, stage, kept, signal },
    at: executionOf(id, kept, { ...facts, executionId }),
    isLastAttempt: false,
    isAskedNext: false,
    act: async (text) => {
      const task = { executionId, text: withHint(stage, text, "message"), signal };
      return completedIn(stage, await delegated(todo, stage, task));
    },
  });
}

/** The name of one execution in a group, by which its child is known. */
export function siblingId(groupId: string, stage: string): string {
  return cutText(`${groupId}/${stage}`, AGENT_NAME_CHARS_MAX);
}

interface SiblingTask {
  readonly executionId: string;
  readonly text: string;
  readonly signal: AbortSignal;
}

/** Has a child do it, and takes what it says last. */
async function delegated(
  { children, turnId }: GroupToRun,
  stage: StagePlan,
  { executionId, text, signal }: SiblingTask,
): Promise<Result<ActReport>> {
  if (children === null) return fail("child_limit_exceeded", { limit: 0 });
  const task = {
    task: cutText(text, CHILD_TASK_CHARS_MAX),
    title: cutText(stage.name, CHILD_TITLE_CHARS_MAX),
    agent: null,
    model: null,
    skills: [],
    readOnly: false,
  };
  const use = { callId: executionId, meta: {}, signal, progress: () => {} };
  const call = { wanted: task, use, turnId, openMax: CHILDREN_OPEN_MAX };
  const answer = await children.delegate(call, NO_SKILLS);
  const said = answer.isError ? answer.text : wordsOf(answer.text);
  if (answer.isError) {
    return fail("stage_phase_failed", { stage: stage.id, phase: "act", reason: said });
  }
  return ok({ isCapHit: false, completion: null, text: said, isSkipped: false });
}

/** What the child said last, out of what it came to. */
function wordsOf(text: string): string {
  const result: unknown = JSON.parse(text);
  return isObject(result) ? (stringAt(result, "text") ?? "") : "";
}
