import { createHash, randomUUID } from "node:crypto";
import { type JsonObject, stringAt } from "../../core/json.ts";
import {
  AUDIT_AGENT_NAME_CHARS_MAX,
  AUDIT_LISTED_MAX,
  COMMAND_SHOWN_CHARS_MAX,
  TERMINALS_OPEN_MAX,
} from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { TERMINAL_ID_PREFIX, type TerminalExit } from "../../core/terminal-output.ts";
import { cutText } from "../../core/text.ts";
import { thisProcess } from "../../platform/process-identity.ts";
import type { SpawnIdentity } from "../../platform/spawn-as.ts";
import type { AgentListener } from "../agent.ts";
import { AGENT_MARK_VARIABLE } from "../process/environment.ts";
import { killTrees, subMarker } from "../process/process-tree.ts";
import { type CommandLine, type CommandRequest, commandLine, readCommand } from "./command.ts";
import { answerFor, isRecorded, NOT_RECORDED, unavailable } from "./errors.ts";
import { Directory, type Location, locate, mustBePermitted, OwnFolders } from "./location.ts";
import {
  startFault,
  Terminal,
  type TerminalObserver,
  type TerminalReading,
  type TerminalStart,
} from "./terminal.ts";

/** The options of all terminals of one session. */
export interface TerminalsOptions {
  readonly workspace: string;
  /** The directory of commands that name none. */
  readonly cwd: string;
  /** The environment of every command; the agent may add to it and replace variables. */
  readonly environment: Readonly<Record<string, string>>;
  /** The agent's mark, by which its orphans are found; the agent cannot replace it. */
  readonly marker: string;
  /** The user of commands; the server's own by default. */
  readonly user?: SpawnIdentity | null;
  /** The server's own folders, in which no command may start. */
  readonly own?: OwnFolders;
  readonly audit: AgentListener["audit"];
  /** Shows the output to clients. */
  readonly observer?: TerminalsObserver;
}

/** Follows every command that runs. */
export interface TerminalsObserver {
  opened(terminalId: string, line: string): TerminalObserver;
  /** The agent has released it, and it has ended. */
  released(terminalId: string): void;
}

/** ACP's answer without content. */
export type EmptyResult = Readonly<Record<string, never>>;

/**
 * The commands that an agent runs in a session. They start inside the workspace, but that is no
 * sandbox: a command can do what its user may. What may run is decided before it gets here.
 */
export class Terminals {
  readonly #options: TerminalsOptions;
  /** Null for starting ones: they count too, or many at once would pass the limit. */
  readonly #open = new Map<string, Terminal | null>();
  /** Released and not ended yet: they cannot be used, but count for the limit. */
  readonly #leaving = new Set<Terminal>();
  /** The mark of this session, so that its own orphans can be found; most need none. */
  #mark: string | null = null;
  #hasStarted = false;
  #isOver = false;

  constructor(options: TerminalsOptions) {
    this.#options = options;
  }

