import type { AgentUpdate } from "../../core/agent-update.ts";
import { parentToolCallId } from "../../core/agent-update.ts";
import { type Refusal, sentenceOf } from "../../core/error.ts";
import type { TurnId } from "../../core/id.ts";
import { STAGE_LAST_WORDS_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { AgentStatusReport } from "../../core/session/command.ts";
import type { StageRuling } from "../../core/session/workflow.ts";
import { lastOfText } from "../../core/text.ts";
import type { PlainData } from "../../extension/plain-data.ts";
import type { ActReport } from "../../extension/workflow/index.ts";
import type { ToolAnswer } from "../../tool/tool.ts";
import { ownWords } from "../side/throw-away.ts";

/** The session's agent, as far as a stage has to do with it. */
export interface StageAgent {
  /** Has it begin; refused if it cannot. */
  prompt(text: string): Result<void>;
  /** Tells it to stop what it does. */
  stop(): void;
  /** The end of the turn. */
  report(report: AgentStatusReport<"turn_complete" | "turn_error">): void;
  /** Whether it has the tool by which it says that a stage is done. */
  readonly canComplete: boolean;
}

/** What an execution does with its agent. */
export interface StageWork {
  /** All phases; `act` has the agent do its part. */
  run(turn: StageTurn, signal: AbortSignal): Promise<StageRuling | Refusal>;
  /** The text is what the turn was asked, from here on; refused if the turn is over. */
  prompted(text: string): Promise<Refusal | null>;
  /** What the agent says it has done; refused if it is not what the stage is to come to. */
  completion(result: unknown): Result<PlainData>;
  /** What people are told of an execution in which something was thrown. */
  broken(thrown: unknown): Refusal;
  /** The agent goes on although it was told to stop. */
  isStuck(): void;
}

/** What Act needs to know of its stage. */
export interface ActBounds {
  readonly turnCap: number;
}

/**
 * The turn of one execution: between the phases of the workflow it has the session's agent do its
 * part. Its report is the end of the turn, with what the workflow says of it.
 */
export class StageTurn {
  readonly turnId: TurnId;
  readonly #agent: StageAgent;
  readonly #work: StageWork;
  readonly #giveUp = new AbortController();
  #act: OpenAct | null = null;
  #isOver = false;

  constructor(turnId: TurnId, agent: StageAgent, work: StageWork) {
    this.turnId = turnId;
    this.#agent = agent;
    this.#work = work;
  }

  get canComplete(): boolean {
    return this.#agent.canComplete;
  }

  /** Never rejects: what is thrown in a stage is the end of its turn, and of nothing else (P5). */
  async run(): Promise<void> {
    try {
      this.#ruled(await this.#work.run(this, this.#giveUp.signal));
    } catch (thrown) {
      this.#broken(thrown);
    }
  }

  #ruled(ruling: StageRuling | Refusal) {
    if ("code" in ruling) return this.#failed(ruling);
    const done = { status: "turn_complete", turnId: this.turnId, stopReason: "end_turn" } as const;
    this.#report({ ...done, stage: ruling });
  }

  /** Its agent may be at work still, and has no turn to work for any more. */
  #broken(thrown: unknown) {
    this.#giveUp.abort();
    const isAtWork = this.#act !== null;
    this.#act = null;
    this.#failed(this.#work.broken(thrown));
    if (isAtWork) this.#agent.stop();
  }

  #failed(why: Refusal) {
    const failure = { code: why.code, message: sentenceOf(why), errorKind: why.code };
    this.#report({ status: "turn_error", turnId: this.turnId, failure });
  }

  /** The turn was told to stop; the agent's own end of it is its end, if it is at work. */
  cancel() {
    this.#giveUp.abort();
    if (this.#act !== null) return this.#agent.stop();
    this.#report({ status: "turn_complete", turnId: this.turnId, stopReason: "cancelled" });
  }

  /** Its agent or its session is not there any more: nothing is reported. */
  drop() {
    this.#isOver = true;
    this.#giveUp.abort();
    this.#act?.end(null);
  }

  /** Has the agent do its part, and answers when it has ended its turn. */
  async act(text: string, { turnCap }: ActBounds): Promise<Result<ActReport>> {
    const why = await this.#work.prompted(text);
    if (why !== null) return { ok: false, refusal: why };
    if (this.#isOver) return fail("turn_not_open");
    const { promise, resolve } = Promise.withResolvers<ActReport | null>();
    const act = new OpenAct(turnCap, resolve, () => this.#capHit());
    this.#act = act;
    const prompted = this.#agent.prompt(text);
    if (!prompted.ok) act.end(null);
    const report = await promise;
    this.#act = null;
    if (!prompted.ok) return prompted;
    return report === null ? fail("turn_not_open") : ok(report);
  }

  #capHit() {
    this.#agent.stop();
    this.#work.isStuck();
  }

  heardUpdate(update: AgentUpdate) {
    this.#act?.heard(update);
  }

  /** The agent has ended its turn; what ends the turn of the session follows from that. */
  heardEnd(report: AgentStatusReport<"turn_complete" | "turn_error">) {
    const act = this.#act;
    const isStopped = this.#giveUp.signal.aborted;
    if (act === null || isStopped || report.status === "turn_error") {
      this.#report(report);
      act?.end(null);
      return;
    }
    act.end(act.report());
  }

  /** The agent says that it has done, by the tool for that. */
  complete(result: unknown): ToolAnswer {
    if (this.#act === null) return { isError: true, text: NO_STAGE };
    const completed = this.#work.completion(result);
    if (!completed.ok) return { isError: true, text: sentenceOf(completed.refusal) };
    this.#act.completion = completed.value;
    return { isError: false, text: "The stage is complete. End your turn now." };
  }

  #report(report: AgentStatusReport<"turn_complete" | "turn_error">) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#agent.report(report);
  }
}

export const NO_STAGE = "No stage of a workflow is at work, so there is nothing to complete.";

/** What an agent does in a stage, while it does it. */
class OpenAct {
  readonly #turnCap: number;
  readonly #ended: (report: ActReport | null) => void;
  readonly #capHit: () => void;
  #calls = 0;
  #isCapHit = false;
  #words = "";
  completion: PlainData = null;

  constructor(turnCap: number, ended: (report: ActReport | null) => void, capHit: () => void) {
    this.#turnCap = turnCap;
    this.#ended = ended;
    this.#capHit = capHit;
  }

  end(report: ActReport | null) {
    this.#ended(report);
  }

  report(): ActReport {
    const { completion } = this;
    return { isCapHit: this.#isCapHit, completion, text: this.#lastWords, isSkipped: false };
  }

  get #lastWords(): string {
    return lastOfText(this.#words, STAGE_LAST_WORDS_CHARS_MAX);
  }

  /** Its last words are those after its last call. */
  heard(update: AgentUpdate) {
    if (update.sessionUpdate === "tool_call" && parentToolCallId(update) === null) {
      this.#calls += 1;
      this.#words = "";
      if (this.#calls <= this.#turnCap || this.#isCapHit) return;
      this.#isCapHit = true;
      this.#capHit();
    }
    this.#words += ownWords(update) ?? "";
    // What is longer is cut now and then, and not with each of its words.
    if (this.#words.length > 2 * STAGE_LAST_WORDS_CHARS_MAX) this.#words = this.#lastWords;
  }
}
