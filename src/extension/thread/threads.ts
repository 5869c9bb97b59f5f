import type { TenantId } from "../../core/id.ts";
import { EXTENSION_THREADS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { isShareUsedUp } from "../../core/share.ts";
import type { ExtensionAnswer, ThreadStart } from "./messages.ts";
import { ExtensionThread, type ThreadOptions, type ThreadRequest } from "./thread.ts";

/** A thread at work, as the extension in it sees the outside. */
export interface RunningThread {
  /** Resolves when it is gone. */
  readonly gone: Promise<void>;
  ask(request: ThreadRequest): Promise<ExtensionAnswer>;
  end(why: string): void;
}

export type StartThread = (
  start: Omit<ThreadStart, "port">,
  options: ThreadOptions,
) => Result<RunningThread>;

/** Where the threads of extensions come from; a simulation has others. */
export interface ThreadSource {
  startFor(tenantId: TenantId): StartThread;
}

/** All threads of extensions that a server has: a number of them, of which tenants have shares. */
export class ExtensionThreads implements ThreadSource {
  readonly #limit: number;
  readonly #held = new Map<TenantId, number>();
  #count = 0;

  constructor(limit = EXTENSION_THREADS_MAX) {
    this.#limit = limit;
  }

  startFor(tenantId: TenantId): StartThread {
    return (start, options) => {
      const held = this.#held.get(tenantId) ?? 0;
      if (isShareUsedUp(held, this.#limit - this.#count)) {
        return fail("extension_limit", { extension: start.id, limit: this.#limit });
      }
      const thread = new ExtensionThread(start, options);
      this.#count += 1;
      this.#held.set(tenantId, held + 1);
      void thread.gone.then(() => this.#gone(tenantId));
      return ok(thread);
    };
  }

  #gone(tenantId: TenantId) {
    const left = (this.#held.get(tenantId) ?? 0) - 1;
    this.#count -= 1;
    if (left > 0) this.#held.set(tenantId, left);
    else this.#held.delete(tenantId);
  }
}
