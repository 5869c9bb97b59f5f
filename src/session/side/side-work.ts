import type { ShellId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { shownChildren } from "../../core/session/child.ts";
import type { ClientActor } from "../../core/session/command.ts";
import type { SessionKey } from "../../store/store.ts";
import { retryIfEvicted } from "../eviction.ts";
import type { LiveSession } from "../live.ts";
import { mayRunShells, speakerForbidden } from "../tenant/policy-check.ts";
import { callerSpeaker } from "../tenant/tenant-policies.ts";
import type { SessionWorld } from "../world.ts";
import { Asides } from "./aside.ts";
import { type Forked, type ForkOptions, forkSession } from "./fork.ts";
import { type ShellRequest, Shells, type TasksAnswer, tasksAnswer } from "./shell.ts";
import type { ShellOutcome } from "./shell-command.ts";

/** Who asks something beside the turns. */
type Asker = Pick<ClientActor, "userId" | "role">;

const NO_USER: Asker = { userId: null };

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

  /** Runs a client's command line, where the operator lets clients run any. */
  async shell(
    key: SessionKey,
    request: ShellRequest,
    signal: AbortSignal,
  ): Promise<Result<ShellOutcome>> {
    if (!mayRunShells(this.#world)) {
      return fail("session_shell_disabled", { errorKind: "session_shell_disabled" });
    }
    const found = await this.#find(key);
    return found.ok ? this.#shells.run(found.value, request, signal) : found;
  }

  /** Where the conversation stands, in the agent's words; null if it cannot say. */
  async recap(key: SessionKey, by: Asker = NO_USER): Promise<Result<string | null>> {
    const found = await this.#allowed(key, by);
    return found.ok ? this.#asides.recap(found.value, by.userId) : found;
  }

  /** A question by the way; null if the agent has no answer. */
  async btw(
    key: SessionKey,
    question: string,
    signal: AbortSignal,
    by: Asker = NO_USER,
  ): Promise<Result<string | null>> {
    const found = await this.#allowed(key, by);
    return found.ok ? this.#asides.btw(found.value, question, signal, by.userId) : found;
  }

  /** The session, if the policy lets this user work with its agent and model. */
  async #allowed(key: SessionKey, by: Asker): Promise<Result<LiveSession>> {
    const found = await this.#find(key);
    if (!found.ok) return found;
    const speaker = callerSpeaker(by);
    const why = await speakerForbidden(this.#world, found.value, speaker);
    return why === null ? found : { ok: false, refusal: why };
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

  /** Its child sessions: those at work, and the last of those that have ended. */
  async children(key: SessionKey) {
    const found = await this.#find(key);
    if (!found.ok) return found;
    const { session } = found.value;
    return ok({ v: 1, sessionId: session.sessionId, children: shownChildren(session) });
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