  get #marker(): string {
    this.#mark ??= subMarker(this.#options.marker, randomUUID());
    return this.#mark;
  }

  /**
   * Takes the parameters of `terminal/create`. With `permitted` the command runs in that directory
   * or not at all.
   */
  async create(
    params: JsonObject,
    permitted?: string,
  ): Promise<Result<{ readonly terminalId: string }>> {
    const request = readCommand(params);
    if (typeof request === "string") return failed(stringAt(params, "command") ?? "", request);
    if (this.#isOver) return failed(request.command, SESSION_OVER);
    if (this.#open.size + this.#leaving.size >= TERMINALS_OPEN_MAX) {
      return fail("terminal_limit_exceeded", { limit: TERMINALS_OPEN_MAX });
    }
    const terminalId = `${TERMINAL_ID_PREFIX}${randomUUID()}`;
    this.#open.set(terminalId, null);
    const cwd = request.cwd ?? this.#options.cwd;
    let isStarted = false;
    try {
      const started = await answerFor(cwd, () =>
        this.#startAt(terminalId, { ...request, cwd }, permitted),
      );
      isStarted = started.ok;
      return started.ok ? ok({ terminalId }) : started;
    } finally {
      if (!isStarted) this.#open.delete(terminalId);
    }
  }

  output(terminalId: string): Result<TerminalReading> {
    const terminal = this.#open.get(terminalId);
    return terminal ? ok(terminal.output()) : notFound(terminalId);
  }

  /** Waits until the command ends, is released, or the signal fires. */
  async waitForExit(terminalId: string, signal?: AbortSignal): Promise<Result<TerminalExit>> {
    const exit = await this.#open.get(terminalId)?.waitForExit(signal);
    if (exit === undefined) return notFound(terminalId);
    return exit === null ? failed(terminalId, "nobody waits for it any more") : ok(exit);
  }

  /** Resolves when the command has ended; its output stays until the release. */
  async kill(terminalId: string): Promise<Result<EmptyResult>> {
    const terminal = this.#open.get(terminalId);
    if (!terminal) return notFound(terminalId);
    await terminal.kill();
    return ok({});
  }

  async release(terminalId: string): Promise<Result<EmptyResult>> {
    const terminal = this.#open.get(terminalId);
    if (!terminal) return notFound(terminalId);
    this.#open.delete(terminalId);
    this.#leaving.add(terminal);
    await terminal.release();
    this.#leaving.delete(terminal);
    this.#options.observer?.released(terminalId);
    return ok({});
  }

  /** The session is over: no command is left when this resolves, and none starts any more. */
  async endAll(): Promise<void> {
    this.#isOver = true;
    const left = [...this.#leaving].map((terminal) => terminal.release());
    const ids = [...this.#open.keys()];
    await Promise.all([...left, ...ids.map((id) => this.release(id))]);
    if (this.#hasStarted) await this.#sweep();
  }

  /** Kills what has left its command's group, as daemons do: it still has the mark. */
  async #sweep(): Promise<void> {
    const since = thisProcess().startedAt;
    const own = { marker: this.#marker, leader: null, seen: [], since, mayStillStart: false };
    await killTrees([own]);
  }

  async #startAt(
    terminalId: string,
    request: CommandRequest & { readonly cwd: string },
    permitted?: string,
  ): Promise<Result<void>> {
    const { workspace, own = OwnFolders.NONE, user = null } = this.#options;
    const location = await locate(workspace, request.cwd, own.isClosed);
    mustBePermitted(workspace, location, permitted);
    if (location.missing.length > 0) throw unavailable("there is no such directory");
    if (!location.stats.isDirectory()) throw unavailable("it is not a directory");
    const directory = await Directory.open(location.scope, location.real);
    try {
      const { environment } = this.#options;
      const marks = { [AGENT_MARK_VARIABLE]: this.#marker };
      // Programs trust PWD, and the server's own would be wrong.
      const variables = { ...environment, PWD: location.real, ...request.variables, ...marks };
      const line = commandLine(request);
      const fault = await this.#recordFault(request, location);
      if (fault !== null) return failed(request.command, fault);
      await directory.mustBeInside();
      // The server's handle would lead another user past folders that it may not enter.
      const cwd = user === null ? directory.path : location.real;
      const start = { ...line, cwd, environment: variables };
      return await this.#start(terminalId, request, start);
    } finally {
      await directory.close();
    }
  }

  /**
   * A line may be long and have unknown secrets in it. So the audit gets its beginning, and a hash
   * by which a person who knows the line can recognize it.
   */
  async #recordFault(request: CommandRequest, location: Location) {
    const line = lineOf(request);
    const names = Object.keys(request.variables).slice(0, AUDIT_LISTED_MAX);
    const details = {
      command: cutText(line, COMMAND_SHOWN_CHARS_MAX),
      commandHash: createHash("sha256").update(line).digest("hex").slice(0, HASH_CHARS),
      cwd: location.name,
      // Values may be secret; names are not.
      variables: names.map((name) => cutText(name, AUDIT_AGENT_NAME_CHARS_MAX)),
    };
    return (await isRecorded(this.#options.audit, "terminal.create", details))
      ? null
      : NOT_RECORDED;
  }

  async #start(
    terminalId: string,
    request: CommandRequest,
    start: Pick<TerminalStart, keyof CommandLine | "cwd" | "environment">,
  ): Promise<Result<void>> {
    const { command, outputBytesMax } = request;
    if (this.#isOver) return failed(command, SESSION_OVER);
    try {
      const { user = null, observer } = this.#options;
      const terminal = new Terminal({ ...start, outputBytesMax, user });
      this.#open.set(terminalId, terminal);
      this.#hasStarted = true;
      const fault = await terminal.started;
      if (fault !== null) return failed(command, fault);
      if (observer !== undefined) terminal.follow(observer.opened(terminalId, lineOf(request)));
      return DONE;
    } catch (thrown) {
      return failed(command, startFault(thrown));
    }
  }
}

const SESSION_OVER = "the session is over";

/** The length of every hash in the audit. */
const HASH_CHARS = 16;

function lineOf({ command, args }: CommandRequest): string {
  return [command, ...args].join(" ");
}

function failed(command: string, reason: string): Result<never> {
  const shown = command.slice(0, COMMAND_SHOWN_CHARS_MAX);
  return fail("terminal_failed", { command: shown, reason });
}

function notFound(terminalId: string): Result<never> {
  return fail("terminal_not_found", { terminalId: terminalId.slice(0, COMMAND_SHOWN_CHARS_MAX) });
}
