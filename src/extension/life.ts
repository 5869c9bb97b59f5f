import { type Refusal, refusal } from "../core/error.ts";
import { EXTENSION_REASON_CHARS_MAX } from "../core/limits.ts";
import type { Clock } from "../platform/clock.ts";
import { type LifePhase, type LifeStep, PHASE_REASONS, phaseAfter } from "../platform/life.ts";

/** One extension of one session, as far as its life goes. */
export interface Startable {
  readonly id: string;
  /** Takes the step; rejects if that fails. */
  take(step: LifeStep): Promise<void>;
  /** Ends it where it is; nothing more is asked of it. */
  end(why: string): void;
}

/** What observers are told around each step; they decide nothing by it. */
export interface StepEvent {
  readonly at: "start" | "end";
  readonly extension: string;
  readonly step: LifeStep;
  /** At the end of a step that failed. */
  readonly failure?: Refusal;
}

export interface LifeOptions {
  readonly clock: Pick<Clock, "after">;
  readonly stepMsMax: number;
  readonly tell: (event: StepEvent) => void;
}

/**
 * The life of one extension: only steps that follow from where it is, one at a time, each with a
 * deadline. A step that fails leaves it where it was. One that does not end is never waited for
 * again: the extension is ended.
 */
export class ExtensionLife {
  readonly #part: Startable;
  readonly #options: LifeOptions;
  #phase: LifePhase = "new";
  #isStepping = false;
  #isEnded = false;

  constructor(part: Startable, options: LifeOptions) {
    this.#part = part;
    this.#options = options;
  }

  get id(): string {
    return this.#part.id;
  }

  get phase(): LifePhase {
    return this.#phase;
  }

  /**
   * Answers why the step was not taken, or failed; null if it was taken. Disposal is the last one:
   * it ends the extension however it goes, and to dispose of one that has ended is harmless.
   */
  async take(step: LifeStep): Promise<Refusal | null> {
    if (step === "dispose" && this.#isEnded) return null;
    const before = this.#phase;
    const after = phaseAfter(before, step);
    if (after === null || this.#isStepping || this.#isEnded) return this.#illegal(step);
    const told = { extension: this.id, step };
    this.#options.tell({ at: "start", ...told });
    this.#isStepping = true;
    this.#phase = after;
    const failure = await this.#taken(step);
    this.#isStepping = false;
    this.#phase = failure === null ? settled(after) : before;
    this.#options.tell({ at: "end", ...told, ...(failure !== null && { failure }) });
    if (step === "dispose") this.#end("it was disposed of");
    return failure;
  }

  #end(why: string) {
    this.#isEnded = true;
    this.#part.end(why);
  }

  #illegal(step: LifeStep): Refusal {
    const at = this.#isStepping ? "another step is being taken" : PHASE_REASONS[this.#phase];
    const reason = this.#isEnded ? "it was ended" : at;
    return refusal("extension_phase_invalid", { extension: this.id, step, reason });
  }

  async #taken(step: LifeStep): Promise<Refusal | null> {
    const { clock, stepMsMax } = this.#options;
    const late = Promise.withResolvers<string>();
    const callOff = clock.after(stepMsMax, () => {
      const why = `it took longer than ${stepMsMax} ms`;
      this.#end(why);
      late.resolve(why);
    });
    const reason = await Promise.race([late.promise, this.#reasonOf(step)]);
    callOff();
    return reason === null ? null : failureOf(this.id, step, reason);
  }

  async #reasonOf(step: LifeStep): Promise<string | null> {
    try {
      await this.#part.take(step);
      return null;
    } catch (thrown) {
      return thrown instanceof Error ? thrown.message : String(thrown);
    }
  }
}

/** An initialisation that has succeeded is over. */
function settled(phase: LifePhase): LifePhase {
  return phase === "initialising" ? "initialised" : phase;
}

/** Why an extension failed, in words that fit into a list. */
export function failureOf(extension: string, step: string, said: string): Refusal {
  const reason = said.slice(0, EXTENSION_REASON_CHARS_MAX).toWellFormed();
  return refusal("extension_failed", { extension, step, reason });
}
