import { type Refusal, refusal, sentenceOf } from "../../core/error.ts";
import { STAGE_REASON_CHARS_MAX } from "../../core/limits.ts";
import type { WorkflowOpinion } from "../../core/policy/gate.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { SERVER } from "../../core/session/command.ts";
import type { SessionEvent, Skipped } from "../../core/session/event.ts";
import { pendingCount, type RunningPrompt, type Session } from "../../core/session/state.ts";
import {
  type AttachedWorkflow,
  isAttached,
  type StageRuling,
  slotOwnerOf,
  stageDueAtMs,
} from "../../core/session/workflow.ts";
import { cutText } from "../../core/text.ts";
import type { PlainData } from "../../extension/plain-data.ts";
import { readCompletion } from "../../extension/workflow/completion.ts";
import type { WorkflowRun } from "../../extension/workflow/index.ts";
import type { CallOff } from "../../platform/clock.ts";
import type { ToolAnswer } from "../../tool/tool.ts";
import type { Written } from "../actor/written.ts";
import type { Delegation } from "../agent/delegate-tool.ts";
import type { CommitStep, Participant, SessionSeat, SlotChanges } from "../participant.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { type GroupEnd, runGroup } from "./group.ts";
import { isKeptBy, type KeptChange, type KeptState, type OfferedState, slotOf } from "./kept.ts";
import { type CallOpinions, opinionOf, type WantedOpinion } from "./opinion.ts";
import { completedIn, executionOf, nextOf, runPhases, stageIn, withHint } from "./phases.ts";
import { NO_STAGE, type StageAgent, StageTurn, type StageWork } from "./stage-turn.ts";
import {
  attachFailed,
  type OpenWorkflow,
  openWorkflow,
  type StoredWorkflowSlot,
  thrownWords,
} from "./workflow-run.ts";

/** What the agent's side asks of the workflow of its session. */
export interface Stages {
  /** Whether there is a workflow, for whose stages the agent needs a tool. */
  readonly isAttached: boolean;
  /** Takes a turn that is an execution of stages. */
  begin(running: RunningPrompt, agent: StageAgent): StageTurn;
  complete(result: unknown): ToolAnswer;
}

/** An execution for which everything is there. */
interface OpenStage {
  readonly run: WorkflowRun;
  readonly kept: KeptState;
  readonly signal: AbortSignal;
}

interface SingleStage extends OpenStage {
  readonly turn: StageTurn;
  readonly stageId: string;
}

/**
 * The workflow of a session. It begins the next stage when the last turn is in its snapshot and no
 * prompt waits: of that it looks at the durable state alone. What it keeps is in its slot, written
 * with the snapshot of the turn that it is of.
 */
export class WorkflowSide implements Participant, Stages, CallOpinions {
  readonly #world: SessionWorld;
  readonly #seat: SessionSeat;
  /** Has the stages of a group done. */
  readonly #children: Delegation | null;
  #stored: StoredWorkflowSlot;
  #open: Promise<Result<OpenWorkflow>> | null = null;
  #openRun: WorkflowRun | null = null;
  #kept: KeptState | null = null;
  #offered: OfferedState | null = null;
  /** What the last snapshot is made with, and what is on its way to the store. */
  #change: KeptChange | null = null;
  readonly #onWay: (KeptChange | null)[] = [];
  #turn: StageTurn | null = null;
  #isBeginning = false;
  #latest: Session | null = null;
  #callOff: CallOff = () => {};
  #isResting = false;
  #isOver = false;

  constructor(
    world: SessionWorld,
    seat: SessionSeat,
    stored: StoredWorkflowSlot,
    children: Delegation | null,
  ) {
    this.#children = children;
    this.#world = world;
    this.#seat = seat;
    this.#stored = stored;
  }

