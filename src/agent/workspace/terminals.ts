import { createHash, randomUUID } from "node:crypto";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { AUDIT_AGENT_NAME_CHARS_MAX, AUDIT_LISTED_MAX, COMMAND_SHOWN_CHARS_MAX, TERMINALS_OPEN_MAX } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { TerminalExit } from "../../core/terminal-output.ts";
import { cutText } from "../../core/text.ts";
import { thisProcess } from "../../platform/process-identity.ts";
import type { AgentListener } from "../agent.ts";
import { AGENT_MARK_VARIABLE } from "../process/environment.ts";
import { endMarked, markOfPart } from "../process/process-tree";
import { type CommandLine, type CommandOrder, commandLine, readOrder } from "./command.ts";
import { Directory, OwnFolders, locate, mustBePermitted, type Place } from "./location.ts";
import { startFault, Terminal, type TerminalReading, type TerminalStart, type TerminalWatch } from "./terminal.ts";
import { answer, NOT_RECORDED, recorded, Trouble } from "./errors";

/** What the terminals of one session have in common. */
export interface TerminalSetting {
  readonly workspace: string;
  /** Where commands begin that name no directory. */
  readonly cwd: string;
  /** What every command gets; the agent may add to it and replace. */
  readonly environment: Readonly<Record<string, string>>;
  /** The agent's mark, by which its orphans are found; no agent may replace it. */
  readonly marker: string;
  /** Whose rights commands have; the server's own where nothing is said. */
  readonly uid?: number | null;
  readonly gid?: number | null;
  /** Where no command begins, wherever the workspace is. */
  readonly own?: OwnFolders;
  readonly audit: AgentListener["audit"];
  /** Who shows people what commands write. */
  readonly audience?: TerminalAudience;
}

/** Hears of each command that runs, and follows it. */
export interface TerminalAudience {
  opened(terminalId: string, line: string): TerminalWatch;
  /** The agent is done with it; it has ended. */
  released(terminalId: string): void;
}

/** ACP's answer where there is nothing to say. */
export type Nothing = Readonly<Record<string, never>>;

/**
 * The commands that an agent runs in a session. That they begin inside the workspace is order, not
 * a cage: a command can go where its user may, and what may be run is decided before it gets here.
 */
export class Terminals {
  readonly #setting: TerminalSetting;
  /** Null for those on their way: they count too, or many at once would pass the limit. */
  readonly #open = new Map<string, Terminal | null>();
  /** Released, and not gone yet: they can be used no more, but still take room. */
  readonly #leaving = new Set<Terminal>();
  /** Of this session alone, so that what its commands leave behind can be told from the rest. */
  readonly #marker: string;
  #hasStarted = false;
  #isOver = false;

  constructor(setting: TerminalSetting) {
    this.#setting = setting;
    this.#marker = markOfPart(setting.marker, randomUUID());
  }

