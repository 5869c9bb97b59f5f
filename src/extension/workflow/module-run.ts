import { isObject } from "../../core/json.ts";
import { EXTENSION_STEP_MS_MAX, EXTENSION_WORK_MS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { PlainData } from "../plain-data.ts";
import type { PhaseAnswer, PhaseCall } from "../thread/messages.ts";
import type { RunningThread } from "../thread/threads.ts";
import type {
  ActReport,
  AssertVerdict,
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
import { ranCommand } from "./declared-run.ts";
import {
  readAssertVerdict,
  readContext,
  readGateVerdict,
  readNext,
  resultOf,
  usualVerdict,
} from "./phase-answer.ts";

/**
 * The workflow of a module at work, in a thread. Each phase is told all that it needs, so a thread
 * that is late or given up is ended, and the next phase has another one.
 */
export class ModuleRun implements WorkflowRun {
  readonly plan: WorkflowPlan;
  readonly #host: Pick<WorkflowHost, "run">;
  readonly #start: () => Result<RunningThread>;
  #thread: RunningThread | null = null;

  constructor(
    plan: WorkflowPlan,
    host: Pick<WorkflowHost, "run">,
    start: () => Result<RunningThread>,
  ) {
    this.plan = plan;
    this.#host = host;
    this.#start = start;
  }

  async attach(stored: StoredContext | null, signal: AbortSignal): Promise<Result<StageContext>> {
    const usual = stored === null ? {} : stored.ctx;
    const isOther = stored !== null && stored.slotVersion !== this.plan.slotVersion;
    const told = stored === null ? null : { ...stored };
    const asked = await this.#asked("attach", null, [told], signal);
    if (!asked.ok) return asked;
    if (!asked.value.isLeftOut) return this.#read("attach", readContext(asked.value.said));
    if (!isOther) return ok(usual);
    const { slotVersion } = this.plan;
    const reason = `what it keeps is of version ${stored.slotVersion}, not ${slotVersion}`;
    return this.#failed("attach", reason);
  }

  async setup(at: StageExecution, signal: AbortSignal): Promise<Result<StageContext>> {
    const command = this.plan.stages.find(({ id }) => id === at.stageId)?.run ?? null;
    const ran = await ranCommand(this.plan.name, command, at, (line) => {
      return this.#host.run(line, signal);
    });
    if (!ran.ok) return ran;
    const told = { ...at, ctx: { ...at.ctx, ...ran.value } };
    const asked = await this.#asked("setup", at.stageId, [told], signal);
    if (!asked.ok) return asked;
    if (asked.value.isLeftOut || asked.value.said === null) return ran;
    const read = this.#read("setup", readContext(asked.value.said));
    return read.ok ? ok({ ...ran.value, ...read.value }) : read;
  }

  async checkGate(at: StageExecution, signal: AbortSignal): Promise<Result<GateVerdict>> {
    const asked = await this.#asked("checkGate", at.stageId, [{ ...at }], signal);
    if (!asked.ok) return asked;
    if (asked.value.isLeftOut) return ok("proceed");
    return this.#read("checkGate", readGateVerdict(asked.value.said));
  }

  async assert(
    at: StageExecution,
    act: ActReport,
    signal: AbortSignal,
  ): Promise<Result<AssertVerdict>> {
    const asked = await this.#asked("assert", at.stageId, [{ ...at }, { ...act }], signal);
    if (!asked.ok) return asked;
    if (!asked.value.isLeftOut) {
      return this.#read("assert", readAssertVerdict(asked.value.said));
    }
    const stage = this.plan.stages.find(({ id }) => id === at.stageId);
    return ok(usualVerdict(act, stage?.completion != null));
  }

  async exit(
    at: StageExecution,
    act: ActReport,
    outcome: StageOutcome,
    signal: AbortSignal,
  ): Promise<Result<PlainData>> {
    const told = [{ ...at }, { ...act }, outcome];
    const asked = await this.#asked("exit", at.stageId, told, signal);
    if (!asked.ok || !asked.value.isLeftOut) return asked.ok ? ok(asked.value.said) : asked;
    return ok(act.isSkipped ? null : resultOf(act));
  }

  async next(
    at: StageExecution,
    outcome: StageOutcome,
    signal: AbortSignal,
  ): Promise<Result<Next>> {
    const asked = await this.#asked("next", at.stageId, [{ ...at }, outcome], signal);
    if (!asked.ok) return asked;
    const ids = this.plan.stages.map(({ id }) => id);
    if (!asked.value.isLeftOut) return this.#read("next", readNext(asked.value.said, ids));
    const index = ids.indexOf(at.stageId);
    if (outcome !== "failed")
      return ok({ kind: "sequential", stages: ids.slice(index + 1).slice(0, 1) });
    const { name = at.stageId } = this.plan.stages[index] ?? {};
    return ok({ kind: "pause", reason: `The stage "${name}" has failed.` });
  }

  async end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    thread?.end("the workflow is over");
    await thread?.gone;
  }

  async #asked(
    phase: string,
    stageId: string | null,
    told: readonly PlainData[],
    signal: AbortSignal,
  ): Promise<Result<PhaseAnswer>> {
    const thread = await this.#running();
    if (!thread.ok) return thread;
    const giveUp = () => this.#drop(thread.value, "it was given up");
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      if (signal.aborted) giveUp();
      const call: PhaseCall = { stageId, told };
      const about = JSON.stringify(call);
      const request = { work: "phase", hook: phase, about, msMax: EXTENSION_WORK_MS_MAX } as const;
      const { isDone, text } = await thread.value.ask(request);
      return isDone ? ok(JSON.parse(text)) : this.#failed(phase, text);
    } catch (thrown) {
      this.#drop(thread.value, "it failed");
      return this.#failed(phase, thrown instanceof Error ? thrown.message : String(thrown));
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** The thread that it has, or a new one with its module loaded. */
  async #running(): Promise<Result<RunningThread>> {
    if (this.#thread !== null) return ok(this.#thread);
    const started = this.#start();
    if (!started.ok) return started;
    const loaded = await loadedIn(started.value);
    if (loaded !== null) return this.#failed("make", loaded);
    this.#thread = started.value;
    return started;
  }

  #drop(thread: RunningThread, why: string) {
    thread.end(why);
    if (this.#thread === thread) this.#thread = null;
  }

  #read<Value>(phase: string, value: Value | null): Result<Value> {
    return value === null ? this.#failed(phase, "it may not answer that") : ok(value);
  }

  #failed(phase: string, said: string): Result<never> {
    const reason = said.slice(0, 512).toWellFormed();
    return fail("workflow_failed", { workflow: this.plan.name, phase, reason });
  }
}

/** Has a thread load its module; answers why that failed. A thread that failed is ended. */
export async function loadedIn(thread: RunningThread): Promise<string | null> {
  try {
    const { isDone, text } = await thread.ask({ work: "make", msMax: EXTENSION_STEP_MS_MAX });
    if (isDone) return null;
    thread.end("it did not come up");
    return text;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** What a module says its stages are; a text is why that cannot be told. */
export async function stagesIn(thread: RunningThread): Promise<object | string> {
  try {
    const { isDone, text } = await thread.ask({ work: "plan", msMax: EXTENSION_WORK_MS_MAX });
    if (!isDone) return text;
    const said: unknown = JSON.parse(text);
    return isObject(said) ? said : "it answers no object";
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}