  get isAttached(): boolean {
    return isAttached(this.#seat.decided.workflow);
  }

  /** Why it does not go on, where that is no person's doing (P6). */
  get skipped(): readonly Skipped[] {
    const { workflow } = this.#seat.decided;
    if (workflow?.state !== "aborted") return [];
    return [{ name: slotOwnerOf(workflow), reason: workflow.reason ?? "" }];
  }

  rest() {
    this.#isResting = true;
    this.#callOff();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#callOff();
    this.#turn?.drop();
    await this.#close();
  }

  follow(durable: Session) {
    this.#latest = durable;
    const { workflow } = this.#seat.decided;
    const isHere = !this.#isResting && !this.#isOver;
    if (this.#open !== null && !isAttached(workflow)) void this.#close();
    if (workflow?.state === "running" && isHere && this.#isAtBoundary(durable)) {
      this.#next(durable, workflow);
    }
  }

  /** Nothing is at work or waits, by what is durable and by what is decided. */
  #isAtBoundary(durable: Session): boolean {
    const { decided } = this.#seat;
    if (decided.closed || decided.ending !== null || this.#isBeginning) return false;
    return (
      durable.workflow === decided.workflow && pendingCount(durable) + pendingCount(decided) === 0
    );
  }

  #next(durable: Session, workflow: AttachedWorkflow) {
    this.#callOff();
    const waitMs = stageDueAtMs(workflow) - this.#world.clock.nowMs();
    if (waitMs > 0) {
      this.#callOff = this.#world.clock.after(waitMs, () => this.#lookAgain());
      return;
    }
    this.#isBeginning = true;
    void this.#begin(durable, workflow)
      .catch((thrown: unknown) => attachFailed(workflow, thrown))
      .then((why) => (why === null ? null : this.#abort(workflow, why)))
      .finally(() => {
        this.#isBeginning = false;
        // What has happened meanwhile may be the boundary that is waited for.
        if (this.#latest !== durable) this.#lookAgain();
      })
      .catch((thrown: unknown) => this.#logThrown(thrown));
  }

  #lookAgain() {
    if (this.#latest !== null) this.follow(this.#latest);
  }

  /** Answers why the workflow cannot go on. */
  async #begin(session: Session, workflow: AttachedWorkflow): Promise<Refusal | null> {
    const opened = await this.#opened(session, workflow);
    if (!opened.ok) return opened.refusal;
    const { plan } = opened.value.run;
    const [step] = workflow.plan;
    if (step === undefined || this.#isOver || this.#isResting) return null;
    const names = step.stages.map((id) => stageIn(opened.value.run, id)?.name ?? id);
    const attempt = workflow.attempts === 0 ? "" : `, attempt ${workflow.attempts + 1}`;
    const text = `[${plan.name}: ${names.join(", ")}${attempt}]`;
    const { promptMs } = this.#world.settings;
    const prompt = {
      promptId: this.#world.ids.prompt(),
      content: [{ type: "text", text }],
      lastEventId: this.#seat.lastEventId,
      deadlineAtMs: promptMs === null ? null : this.#world.clock.nowMs() + promptMs,
    };
    const { stages } = step;
    await this.#seat.submit({ ...this.#by(), type: "begin_stage", ...prompt, stages });
    return null;
  }

  async #opened(session: Session, workflow: AttachedWorkflow): Promise<Result<OpenWorkflow>> {
    if (this.#open === null) {
      this.#open = openWorkflow(this.#world, this.#seat.key, session, workflow, this.#stored);
      const opened = await this.#open;
      if (opened.ok) {
        this.#kept = opened.value.kept;
        this.#openRun = opened.value.run;
      } else await this.#close();
      return opened;
    }
    return this.#open;
  }

  async #close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    this.#openRun = null;
    this.#kept = null;
    const opened = await open;
    if (!opened?.ok) return;
    await opened.value.run.end().catch((thrown: unknown) => this.#logThrown(thrown));
  }

  async #abort(workflow: AttachedWorkflow, why: Refusal): Promise<void> {
    if (this.#isOver) return;
    const { sessionId } = this.#seat.key;
    this.#world.log("workflow aborted", { sessionId, workflow: workflow.name, because: why.code });
    const reason = this.#world.redact(sentenceOf(why));
    await this.#seat.submit({ ...this.#by(), type: "abort_workflow", reason });
  }

  begin(running: RunningPrompt, agent: StageAgent): StageTurn {
    const work: StageWork = {
      run: (turn, signal) => this.#execute(running, turn, signal),
      prompted: (text) => this.#prompted(running, text),
      completion: (result) => this.#completion(running, result),
      broken: (thrown) => this.#broken(running, thrown),
      isStuck: () => this.#stopStuck(running),
    };
    const turn = new StageTurn(running.turnId, agent, work);
    this.#turn = turn;
    void turn.run().catch((thrown: unknown) => this.#logThrown(thrown));
    return turn;
  }

  #broken({ stage }: RunningPrompt, thrown: unknown): Refusal {
    const stages = stage?.stages.join(", ") ?? "";
    const reason = this.#reasonOf(thrown);
    this.#logThrown(thrown);
    return refusal("stage_phase_failed", { stage: stages, phase: "execution", reason });
  }

  #logThrown(thrown: unknown) {
    const because = this.#reasonOf(thrown);
    this.#world.log("workflow threw", { sessionId: this.#seat.key.sessionId, because });
  }

  #reasonOf(thrown: unknown): string {
    return cutText(this.#world.redact(thrownWords(thrown)), STAGE_REASON_CHARS_MAX);
  }

  complete(result: unknown): ToolAnswer {
    return this.#turn?.complete(result) ?? { isError: true, text: NO_STAGE };
  }

  async #execute(
    running: RunningPrompt,
    turn: StageTurn,
    signal: AbortSignal,
  ): Promise<StageRuling | Refusal> {
    const { workflow } = this.#seat.decided;
    if (workflow === undefined) return { outcome: "failed", reason: "It is not there any more." };
    const opened = await this.#opened(this.#seat.decided, workflow);
    const kept = this.#kept;
    if (!opened.ok || kept === null) {
      const why = opened.ok ? refusal("workflow_none") : opened.refusal;
      await this.#abort(workflow, why);
      return { outcome: "failed", reason: this.#world.redact(sentenceOf(why)) };
    }
    const { run } = opened.value;
    const [stageId = "", ...others] = running.stage?.stages ?? [];
    const end =
      others.length > 0
        ? await this.#group(running, { run, kept, signal })
        : await this.#single(running, { run, kept, signal, turn, stageId });
    const clean: KeptState = JSON.parse(this.#world.redact(JSON.stringify(end.kept)));
    const fits = slotOf(workflow, clean) !== null;
    if (!fits) return { outcome: "failed", reason: "What it keeps is more than a slot may hold." };
    this.#offered = { promptId: running.promptId, kept: clean };
    return { ...end.ruling, kept: true };
  }

  async #single(running: RunningPrompt, todo: SingleStage): Promise<GroupEnd> {
    const { run, kept, signal, turn, stageId } = todo;
    const stage = stageIn(run, stageId);
    if (stage === null) {
      return { ruling: { outcome: "failed", reason: `There is no stage "${stageId}".` }, kept };
    }
    const { failures = 0, plan = [] } = this.#seat.decided.workflow ?? {};
    const facts = { ...this.#factsOf(running), executionId: running.promptId, groupId: null };
    const end = await runPhases(this.#world.clock, {
      ...{ run, stage, kept, signal },
      at: executionOf(stageId, kept, facts),
      isLastAttempt: failures + 1 >= (plan[0]?.maxAttempts ?? 1),
      isAskedNext: plan.length <= 1,
      act: async (text) => {
        const how = turn.canComplete ? "tool" : "message";
        return completedIn(stage, await turn.act(withHint(stage, text, how), stage));
      },
    });
    const { outcome, reason } = end;
    const next = end.next === null ? {} : { next: nextOf(run, end.next) };
    return {
      ruling: { outcome, ...(reason !== undefined && { reason }), ...next },
      kept: end.kept,
    };
  }

  #group(running: RunningPrompt, todo: OpenStage): Promise<GroupEnd> {
    return runGroup({
      ...todo,
      clock: this.#world.clock,
      turnId: running.turnId,
      stages: running.stage?.stages ?? [],
      facts: { ...this.#factsOf(running), groupId: running.promptId },
      children: this.#children,
    });
  }

  #factsOf({ stage }: RunningPrompt) {
    return { attempt: stage?.attempt ?? 1, input: this.#seat.decided.workflow?.input ?? "" };
  }

  opinion(wanted: WantedOpinion): WorkflowOpinion {
    return this.#openRun === null ? null : opinionOf(this.#seat.decided, this.#openRun, wanted);
  }

  /** What the agent says that the stage came to, if it is what the stage is to come to. */
  #completion({ stage }: RunningPrompt, result: unknown): Result<PlainData> {
    const completion = this.#openRun && stageIn(this.#openRun, stage?.stages[0] ?? "")?.completion;
    const form = completion ?? ANY_RESULT;
    const { result: completed, fault } = readCompletion(form, result);
    if (fault === undefined) return ok(JSON.parse(this.#world.redact(JSON.stringify(completed))));
    return fail("stage_result_invalid", { path: fault.path || "result", reason: fault.reason });
  }

  #prompted({ turnId, stage }: RunningPrompt, text: string): Promise<Refusal | null> {
    const [name = ""] = stage?.stages ?? [];
    const prompted = { type: "prompt_stage", turnId, stage: name, text } as const;
    return this.#seat.submit({ ...this.#by(), ...prompted });
  }

  /** Its cap is reached, and it goes on all the same: then its turn is stopped for good. */
  #stopStuck({ turnId }: RunningPrompt) {
    this.#world.clock.after(this.#world.settings.settleMs, () => {
      if (this.#isOver || this.#seat.decided.running?.turnId !== turnId) return;
      const limit = "turn_too_large";
      void this.#seat.submit({ ...this.#by(), type: "limit_passed", turnId, limit });
    });
  }

  /** What the turn keeps goes into its own snapshot, and what is over keeps nothing. */
  slots(last: readonly Written[]): SlotChanges | null {
    this.#change = this.#changeWith(last);
    if (this.#change === null) return null;
    const { slot } = this.#change;
    const owner = slot === null ? null : slot.owner;
    const removed =
      this.#storedOwner === null || this.#storedOwner === owner ? [] : [this.#storedOwner];
    return { slots: slot === null ? [] : [slot], removed };
  }

  #changeWith(last: readonly Written[]): KeptChange | null {
    const { workflow } = this.#seat.decided;
    const isEnded = last.some(({ event }) => event.type === "workflow_ended");
    if (isEnded || !isAttached(workflow)) return { slot: null, kept: null };
    const offered = this.#offered;
    const isKept = last.some(({ event }) => isKeptBy(event, offered));
    const slot = isKept && offered !== null ? slotOf(workflow, offered.kept) : null;
    return slot === null ? null : { slot, kept: offered?.kept ?? null };
  }

  get #storedOwner(): string | null {
    return this.#stored?.owner ?? null;
  }

  journal(step: CommitStep) {
    if (step.kind !== "decision") return [];
    for (const { event } of step.written) if (isPersisted(event)) this.#onWay.push(this.#change);
    return [];
  }

  durable(written: readonly Written[]) {
    for (const { event } of written) {
      // Another one begins anew, even if it is the same by its name.
      if (event.type === "workflow_attached") void this.#close();
      const change = isPersisted(event) ? (this.#onWay.shift() ?? null) : null;
      if (change === null) continue;
      this.#stored = change.slot;
      if (this.#open !== null) this.#kept = change.kept;
    }
  }

  #by() {
    return stampedBy(this.#world.clock, SERVER);
  }
}

/** A stage that asks for no result is told one all the same by some models. */
const ANY_RESULT = { description: "", schema: { type: "object" } };

function isPersisted({ type, data }: SessionEvent): boolean {
  return type === "session_lifecycle" && data.event === "SessionPersisted";
}
