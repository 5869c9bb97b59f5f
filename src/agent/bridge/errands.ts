import { AGENT_QUEUE_CHARS_MAX } from "../../core/limits.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import type { Asked, Served, Serving } from "../connection.ts";
import type { Inbox } from "./inbox.ts";
import type { Turnstile } from "./turnstile.ts";

/** Something that an agent wants of us. */
export interface Errand {
  /** A file is held in memory whole, so that only a few may be at once. */
  readonly isFile: boolean;
  /** Decides whether it may be done, where that is to be decided. Null if it may; never rejects. */
  permit?(signal: AbortSignal): Promise<Permission>;
  /** Never rejects. */
  act(signal: AbortSignal): Promise<Served>;
}

/** May be done, is answered with a refusal, or people have to say. */
type Permission = Served | null | { readonly people: Promise<Served | null> };

/**
 * What an agent wants of us in one session and has no answer to yet. It waits among the agent's
 * words for its turn, and weighs there what it took to say: an agent that asks for more than we
 * get done is not read any further for a while (P10).
 */
export class Errands {
  readonly #inbox: Inbox;
  readonly #files: Turnstile;
  readonly #open = new Set<AbortController>();
  #heldChars = 0;
  #isOver = false;

  /** Processes have one turnstile for the files of all their sessions. */
  constructor(inbox: Inbox, files: Turnstile) {
    this.#inbox = inbox;
    this.#files = files;
  }

  /**
   * After all that the agent said before. While something is decided, or a file is being read or
   * written, nothing more of the session is told; what takes as long as people do holds nothing
   * up, and may be done after what the agent wanted later.
   */
  inTurn(errand: Errand, asked: Asked): Serving {
    if (this.#isOver) return { answer: Promise.resolve(OVER), room: undefined };
    const { answer, run } = this.#begin(errand, asked);
    const room = this.#inbox.add(asked.chars, () => {
      const done = run();
      return errand.isFile || errand.permit ? done : undefined;
    });
    return { answer, room };
  }

  /** For an agent that has to have its answer before anybody hears its words. */
  atOnce(errand: Errand, asked: Asked): Serving {
    if (this.#isOver) return { answer: Promise.resolve(OVER), room: undefined };
    const { answer, run } = this.#begin(errand, asked);
    void run();
    return { answer, room: undefined };
  }

  /** All of them are given up, and no further ones are taken. */
  end() {
    this.#isOver = true;
    for (const end of this.#open) end.abort();
  }

  #begin({ isFile, permit, act }: Errand, { signal, chars }: Asked) {
    const { promise, resolve } = Promise.withResolvers<Served>();
    const end = new AbortController();
    const either = AbortSignal.any([signal, end.signal]);
    end.signal.addEventListener("abort", () => resolve(OVER), { once: true });
    this.#open.add(end);
    const perform = async (refused: Served | null) => {
      if (refused !== null) return resolve(refused);
      const leave = isFile ? await this.#files.enter() : () => {};
      // Whoever records the act may be gone with the session, and never answer.
      end.signal.addEventListener("abort", leave, { once: true });
      resolve(either.aborted ? OVER : await act(either));
      leave();
    };
    const begin = async () => {
      if (permit === undefined) return perform(null);
      if (this.#heldChars > 0 && this.#heldChars + chars > AGENT_QUEUE_CHARS_MAX) {
        return resolve(TOO_MUCH);
      }
      const permission = await permit(either);
      if (permission === null || !("people" in permission)) await perform(permission);
      else void this.#held(permission.people, chars).then(perform);
    };
    // None of it rejects by its contract; if it does all the same, the agent has its answer.
    const run = () => begin().catch((thrown: unknown) => resolve(failedWith(thrown)));
    const answer = promise.finally(() => this.#open.delete(end));
    return { answer, run };
  }

  /** What people are asked about stays in memory for as long as they take, within a limit. */
  async #held(people: Promise<Served | null>, chars: number): Promise<Served | null> {
    this.#heldChars += chars;
    try {
      return await people;
    } finally {
      this.#heldChars -= chars;
    }
  }
}

function failedWith(thrown: unknown): Served {
  return { error: { code: RPC_ERRORS.internal, message: String(thrown) } };
}

const TOO_MUCH: Served = {
  error: {
    code: RPC_ERRORS.invalidRequest,
    message: "too much is waiting for people's permission; wait for their answers first",
  },
};

const OVER: Served = {
  error: { code: RPC_ERRORS.invalidRequest, message: "the session is over" },
};
