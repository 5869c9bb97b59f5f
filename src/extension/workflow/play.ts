import { sentenceOf } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import { PLAYED_STAGES_MAX, STAGE_TEXT_CHARS_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import { render } from "../../core/workflow/render.ts";
import type { PlainData } from "../plain-data.ts";
import { readCompletion } from "./completion.ts";
import type {
  ActReport,
  Next,
  StageContext,
  StageExecution,
  StageOutcome,
  StagePlan,
  WorkflowRun,
} from "./contract.ts";

/** What an agent does in one Act of a played stage. */
export interface PlayedAct {
  /** What it completes the stage with. */
  readonly result?: JsonObject;
  /** Its last words. */
  readonly text?: string;
  /** It made as many tool calls as it may. */
  readonly isCapHit?: boolean;
}

/** One stage that was played to its end. */
export interface PlayedStage {
  readonly stage: string;
  readonly attempts: number;
  readonly outcome: StageOutcome;
  /** What the agent was told in the last attempt; null if the gate let it be skipped. */
  readonly told: string | null;
}

export interface PlayedWorkflow {
  readonly end: "ended" | "paused";
  /** Why it waits for a person; empty if it does not. */
  readonly reason: string;
  /** In the order in which they ended; those of a group in the order of the group. */
  readonly stages: readonly PlayedStage[];
  readonly results: { readonly [stageId: string]: PlainData };
  readonly ctx: StageContext;
}

/** What the agent does when it is told this. */
export type PlayAct = (stageId: string, told: string) => PlayedAct;

/** A workflow in a session that is played: no agent, no server, and each phase as in a session. */
export class Play {
  readonly #run: WorkflowRun;
  readonly #input: string;
  readonly #act: PlayAct;
  readonly #stages: PlayedStage[] = [];
  readonly #signal = new AbortController().signal;
  #ctx: StageContext = {};
  #results: { readonly [stageId: string]: PlainData } = {};
  #visits: { readonly [stageId: string]: number } = {};

  constructor(run: WorkflowRun, input: string, act: PlayAct) {
    this.#run = run;
    this.#input = input;
    this.#act = act;
  }

  async play(): Promise<PlayedWorkflow> {
    this.#ctx = must(await this.#run.attach(null, this.#signal));
    let next: Next = { kind: "sequential", stages: [this.#run.plan.entry] };
    while (next.kind !== "pause" && next.stages.length > 0) {
      next = next.kind === "parallel" ? await this.#group(next) : await this.#line(next.stages);
    }
    return {
      end: next.kind === "pause" ? "paused" : "ended",
      reason: next.kind === "pause" ? next.reason : "",
      stages: this.#stages,
      results: this.#results,
      ctx: this.#ctx,
    };
  }

  /** One after the other; what follows the last one. One that fails ends the line. */
  async #line(ids: readonly string[]): Promise<Next> {
    const [id = "", ...rest] = ids;
    const ended = await this.#stage(id, null, this.#ctx);
    this.#ctx = ended.ctx;
    this.#results = { ...this.#results, [id]: ended.result };
    this.#visits = { ...this.#visits, [id]: (this.#visits[id] ?? 0) + 1 };
    if (rest.length > 0 && ended.outcome !== "failed") return { kind: "sequential", stages: rest };
    const at = this.#execution(id, ended.attempt, null, this.#ctx);
    return must(await this.#run.next(at, ended.outcome, this.#signal));
  }

  /** All of a group begin with the same; the join sees what they came to. */
  async #group({ stages, join }: Extract<Next, { kind: "parallel" }>): Promise<Next> {
    const before = this.#ctx;
    const results: Record<string, PlainData> = {};
    for (const id of stages) {
      const ended = await this.#stage(id, "group", before);
      if (ended.outcome === "failed") {
        return { kind: "pause", reason: `The parallel stage "${id}" has failed.` };
      }
      this.#ctx = { ...this.#ctx, ...ended.ctx };
      results[id] = ended.result;
    }
    this.#results = { ...this.#results, ...results };
    for (const id of stages) this.#visits = { ...this.#visits, [id]: (this.#visits[id] ?? 0) + 1 };
    return { kind: "sequential", stages: join === undefined ? [] : [join] };
  }

  async #stage(id: string, groupId: string | null, before: StageContext) {
    const { plan } = this.#run;
    const stage = plan.stages.find((one) => one.id === id);
    if (stage === undefined) throw new Error(`the workflow "${plan.name}" has no stage "${id}"`);
    if (this.#stages.length >= PLAYED_STAGES_MAX) {
      throw new Error(`more than ${PLAYED_STAGES_MAX} stages were played; it may have no end`);
    }
    for (let attempt = 1; ; attempt += 1) {
      const tried = await this.#attempt(stage, attempt, groupId, before);
      const isLast = attempt >= stage.retry.maxAttempts;
      if (tried.verdict === "retry" && !isLast) continue;
      const outcome = OUTCOMES[tried.verdict];
      const { act, told, ctx } = tried;
      const at = this.#execution(id, attempt, groupId, ctx);
      const result = must(await this.#run.exit(at, act, outcome, this.#signal));
      this.#stages.push({ stage: id, attempts: attempt, outcome, told });
      return { outcome, result, ctx, attempt };
    }
  }

  async #attempt(stage: StagePlan, attempt: number, groupId: string | null, before: StageContext) {
    const first = this.#execution(stage.id, attempt, groupId, before);
    const ctx = { ...before, ...must(await this.#run.setup(first, this.#signal)) };
    const at = { ...first, ctx };
    const rendered = render(stage.body, { ...at }, STAGE_TEXT_CHARS_MAX);
    const gate = must(await this.#run.checkGate(at, this.#signal));
    if (gate === "retry") return { verdict: "retry" as const, act: SKIPPED, told: null, ctx };
    if (gate === "skip") return { verdict: "skip" as const, act: SKIPPED, told: null, ctx };
    if ("unresolved" in rendered) {
      throw new Error(`nothing is known for ${rendered.unresolved} in the stage "${stage.id}"`);
    }
    if ("tooLong" in rendered) {
      throw new Error(
        `the text of the stage "${stage.id}" has over ${rendered.tooLong} characters`,
      );
    }
    const act = this.#acted(stage, rendered.text);
    const verdict = must(await this.#run.assert(at, act, this.#signal));
    return { verdict, act, told: rendered.text, ctx };
  }

  /** A result that the schema of the stage does not take is refused as an agent would be. */
  #acted({ id, completion }: StagePlan, told: string): ActReport {
    const { result, text = "", isCapHit = false } = this.#act(id, told);
    if (result === undefined) return { isCapHit, completion: null, text, isSkipped: false };
    if (completion === null) throw new Error(`the stage "${id}" has no completion: give it a text`);
    const { result: taken, fault } = readCompletion(completion, result);
    if (fault === undefined) return { isCapHit, completion: taken, text, isSkipped: false };
    const place = fault.path === "" ? "its result" : fault.path;
    throw new Error(`the stage "${id}" does not take ${place}: ${fault.reason}`);
  }

  #execution(
    stageId: string,
    attempt: number,
    groupId: string | null,
    ctx: StageContext,
  ): StageExecution {
    const executionId = `${stageId}-${(this.#visits[stageId] ?? 0) + 1}-${attempt}`;
    const about = { executionId, stageId, attempt, groupId, input: this.#input };
    return { ...about, ctx, results: this.#results, visits: this.#visits };
  }
}

const OUTCOMES = { ok: "ok", skip: "skipped", fail: "failed", retry: "failed" } as const;

const SKIPPED: ActReport = { isCapHit: false, completion: null, text: "", isSkipped: true };

function must<Value>(result: Result<Value>): Value {
  if (result.ok) return result.value;
  throw new Error(sentenceOf(result.refusal));
}
