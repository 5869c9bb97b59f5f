import type { TenantId } from "../../src/core/id.ts";
import type {
  ShellCommandLine,
  ShellExit,
  ShellListener,
  ShellRunner,
} from "../../src/session/side/shell-command.ts";
import type { Scene } from "./scene.ts";
import { TENANTS } from "./words.ts";

/** The shell of one server. What a command does is up to chance; none outlives its server. */
export class SimulatedShell implements ShellRunner {
  readonly #scene: Scene;
  readonly #server: number;
  readonly #ran: (order: ShellCommandLine) => void;
  /** The command lines that are at work. */
  readonly open = new Set<string>();
  #pid = 1_000;

  constructor(scene: Scene, server: number, ran: (order: ShellCommandLine) => void) {
    this.#scene = scene;
    this.#server = server;
    this.#ran = ran;
  }

  async run(order: ShellCommandLine, ears: ShellListener, signal: AbortSignal): Promise<ShellExit> {
    const { chance } = this.#scene;
    const { command } = order;
    this.#ran(order);
    if (chance.happens(0.05)) return { exitCode: null, signal: null, error: "no such directory" };
    this.open.add(command);
    await this.#beat(`starts "${command}"`, signal);
    this.#pid += 1;
    ears.started(this.#pid);
    for (let count = chance.under(4); count > 0 && !signal.aborted; count -= 1) {
      for (const text of this.#output(command)) await ears.output(text);
      await this.#beat(`goes on with "${command}"`, signal);
    }
    if (chance.happens(0.15)) await stopped(signal);
    // What is told to stop may take its time, and may still have something to say.
    if (signal.aborted && chance.happens(0.5)) {
      await this.#beat(`is slow to end "${command}"`);
      await ears.output("so be it");
    }
    this.open.delete(command);
    if (signal.aborted) return { exitCode: null, signal: "SIGTERM", error: null };
    return { exitCode: chance.pick([0, 0, 1]), signal: null, error: null };
  }

  #output(command: string): readonly string[] {
    const { chance, words } = this.#scene;
    if (chance.happens(0.01)) return ["x".repeat(100 * 1_024)];
    return words.pieces("output", ownerOf(command));
  }

  #beat(what: string, signal?: AbortSignal): Promise<void> {
    const { schedule, temper, chance } = this.#scene;
    const inMs = chance.happens(0.1) ? 400 : this.#scene.delayMs(temper.agentIsSlow);
    return new Promise((resolve) => {
      const callOff = schedule.add("shell", what, resolve, { inMs, server: this.#server });
      const stop = () => {
        callOff();
        resolve();
      };
      if (signal?.aborted) stop();
      signal?.addEventListener("abort", stop, { once: true });
    });
  }
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Every command line shows whose it is. */
function ownerOf(command: string): TenantId {
  return TENANTS.find((one) => command.includes(` of ${one}`)) ?? TENANTS[0];
}
