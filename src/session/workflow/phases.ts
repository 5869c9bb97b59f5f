import { refusal, sentenceOf } from "../../core/error.ts";
import {
  STAGE_TEXT_CHARS_MAX,
  WORKFLOW_COMMAND_MS_MAX,
  WORKFLOW_PHASE_MS_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { StageNext } from "../../core/session/workflow.ts";
import { render } from "../../core/workflow/render.ts";
import { completionHint, completionInMessage } from "../../extension/workflow/completion.ts";
import type {
  ActReport,
  Next,
  StageContext,
  StageExecution,
  StageOutcome,
  StagePlan,
  WorkflowRun,
} from "../../extension/workflow/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { KeptState } from "./kept.ts";
import { thrownWords } from "./workflow-run.ts";

/** One execution of one stage. */
export interface StageToRun {
  readonly run: WorkflowRun;
  readonly stage: StagePlan;
  readonly at: StageExecution;
  readonly kept: KeptState;
  /** No other attempt follows this one by itself. */
  readonly isLastAttempt: boolean;
  /** The workflow is asked what follows; else that is known. */
  readonly isAskedNext: boolean;
  readonly signal: AbortSignal;
  /** Has an agent do it; refused if that came to nothing. */
  act(text: string): Promise<Result<ActReport>>;
}

/** What it came to, and what is kept from it; the state as it was where nothing is. */
export interface StageEnd {
  readonly outcome: StageOutcome | "retry";
  readonly reason?: string;
  readonly next: Next | null;
  readonly kept: KeptState;
}

const SKIPPED: ActReport = { isCapHit: false, completion: null, text: "", isSkipped: true };

/**
 * One execution of a stage in its seven phases: Setup, Init, CheckGate, Act, Assert, Exit, Next. A
 * phase that fails or takes too long is the end of the attempt.
 */
export async function runPhases(clock: Clock, todo: StageToRun): Promise<StageEnd> {
  const { run, stage, kept, isLastAttempt } = todo;
  const phase = <Value>(name: string, call: StageCall<Value>, msMax = WORKFLOW_PHASE_MS_MAX) =>
    bounded(clock, { stage: stage.id, phase: name, msMax, signal: todo.signal }, call);
  const again = (reason: string): StageEnd => {
    return { outcome: isLastAttempt ? "failed" : "retry", reason, next: null, kept };
  };

  const setupMsMax = WORKFLOW_PHASE_MS_MAX + (stage.run === null ? 0 : WORKFLOW_COMMAND_MS_MAX);
  const written = await phase("setup", (signal) => run.setup(todo.at, signal), setupMsMax);
  if (!written.ok) return again(sentenceOf(written.refusal));
  const at = { ...todo.at, ctx: { ...todo.at.ctx, ...written.value } };
  const text = textOf(stage, at);
  if (!text.ok) {
    return { outcome: "failed", reason: sentenceOf(text.refusal), next: null, kept };
  }
  const gate = await phase("checkGate", (signal) => run.checkGate(at, signal));
  if (!gate.ok) return again(sentenceOf(gate.refusal));
  if (gate.value === "retry") {
    const reason = "Its gate does not let it begin yet.";
    return isLastAttempt
      ? left(phase, todo, at, { act: SKIPPED, outcome: "failed", reason })
      : again(reason);
  }
  if (gate.value === "skip") return left(phase, todo, at, { act: SKIPPED, outcome: "skipped" });

  const acted = await todo.act(text.value);
  if (!acted.ok) return again(sentenceOf(acted.refusal));
  const act = acted.value;
  const verdict = await phase("assert", (signal) => run.assert(at, act, signal));
  if (!verdict.ok) return again(sentenceOf(verdict.refusal));
  if (verdict.value === "ok") return left(phase, todo, at, { act, outcome: "ok" });
  if (verdict.value === "skip") return left(phase, todo, at, { act, outcome: "skipped" });
  const reason = `Its result was judged: ${verdict.value}.`;
  if (verdict.value === "retry" && !isLastAttempt) return again(reason);
  return left(phase, todo, at, { act, outcome: "failed", reason });
}

type StageCall<Value> = (signal: AbortSignal) => Promise<Result<Value>>;

type RunPhase = <Value>(name: string, call: StageCall<Value>) => Promise<Result<Value>>;

interface StageExit {
  readonly act: ActReport;
  readonly outcome: StageOutcome;
  readonly reason?: string;
}

/** Exit and Next. */
async function left(
  phase: RunPhase,
  { run, stage, kept, isAskedNext }: StageToRun,
  at: StageExecution,
  { act, outcome, reason }: StageExit,
): Promise<StageEnd> {
  const result = await phase("exit", (signal) => run.exit(at, act, outcome, signal));
  if (!result.ok)
    return { outcome: "failed", reason: sentenceOf(result.refusal), next: null, kept };
  const results = { ...kept.results, [stage.id]: result.value };
  const visits = { ...kept.visits, [stage.id]: (kept.visits[stage.id] ?? 0) + 1 };
  const after = { ...kept, ctx: at.ctx, results, visits };
  const why = reason === undefined ? {} : { reason };
  if (!isAskedNext) return { outcome, ...why, next: null, kept: after };
  const next = await phase("next", (signal) =>
    run.next({ ...at, results, visits }, outcome, signal),
  );
  if (!next.ok) return { outcome: "failed", reason: sentenceOf(next.refusal), next: null, kept };
  return { outcome, ...why, next: next.value, kept: after };
}

/** What the agent is told, with what is known filled in. */
function textOf(stage: StagePlan, at: StageExecution): Result<string> {
  const { input, ctx, results, visits, attempt } = at;
  const facts = { input, ctx, results, visits, attempt };
  const rendered = render(stage.body, facts, STAGE_TEXT_CHARS_MAX);
  if ("unresolved" in rendered) {
    return fail("stage_unresolved", { stage: stage.id, place: rendered.unresolved });
  }
  if ("tooLong" in rendered) {
    const reason = `its text would be longer than ${rendered.tooLong} characters`;
    return fail("stage_phase_failed", { stage: stage.id, phase: "init", reason });
  }
  return ok(rendered.text);
}

interface PhaseBounds {
  readonly stage: string;
  readonly phase: string;
  readonly msMax: number;
  readonly signal: AbortSignal;
}

/** One call of the workflow, which may throw, and may never answer. */
async function bounded<Value>(
  clock: Clock,
  { stage, phase, msMax, signal }: PhaseBounds,
  call: StageCall<Value>,
): Promise<Result<Value>> {
  const giveUp = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<Result<Value>>();
  const end = (reason: string) => {
    giveUp.abort();
    resolve({ ok: false, refusal: refusal("stage_phase_failed", { stage, phase, reason }) });
  };
  const called = () => end("it was called off");
  const callOff = clock.after(msMax, () => end(`it took longer than ${msMax / 1_000} s`));
  signal.addEventListener("abort", called, { once: true });
  if (signal.aborted) called();
  const asked = (async () => call(giveUp.signal))().catch((thrown: unknown) => {
    const reason = thrownWords(thrown);
    return fail("stage_phase_failed", { stage, phase, reason });
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    callOff();
    signal.removeEventListener("abort", called);
  }
}

/** What follows a stage, as steps of the plan; what is no plan is put before a person. */
export function nextOf(run: WorkflowRun, next: Next): StageNext {
  if (next.kind === "pause") return next;
  const isGroup = next.kind === "parallel";
  const join = isGroup && next.join !== undefined ? [next.join] : [];
  const unknown = [...next.stages, ...join].find((id) => stageIn(run, id) === null);
  if (unknown !== undefined) {
    return { kind: "pause", reason: `There is no stage "${unknown}", which was to follow.` };
  }
  if (isGroup && new Set(next.stages).size < 2) {
    return { kind: "pause", reason: "A parallel group needs two stages or more." };
  }
  const steps = isGroup ? [next.stages] : next.stages.map((stage) => [stage]);
  return {
    kind: "steps",
    steps: [...steps, ...join.map((id) => [id])].map((one) => stepOf(run, one)),
  };
}

export function stageIn({ plan }: Pick<WorkflowRun, "plan">, id: string): StagePlan | null {
  return plan.stages.find((stage) => stage.id === id) ?? null;
}

/** One stage, or those of a group: a group is tried again as often as each of them may be. */
export function stepOf({ plan }: Pick<WorkflowRun, "plan">, stages: readonly string[]) {
  const retries = plan.stages.filter(({ id }) => stages.includes(id)).map(({ retry }) => retry);
  return {
    stages,
    maxAttempts: Math.max(1, Math.min(...retries.map(({ maxAttempts }) => maxAttempts))),
    backoffMs: Math.max(0, ...retries.map(({ backoffMs }) => backoffMs)),
  };
}

/** How the stage is to be completed stands below what is to be done in it. */
export function withHint({ completion }: StagePlan, text: string, how: "tool" | "message") {
  return completion === null ? text : `${text}\n\n${completionHint(completion, how)}`;
}

/** Where the agent has not called its tool, its last words may say what it came to. */
export function completedIn(stage: StagePlan, acted: Result<ActReport>): Result<ActReport> {
  const { completion: form } = stage;
  if (!acted.ok || acted.value.completion !== null || form === null) return acted;
  return ok({ ...acted.value, completion: completionInMessage(form, acted.value.text) });
}

/** What each phase is told of where it stands. */
export function executionOf(
  stageId: string,
  { ctx, results, visits }: KeptState,
  facts: Pick<StageExecution, "executionId" | "attempt" | "groupId" | "input">,
): StageExecution {
  return { ...facts, stageId, ctx: { ...(ctx satisfies StageContext) }, results, visits };
}
