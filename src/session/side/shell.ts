import type { ShellId } from "../../core/id.ts";
import { DISPLAY_NAME_CHARS_MAX, PAGE_ROWS_MAX } from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Actor, Idempotency } from "../../core/session/command.ts";
import type { ShellResult } from "../../core/session/event.ts";
import type { Session } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import type { LiveSession } from "../live.ts";
import { eventIn, eventsIn } from "../replay.ts";
import type { SessionWorld } from "../world.ts";
import { ShellCommand, type ShellOutcome, type ShellRunner } from "./shell-command.ts";

export interface ShellRequest {
  readonly command: string;
  /** Who wants it; only clients that the session knows by name may. */
  readonly actor: Actor;
  readonly idempotency: Idempotency;
}

/** Where a command runs: what only the server that runs it knows. */
export interface ShellLocation {
  readonly cwd: string;
  readonly pid: number | null;
}

/**
 * The shell commands that clients run in sessions, beside the agents. A command is in the log
 * before it runs, its output while it runs, and its result when nothing of it is left; the core
 * tells the agent of it with the next prompt. None outlives the instance of its session, however
 * that ends.
 */
export class Shells {
  readonly #world: SessionWorld;
  readonly #runner: ShellRunner;
  readonly #running = new Map<ShellId, ShellCommand>();
  readonly #ends = new Set<Promise<ShellOutcome>>();
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
  ): Promise<Result<ShellOutcome>> {
    if (this.#isStopping) return fail("server_stopping");
    const shellId = this.#world.ids.shell();
    const atMs = this.#world.clock.nowMs();
    const line = { command, cwd: live.session.chosen.currentCwd };
    const started = { shellId, ...line, idempotency };
    const outcome = await live.submit({ type: "shell_started", atMs, actor, ...started });
    if (outcome.refusal !== null) return { ok: false, refusal: outcome.refusal };
    const { answer } = outcome;
    const first = answer !== null && "shellId" in answer ? answer.shellId : shellId;
    if (first !== shellId) return this.#firstAnswer(live, first, signal);
    // All sessions are at their end by now: the log has its result, or the next server writes it.
    if (this.#isStopping) return ok(NOT_RUN);
    const running = new ShellCommand(this.#world, live, shellId, line);
    this.#running.set(shellId, running);
    const end = running.run(this.#runner, signal).finally(() => {
      this.#running.delete(shellId);
      this.#ends.delete(end);
    });
    this.#ends.add(end);
    return ok(await end);
  }

  /** Null for a command that does not run, or not here. */
  locationOf(shellId: ShellId): ShellLocation | null {
    const running = this.#running.get(shellId);
    return running === undefined ? null : { cwd: running.line.cwd, pid: running.pid };
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
  ): Promise<Result<ShellOutcome>> {
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

const NOT_RUN: ShellOutcome = { exitCode: null, signal: null, aborted: true, output: "" };

/**
 * How a command of this session ended, from its log: null if the log does not say. The client
 * most likely has sent it just now, so the newest is looked at first.
 */
async function storedShellResult(
  store: SessionStore,
  key: SessionKey,
  shellId: ShellId,
): Promise<Result<ShellResult | null>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const { earliestEventId, lastEventId } = record.value;
  for (let through = lastEventId; through >= earliestEventId; ) {
    const after = Math.max(earliestEventId - 1, through - PAGE_ROWS_MAX);
    const found = await amongEvents(store, key, shellId, after, through);
    if (!found.ok || found.value !== null) return found;
    through = after;
  }
  return amongTurns(store, key, shellId, lastEventId + 1);
}

/** A page may be shorter than it was asked to be, so a window may take several. */
async function amongEvents(
  store: SessionStore,
  key: SessionKey,
  shellId: ShellId,
  from: number,
  through: number,
): Promise<Result<ShellResult | null>> {
  for (let after = from; after < through; ) {
    const page = await store.readEvents(key, { after, limit: through - after });
    if (!page.ok) return page;
    for (const stored of page.value.events) {
      const result = stored.text.includes(shellId) ? resultIn(eventIn(stored), shellId) : null;
      if (result !== null) return ok(result);
    }
    after = page.value.events.at(-1)?.id ?? through;
  }
  return ok(null);
}

/** Raw events go one day; a folded turn keeps the results of the commands beside it. */
async function amongTurns(
  store: SessionStore,
  key: SessionKey,
  shellId: ShellId,
  end: number,
): Promise<Result<ShellResult | null>> {
  for (let before = end; ; ) {
    const page = await store.readTurns(key, { before, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    for (const turn of page.value.rows) {
      before = turn.lastId;
      const events = turn.text.includes(shellId) ? eventsIn(turn) : [];
      const results = events.flatMap((event) => resultIn(event, shellId) ?? []);
      if (results[0] !== undefined) return ok(results[0]);
    }
    if (!page.value.more) return ok(null);
  }
}

function resultIn({ type, data }: LogEvent, shellId: ShellId): ShellResult | null {
  return type === "user_shell_result" && data.shellId === shellId ? data : null;
}

export type TasksAnswer = ReturnType<typeof tasksAnswer>;

/** Answers with the running shell commands of clients; one that has ended is only in the log. */
export function tasksAnswer(
  { sessionId, shells, chosen }: Session,
  nowMs: number,
  locationOf: (shellId: ShellId) => ShellLocation | null,
) {
  const tasks = [...shells].map(([id, { command, startedAtMs }]) => {
    const { cwd, pid } = locationOf(id) ?? { cwd: chosen.currentCwd, pid: null };
    const [firstLine = ""] = command.trim().split("\n");
    return {
      kind: "shell",
      id,
      label: cutText(firstLine, DISPLAY_NAME_CHARS_MAX),
      description: command,
      status: "running",
      startTime: startedAtMs,
      runtimeMs: Math.max(0, nowMs - startedAtMs),
      command,
      cwd,
      ...(pid !== null && { pid }),
    };
  });
  return { v: 1, sessionId, now: nowMs, tasks };
}
