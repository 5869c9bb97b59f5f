import type { ShellId } from "../../core/id.ts";
import { SHELL_CONTEXT_CHARS_MAX, SHELL_MS_MAX } from "../../core/limits.ts";
import { SERVER } from "../../core/session/command.ts";
import type { ShellResult } from "../../core/session/event.ts";
import { lastOfText } from "../../core/text.ts";
import type { SessionKey } from "../../store/store.ts";
import type { LiveSession } from "../live.ts";
import { givenBy, type SessionWorld } from "../world.ts";
import { ShellOutput } from "./shell-output.ts";
import type { ShellExit, ShellOrder, ShellRunner } from "./shell-runner.ts";

/** What a command came to, as its result in the log has it: of a long output, the end. */
export type ShellAnswer = Pick<ShellResult, "exitCode" | "signal" | "aborted" | "output" | "error">;

/** One command of a client, which is in the log already, from its start to its result. */
export class ShellCommand {
  readonly order: ShellOrder;
  readonly #world: SessionWorld;
  readonly #live: LiveSession;
  readonly #shellId: ShellId;
  readonly #stop = new AbortController();
  #pid: number | null = null;
  #isLate = false;

  constructor(world: SessionWorld, live: LiveSession, shellId: ShellId, order: ShellOrder) {
    this.#world = world;
    this.#live = live;
    this.#shellId = shellId;
    this.order = order;
  }

  get key(): SessionKey {
    return this.#live.key;
  }

  /** Of its shell, once that is there. */
  get pid(): number | null {
    return this.#pid;
  }

  end() {
    this.#stop.abort();
  }

  /** It ends by itself, with its caller, with its session's instance, or when its time is up. */
  async run(runner: ShellRunner, signal: AbortSignal): Promise<ShellAnswer> {
    const { clock } = this.#world;
    const end = () => this.end();
    const callOff = clock.after(SHELL_MS_MAX, () => {
      this.#isLate = true;
      end();
    });
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    // An instance that ends gives its commands their results, and forgets them.
    void this.#live.until(({ shells }) => !shells.has(this.#shellId)).then(end);
    const output = new ShellOutput(clock, (text) => this.#tell(text));
    const ears = {
      started: (pid: number) => {
        this.#pid = pid;
      },
      output: (text: string) => output.write(text),
    };
    const exit = await runner.run(this.order, ears, this.#stop.signal);
    const isAborted = this.#stop.signal.aborted;
    callOff();
    signal.removeEventListener("abort", end);
    await output.end();
    return this.#finish(exit, isAborted, output.tail);
  }

  /** If the session does not take it, nobody is left to run the command for. */
  async #tell(output: string): Promise<boolean> {
    const shellId = this.#shellId;
    const outcome = await this.#live.submit({
      ...this.#by(),
      type: "shell_output",
      shellId,
      output,
    });
    if (!outcome.isNews) this.end();
    return outcome.isNews;
  }

  async #finish(exit: ShellExit, aborted: boolean, tail: string): Promise<ShellAnswer> {
    const { exitCode, signal } = exit;
    const late = this.#isLate ? `it was ended after ${SHELL_MS_MAX / 1_000} seconds` : null;
    const error = exit.error ?? late;
    const output = lastOfText(tail, SHELL_CONTEXT_CHARS_MAX);
    const result = { exitCode, signal, aborted, output, ...(error !== null && { error }) };
    const ended = { shellId: this.#shellId, command: this.order.command, ...result };
    const { isNews } = await this.#live.insist({ ...this.#by(), type: "shell_result", ...ended });
    // What was not taken has its result already: the session ended, and aborted it.
    const isAborted = aborted || !isNews;
    return { ...result, aborted: isAborted, output: this.#world.redact(output) };
  }

  #by() {
    return givenBy(this.#world.clock, SERVER);
  }
}
