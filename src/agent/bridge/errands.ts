import { RPC_ERRORS } from "../../wire/rpc.ts";
import type { Asked, Served, Serving } from "../connection.ts";
import type { Inbox } from "./inbox.ts";
import type { Turnstile } from "./turnstile.ts";

/** Something that an agent wants of us. */
export interface Errand {
  /** A file is held in memory whole, so that only a few may be at once. */
  readonly isFile: boolean;
  /** Never rejects. */
  act(signal: AbortSignal): Promise<Served>;
}

/**
 * What an agent wants of us in one session and has no answer to yet. It waits among the agent's
 * words for its turn, and weighs there what it took to say: an agent that asks for more than we
 * get done is not read any further for a while (P10).
 */
export class Errands {
  readonly #inbox: Inbox;
  readonly #files: Turnstile;
  readonly #open = new Set<AbortController>();
  #isOver = false;

  /** Processes have one turnstile for the files of all their sessions. */
  constructor(inbox: Inbox, files: Turnstile) {
    this.#inbox = inbox;
    this.#files = files;
  }

  /**
   * After all that the agent said before. While a file is being read or written, nothing more of
   * the session is told; other errands may take as long as people do, and hold nothing up.
   */
  inTurn(errand: Errand, asked: Asked): Serving {
    if (this.#isOver) return { answer: Promise.resolve(OVER), room: undefined };
    const { answer, run } = this.#begin(errand, asked.signal);
    const room = this.#inbox.add(asked.chars, () => {
      const done = run();
      return errand.isFile ? done : undefined;
    });
    return { answer, room };
  }

  /** For an agent that has to have its answer before anybody hears its words. */
  atOnce(errand: Errand, { signal }: Asked): Serving {
    if (this.#isOver) return { answer: Promise.resolve(OVER), room: undefined };
    const { answer, run } = this.#begin(errand, signal);
    void run();
    return { answer, room: undefined };
  }

  /** All of them are given up, and no further ones are taken. */
  end() {
    this.#isOver = true;
    for (const end of this.#open) end.abort();
  }

  #begin({ isFile, act }: Errand, signal: AbortSignal) {
    const { promise, resolve } = Promise.withResolvers<Served>();
    const end = new AbortController();
    const either = AbortSignal.any([signal, end.signal]);
    end.signal.addEventListener("abort", () => resolve(OVER), { once: true });
    this.#open.add(end);
    const run = async () => {
      const leave = isFile ? await this.#files.enter() : () => {};
      // Whoever records the act may be gone with the session, and never answer.
      end.signal.addEventListener("abort", leave, { once: true });
      resolve(either.aborted ? OVER : await act(either));
      leave();
    };
    const answer = promise.finally(() => this.#open.delete(end));
    return { answer, run };
  }
}

const OVER: Served = {
  error: { code: RPC_ERRORS.invalidRequest, message: "the session is over" },
};
