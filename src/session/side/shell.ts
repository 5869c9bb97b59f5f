import type { ShellId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Actor, Idempotency } from "../../core/session/command.ts";
import type { SessionKey } from "../../store/store.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";
import { type ShellAnswer, ShellCommand } from "./shell-command.ts";
import { storedShellResult } from "./shell-result.ts";
import type { ShellRunner } from "./shell-runner.ts";

export interface ShellRequest {
  readonly command: string;
  /** Who wants it; only clients that the session knows by name may. */
  readonly actor: Actor;
  readonly idempotency: Idempotency;
}

/** Where a command runs: what only the server that runs it knows. */
export interface ShellPlace {
  readonly cwd: string;
  readonly pid: number | null;
}

/**
 * The shell commands that clients run in sessions, beside the agents. Whether anybody may is for
 * the caller to decide. A command is in the log before it runs, its output while it runs, and its
 * result when nothing of it is left; the core tells the agent of it with the next prompt. None
 * outlives the instance of its session, however that ends.
 */
export class Shells {
  readonly #world: SessionWorld;
  readonly #runner: ShellRunner;
  readonly #running = new Map<ShellId, ShellCommand>();
  readonly #ends = new Set<Promise<ShellAnswer>>();
  #isStopping = false;

  constructor(world: SessionWorld, runner: ShellRunner) {
    this.#world = world;
    this.#runner = runner;
  }

  /** Answers when the command has ended. The signal ends it, as when its caller is gone. */
  async run(
    live: LiveSession,
    { command, actor, idempotency }: ShellRequest,
    signal: AbortSignal,
  ): Promise<Result<ShellAnswer>> {
    if (this.#isStopping) return fail("server_stopping");
    const shellId = this.#world.ids.shell();
    const atMs = this.#world.clock.nowMs();
    const order = { command, cwd: live.session.chosen.currentCwd };
    const started = { shellId, ...order, idempotency };
    const outcome = await live.submit({ type: "shell_started", atMs, actor, ...started });
    if (outcome.refusal !== null) return { ok: false, refusal: outcome.refusal };
    const { answer } = outcome;
    const first = answer !== null && "shellId" in answer ? answer.shellId : shellId;
    if (first !== shellId) return this.#firstAnswer(live, first, signal);
    // All sessions are at their end by now: the log has its result, or the next server writes it.
    if (this.#isStopping) return ok(NOT_RUN);
    const running = new ShellCommand(this.#world, live, shellId, order);
    this.#running.set(shellId, running);
    const end = running.run(this.#runner, signal).finally(() => {
      this.#running.delete(shellId);
      this.#ends.delete(end);
    });
    this.#ends.add(end);
    return ok(await end);
  }

  /** Null for a command that does not run, or not here. */
  placeOf(shellId: ShellId): ShellPlace | null {
    const running = this.#running.get(shellId);
    return running === undefined ? null : { cwd: running.order.cwd, pid: running.pid };
  }

  /** Ends a running command of this session; false if it has none of this id. */
  cancel({ tenantId, sessionId }: SessionKey, shellId: ShellId): boolean {
    const running = this.#running.get(shellId);
    const { key } = running ?? {};
    const isOurs = key?.tenantId === tenantId && key.sessionId === sessionId;
    if (isOurs) running?.end();
    return isOurs;
  }

  /** Nothing runs when this answers, and nothing is started any more. */
  async endAll(): Promise<void> {
    this.#isStopping = true;
    for (const running of this.#running.values()) running.end();
    await Promise.all(this.#ends);
  }

  /** A retry is answered as the first one was, or will be: by what the log says. */
  async #firstAnswer(
    live: LiveSession,
    shellId: ShellId,
    signal: AbortSignal,
  ): Promise<Result<ShellAnswer>> {
    const gone = new Promise((resolve) => signal.addEventListener("abort", resolve));
    const ended = live.until(({ shells }) => !shells.has(shellId));
    if (!signal.aborted) await Promise.race([ended, gone]);
    const stored = await storedShellResult(this.#world.store, live.key, shellId);
    if (!stored.ok) return stored;
    if (stored.value === null) return fail("shell_not_found", { shellId });
    const { exitCode, signal: by, aborted, output, error } = stored.value;
    return ok({ exitCode, signal: by, aborted, output, ...(error !== undefined && { error }) });
  }
}

const NOT_RUN: ShellAnswer = { exitCode: null, signal: null, aborted: true, output: "" };