  /**
   * Takes the parameters of `terminal/create` as they came. Where it was decided that the command
   * may run in this directory, it runs in no other.
   */
  async create(
    params: JsonObject,
    permitted?: string,
  ): Promise<Result<{ readonly terminalId: string }>> {
    const order = readOrder(params);
    if (typeof order === "string") return failed(stringAt(params, "command") ?? "", order);
    if (this.#isOver) return failed(order.command, SESSION_OVER);
    if (this.#open.size + this.#leaving.size >= TERMINALS_OPEN_MAX) {
      return fail("terminal_limit_exceeded", { limit: TERMINALS_OPEN_MAX });
    }
    const terminalId = `terminal-${randomUUID()}`;
    this.#open.set(terminalId, null);
    const cwd = order.cwd ?? this.#setting.cwd;
    let isStarted = false;
    try {
      const started = await answer(cwd, () =>
        this.#startAt(terminalId, { ...order, cwd }, permitted),
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

  /** As long as the command takes. Its release answers it, and so does whoever gives up. */
  async waitForExit(terminalId: string, signal?: AbortSignal): Promise<Result<TerminalExit>> {
    const exit = await this.#open.get(terminalId)?.waitForExit(signal);
    if (exit === undefined) return notFound(terminalId);
    return exit === null ? failed(terminalId, "nobody waits for it any more") : ok(exit);
  }

  /** Answers when the command has ended; its output stays until the release. */
  async kill(terminalId: string): Promise<Result<Nothing>> {
    const terminal = this.#open.get(terminalId);
    if (!terminal) return notFound(terminalId);
    await terminal.kill();
    return ok({});
  }

  async release(terminalId: string): Promise<Result<Nothing>> {
    const terminal = this.#open.get(terminalId);
    if (!terminal) return notFound(terminalId);
    this.#open.delete(terminalId);
    this.#leaving.add(terminal);
    await terminal.release();
    this.#leaving.delete(terminal);
    this.#setting.audience?.released(terminalId);
    return ok({});
  }

  /** The session is over: nothing runs when this answers, and nothing starts any more. */
  async endAll(): Promise<void> {
    this.#isOver = true;
    const left = [...this.#leaving].map((terminal) => terminal.release());
    const ids = [...this.#open.keys()];
    await Promise.all([...left, ...ids.map((id) => this.release(id))]);
    if (this.#hasStarted) await this.#sweep();
  }

  /** Ends what has left its command's group, as daemons do: it carries the mark all the same. */
  async #sweep(): Promise<void> {
    const since = thisProcess().startedAt;
    const own = { marker: this.#marker, leader: null, seen: [], since, mayStillStart: false };
    await endMarked([own]);
  }

  async #startAt(
    terminalId: string,
    order: CommandOrder & { readonly cwd: string },
    permitted?: string,
  ): Promise<Result<void>> {
    const { workspace, own = OwnFolders.NONE } = this.#setting;
    const place = await locate(workspace, order.cwd, own.isClosed);
    mustBePermitted(workspace, place, permitted);
    if (place.missing.length > 0) throw Trouble.unavailable("there is no such directory");
    if (!place.stats.isDirectory()) throw Trouble.unavailable("it is not a directory");
    const directory = await Directory.open(place.reach, place.real);
    try {
      const { environment } = this.#setting;
      const marks = { [AGENT_MARK_VARIABLE]: this.#marker };
      // Programs believe PWD, and the server's own would lead them astray.
      const variables = { ...environment, PWD: place.real, ...order.variables, ...marks };
      const line = commandLine(order);
      const fault = await this.#recordFault(order, place);
      if (fault !== null) return failed(order.command, fault);
      await directory.mustBeInside();
      const start = { ...line, cwd: directory.path, environment: variables };
      return await this.#start(terminalId, order, start);
    } finally {
      await directory.close();
    }
  }

  /**
   * A line may be as long as a page and have secrets in it that nobody knows of. So its beginning
   * is recorded, and a hash by which somebody who knows the line can tell that it was this one.
   */
  async #recordFault(order: CommandOrder, place: Place) {
    const line = lineOf(order);
    const names = Object.keys(order.variables).slice(0, AUDIT_LISTED_MAX);
    const details = {
      command: cutText(line, COMMAND_SHOWN_CHARS_MAX),
      commandHash: createHash("sha256").update(line).digest("hex").slice(0, HASH_CHARS),
      cwd: place.name,
      // Values may be secret; names are not.
      variables: names.map((name) => cutText(name, AUDIT_AGENT_NAME_CHARS_MAX)),
    };
    const isRecorded = await recorded(this.#setting.audit, "terminal.create", details);
    return isRecorded ? null : NOT_RECORDED;
  }

  async #start(
    terminalId: string,
    order: CommandOrder,
    start: Pick<TerminalStart, keyof CommandLine | "cwd" | "environment">,
  ): Promise<Result<void>> {
    const { command, outputBytesMax } = order;
    if (this.#isOver) return failed(command, SESSION_OVER);
    try {
      const { uid = null, gid = null, audience } = this.#setting;
      const terminal = new Terminal({ ...start, outputBytesMax, uid, gid });
      this.#open.set(terminalId, terminal);
      this.#hasStarted = true;
      const fault = await terminal.started;
      if (fault !== null) return failed(command, fault);
      if (audience !== undefined) terminal.follow(audience.opened(terminalId, lineOf(order)));
      return DONE;
    } catch (thrown) {
      return failed(command, startFault(thrown));
    }
  }
}

const SESSION_OVER = "the session is over";

/** As many digits as the audit has of every hash. */
const HASH_CHARS = 16;

function lineOf({ command, args }: CommandOrder): string {
  return [command, ...args].join(" ");
}

function failed(command: string, reason: string): Result<never> {
  const shown = command.slice(0, COMMAND_SHOWN_CHARS_MAX);
  return fail("terminal_failed", { command: shown, reason });
}

function notFound(terminalId: string): Result<never> {
  return fail("terminal_not_found", { terminalId: terminalId.slice(0, COMMAND_SHOWN_CHARS_MAX) });
}
