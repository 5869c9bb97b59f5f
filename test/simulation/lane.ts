import type { Result } from "../../src/core/result.ts";
import type { Scene } from "./scene.ts";

/** One call of a store, on its way there and back. */
export interface Call {
  readonly what: string;
  /** Does it, if it is to be done at all. */
  apply(): Promise<Result<unknown>>;
  answer(): void;
}

/**
 * The writes to one session, which a store does and answers in the order in which they came. One
 * may be done before the one before it is answered.
 */
export class Lane {
  readonly #scene: Scene;
  readonly #server: number;
  readonly #waiting: Call[] = [];
  readonly #done: Call[] = [];

  constructor(scene: Scene, server: number) {
    this.#scene = scene;
    this.#server = server;
  }

  push(call: Call) {
    this.#waiting.push(call);
    if (this.#waiting.length === 1) this.#applyNext();
  }

  /** The server is gone: what is on its way may still arrive, from the front, or may not. */
  crash() {
    const arriving = this.#scene.chance.under(this.#waiting.length + 1);
    for (const call of this.#waiting.slice(0, arriving)) {
      this.#scene.schedule.say("store", `still does ${call.what}`);
      void call.apply();
    }
  }

  #applyNext() {
    const [call] = this.#waiting;
    if (call === undefined) return;
    this.#later(`does ${call.what}`, () => {
      this.#waiting.shift();
      void call.apply();
      this.#done.push(call);
      if (this.#done.length === 1) this.#answerNext();
      this.#applyNext();
    });
  }

  #answerNext() {
    const [call] = this.#done;
    if (call === undefined) return;
    this.#later(`answers ${call.what}`, () => {
      this.#done.shift();
      call.answer();
      this.#answerNext();
    });
  }

  #later(what: string, act: () => void) {
    const { schedule, temper } = this.#scene;
    const inMs = this.#scene.delayMs(temper.storeIsSlow);
    schedule.add("store", what, act, { inMs, server: this.#server });
  }
}
