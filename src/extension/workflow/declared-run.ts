import { refusal } from "../../core/error.ts";
import { STAGE_REASON_CHARS_MAX, WORKFLOW_COMMAND_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { render } from "../../core/workflow/render.ts";
import type { PlainData } from "../plain-data.ts";
import type {
  ActReport,
  AssertVerdict,
  CommandOutcome,
  GateVerdict,
  Next,
  StageContext,
  StageExecution,
  StageOutcome,
  StoredContext,
  WorkflowHost,
  WorkflowPlan,
  WorkflowRun,
} from "./contract.ts";
import type { Declaration, DeclaredStage } from "./declaration.ts";
import { resultOf, usualVerdict } from "./phase-answer.ts";
import { nextInFile, nextOf, planOf } from "./plan.ts";
import { firstMet, isMet, type RuleFacts } from "./rule.ts";

/** A declared workflow at work: its rules are looked up, and none of its own code runs. */
export class DeclaredRun implements WorkflowRun {
  readonly plan: WorkflowPlan;
  readonly #declared: Declaration;
  readonly #stages: ReadonlyMap<string, DeclaredStage>;
  readonly #host: Pick<WorkflowHost, "run">;

  constructor(declared: Declaration, host: Pick<WorkflowHost, "run">) {
    this.plan = planOf(declared);
    this.#declared = declared;
    this.#stages = new Map(declared.stages.map((stage) => [stage.id, stage]));
    this.#host = host;
  }

  async attach(stored: StoredContext | null): Promise<Result<StageContext>> {
    if (stored === null) return ok({});
    const { slotVersion: expected, name: workflow } = this.plan;
    if (stored.slotVersion === expected) return ok(stored.ctx);
    const reason = `what it keeps is of version ${stored.slotVersion}, not ${expected}`;
    return fail("workflow_failed", { workflow, phase: "attach", reason });
  }

  async setup(at: StageExecution, signal: AbortSignal): Promise<Result<StageContext>> {
    const stage = this.#stage(at);
    if (!stage.ok) return stage;
    return ranCommand(this.plan.name, stage.value.run, at, (command) => {
      return this.#host.run(command, signal);
    });
  }

  async checkGate(at: StageExecution): Promise<Result<GateVerdict>> {
    const stage = this.#stage(at);
    if (!stage.ok) return stage;
    return ok(firstMet(stage.value.gate, factsOf(at))?.verdict ?? "proceed");
  }

  async assert(at: StageExecution, act: ActReport): Promise<Result<AssertVerdict>> {
    const stage = this.#stage(at);
    if (!stage.ok) return stage;
    const { assert, completion } = stage.value;
    const usual = usualVerdict(act, completion !== null);
    // What the agent has not done cannot be judged by what it came to.
    if (usual === "retry") return ok(usual);
    const facts = { ...factsOf(at), result: resultOf(act), capHit: act.isCapHit };
    return ok(firstMet(assert, facts)?.verdict ?? usual);
  }

  async exit(_: StageExecution, act: ActReport): Promise<Result<PlainData>> {
    return ok(act.isSkipped ? null : resultOf(act));
  }

  async next(at: StageExecution, outcome: StageOutcome): Promise<Result<Next>> {
    const stage = this.#stage(at);
    if (!stage.ok) return stage;
    const { id, name, next } = stage.value;
    const visits = at.visits[id] ?? 0;
    const facts = { ...factsOf(at), result: at.results[id] ?? null, outcome };
    const rule = next.find(({ when, atMost }) => {
      const isFor = outcome !== "failed" || Object.hasOwn(when, "outcome");
      return isFor && (atMost === null || visits <= atMost) && isMet(when, facts);
    });
    if (rule !== undefined) return ok(withPlacesFilled(nextOf(rule), at));
    if (outcome !== "failed") return ok(nextInFile(this.#declared, id));
    return ok({ kind: "pause", reason: `The stage "${name ?? id}" has failed.` });
  }

  async end(): Promise<void> {}

  #stage({ stageId }: StageExecution): Result<DeclaredStage> {
    const stage = this.#stages.get(stageId);
    if (stage !== undefined) return ok(stage);
    const { name: workflow } = this.plan;
    const reason = `it has no stage "${stageId}"`;
    return { ok: false, refusal: refusal("workflow_failed", { workflow, phase: "setup", reason }) };
  }
}

/** Runs the command of a stage, if it has one, and answers what the context has of that. */
export async function ranCommand(
  workflow: string,
  command: string | null,
  at: StageExecution,
  run: (command: string) => Promise<Result<CommandOutcome>>,
): Promise<Result<StageContext>> {
  if (command === null) return ok({});
  const rendered = render(command, { ...at }, WORKFLOW_COMMAND_CHARS_MAX);
  if ("unresolved" in rendered) {
    const reason = `nothing is known for ${rendered.unresolved} of its command`;
    return fail("workflow_failed", { workflow, phase: "setup", reason });
  }
  if ("tooLong" in rendered) {
    const reason = `its command would be longer than ${rendered.tooLong} characters`;
    return fail("workflow_failed", { workflow, phase: "setup", reason });
  }
  const ran = await run(rendered.text);
  if (!ran.ok) return ran;
  const { exitCode, output } = ran.value;
  return ok({ run: { exitCode, output } });
}

function factsOf({ input, attempt, ctx, results, visits }: StageExecution): RuleFacts {
  return { input, attempt, ctx, results, visits };
}

/** A reason is for people: where nothing is known, or too much, it stays as it is written. */
function withPlacesFilled(next: Next, at: StageExecution): Next {
  if (next.kind !== "pause") return next;
  const rendered = render(next.reason, { ...at }, STAGE_REASON_CHARS_MAX);
  return "text" in rendered ? { kind: "pause", reason: rendered.text } : next;
}
