import type { ShellId, UserId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionKey } from "../../store/store.ts";
import { retryIfEvicted } from "../eviction.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";
import { Asides } from "./aside.ts";
import { type Forked, type ForkOptions, forkSession } from "./fork.ts";
import { type ShellRequest, Shells, type TasksAnswer, tasksAnswer } from "./shell.ts";
import type { ShellOutcome } from "./shell-command.ts";

/** What can be done with sessions beside their turns. */
export class SideWork {
  readonly #world: SessionWorld;
  readonly #find: (key: SessionKey) => Promise<Result<LiveSession>>;
  readonly #shells: Shells;
  readonly #asides: Asides;

  constructor(world: SessionWorld, find: (key: SessionKey) => Promise<Result<LiveSession>>) {
    this.#world = world;
    this.#find = find;
    this.#shells = new Shells(world, world.shell);
    this.#asides = new Asides(world);
  }

  /** Runs a client's command line; the caller decides whether the client may. */
  async shell(
    key: SessionKey,
    request: ShellRequest,
    signal: AbortSignal,
  ): Promise<Result<ShellOutcome>> {
    const found = await this.#find(key);
    return found.ok ? this.#shells.run(found.value, request, signal) : found;
  }

  /** Where the conversation stands, in the agent's words; null if it cannot say. */
  async recap(key: SessionKey, userId: UserId | null = null): Promise<Result<string | null>> {
    const found = await this.#find(key);
    return found.ok ? this.#asides.recap(found.value, userId) : found;
  }

  /** A question by the way; null if the agent has no answer. */
  async btw(
    key: SessionKey,
    question: string,
    signal: AbortSignal,
    userId: UserId | null = null,
  ): Promise<Result<string | null>> {
    const found = await this.#find(key);
    return found.ok ? this.#asides.btw(found.value, question, signal, userId) : found;
  }

  /** A new session that goes on from a completed turn; null if there is no such turn. */
  async fork(key: SessionKey, options: Omit<ForkOptions, "agent">): Promise<Result<Forked | null>> {
    return retryIfEvicted(async () => {
      const found = await this.#find(key);
      if (!found.ok) return found;
      return forkSession(this.#world, found.value, { ...options, agent: found.value.agent });
    });
  }

  async tasks(key: SessionKey): Promise<Result<TasksAnswer>> {
    const found = await this.#find(key);
    if (!found.ok) return found;
    const locationOf = (shellId: ShellId) => this.#shells.locationOf(shellId);
    return ok(tasksAnswer(found.value.session, this.#world.clock.nowMs(), locationOf));
  }

  /** Ends one of a session's commands; false if it has none of this id at work. */
  async cancelTask(key: SessionKey, shellId: ShellId): Promise<Result<boolean>> {
    const found = await this.#find(key);
    return found.ok ? ok(this.#shells.cancel(key, shellId)) : found;
  }

  /** Nothing runs when this answers, and nothing is started any more. */
  async end(): Promise<void> {
    await Promise.all([this.#shells.endAll(), this.#asides.end()]);
  }
}
