import type { PromptId } from "../../core/id.ts";
import type { Session, SlashWork, WaitingPrompt } from "../../core/session/state.ts";
import { slashTextOf } from "../../core/slash/commands.ts";
import type { Participant, SessionSeat } from "../participant.ts";

/** What a prompt that begins with a slash was found to be. */
export interface TurnBySlash {
  readonly work: SlashWork;
  /** The name of the skill that it calls; null for a command of the agent's own. */
  readonly skill: string | null;
}

/** Tries the next prompt again; tells whether there is one that can begin. */
export type TryAgain = () => boolean;

interface QueueDeps {
  /** Begins the turn of a prompt when its credits are reserved. */
  begin(prompt: WaitingPrompt, slash: TurnBySlash | null, again: TryAgain): void;
  /** Sees to it that the session gets an agent. */
  activate(): void;
}

/** Puts the next prompt to work when the agent is free, and has one activated if there is none. */
export class TurnQueue implements Participant {
  readonly #seat: Pick<SessionSeat, "decided">;
  readonly #deps: QueueDeps;
  #isResting = false;
  /** The prompt that begins with a slash and is known to be a turn all the same. */
  #turnBySlash: { readonly promptId: PromptId; readonly slash: TurnBySlash } | null = null;

  constructor(seat: Pick<SessionSeat, "decided">, deps: QueueDeps) {
    this.#seat = seat;
    this.#deps = deps;
  }

  rest() {
    this.#isResting = true;
  }

  follow(durable: Session) {
    this.#tryNext(durable);
  }

  #tryNext(durable: Session): boolean {
    const next = this.#next(durable);
    if (next === null) return false;
    const slash = this.#slashOf(next);
    if (slash === null && slashTextOf(next.content) !== null) return false;
    const { sessionState } = this.#seat.decided.connection;
    if (sessionState === "inactive" || sessionState === "error") this.#deps.activate();
    if (sessionState !== "ready") return false;
    this.#deps.begin(next, slash, () => this.#tryNext(this.#seat.decided));
    return true;
  }

  /**
   * The next prompt, if it begins with a slash and is not known to be a turn. What it means depends
   * on everything before it, so all of that has to be durable.
   */
  nextSlash(durable: Session): WaitingPrompt | null {
    const next = this.#next(durable);
    if (next === null || this.#slashOf(next) !== null) return null;
    const isDurable = durable.queue[0]?.promptId === next.promptId;
    return isDurable && slashTextOf(next.content) !== null ? next : null;
  }

  /** That prompt is a turn: of a skill, of a tool, or with a command of the agent's own. */
  proceed(promptId: PromptId, slash: TurnBySlash) {
    this.#turnBySlash = { promptId, slash };
    this.follow(this.#seat.decided);
  }

  #next(durable: Session): WaitingPrompt | null {
    const { queue, running } = this.#seat.decided;
    if (running !== null || this.#isResting || durable.closed || durable.ending !== null)
      return null;
    return queue[0] ?? null;
  }

  #slashOf({ promptId }: WaitingPrompt): TurnBySlash | null {
    return this.#turnBySlash?.promptId === promptId ? this.#turnBySlash.slash : null;
  }
}
