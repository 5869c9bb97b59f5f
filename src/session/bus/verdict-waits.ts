import type { PromptId } from "../../core/id.ts";
import { isVerdict } from "../../core/session/event.ts";
import type { SessionKey } from "../../store/store.ts";
import type { Written } from "../actor/written.ts";

/** All who wait for one prompt. */
interface Awaited {
  readonly wakes: Set<() => void>;
  /** Another object after each wake. */
  wakened: object;
}

/** One request that waits for the verdict of a prompt. */
export interface VerdictWait {
  /** The same for all that the last wake has woken, so that one of them looks for all. */
  readonly wakened: object;
  /** Resolves when it is time for another look. */
  woken(): Promise<void>;
  wake(): void;
  end(): void;
}

/**
 * Requests that wait for verdicts. Nothing polls (P10): a commit without a verdict costs them one
 * look into a map. A wait outlives the actor of its session, whose store may fail meanwhile. Each
 * has its time limit, and its caller a share of the event streams, of which it counts as one.
 */
export class VerdictWaits {
  readonly #sessions = new Map<string, Map<PromptId, Awaited>>();

  /** From now on no verdict of this prompt is missed. */
  begin(key: SessionKey, promptId: PromptId): VerdictWait {
    const name = nameOf(key);
    const prompts = this.#sessions.get(name) ?? new Map<PromptId, Awaited>();
    this.#sessions.set(name, prompts);
    const awaited = prompts.get(promptId) ?? { wakes: new Set(), wakened: {} };
    prompts.set(promptId, awaited);
    let next = Promise.withResolvers<void>();
    const wake = () => next.resolve();
    awaited.wakes.add(wake);
    return {
      get wakened() {
        return awaited.wakened;
      },
      woken: async () => {
        await next.promise;
        next = Promise.withResolvers();
      },
      wake,
      end: () => {
        awaited.wakes.delete(wake);
        if (awaited.wakes.size === 0) prompts.delete(promptId);
        if (prompts.size === 0) this.#sessions.delete(name);
      },
    };
  }

  /** These events of a session are durable. */
  durable(key: SessionKey, written: readonly Written[]) {
    const prompts = this.#sessions.get(nameOf(key));
    if (prompts === undefined) return;
    for (const { event } of written) {
      if (event.type === "session_visibility_changed") this.lookAgain(key);
      else if (isVerdict(event)) wakeAll(prompts.get(event.data.promptId));
    }
  }

  /** More may have happened in this session than was told. */
  lookAgain(key: SessionKey) {
    for (const awaited of this.#sessions.get(nameOf(key))?.values() ?? []) wakeAll(awaited);
  }

  /** How many wait. */
  get count(): number {
    const all = [...this.#sessions.values()].flatMap((prompts) => [...prompts.values()]);
    return all.reduce((sum, { wakes }) => sum + wakes.size, 0);
  }
}

function wakeAll(awaited: Awaited | undefined) {
  if (awaited === undefined) return;
  awaited.wakened = {};
  for (const wake of awaited.wakes) wake();
}

function nameOf({ tenantId, sessionId }: SessionKey): string {
  return JSON.stringify([tenantId, sessionId]);
}
