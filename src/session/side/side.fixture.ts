import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { processTable } from "../../agent/process/process-table.ts";
import { parseClientId } from "../../core/id.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import type { Actor, Idempotency } from "../../core/session/command.ts";
import type { Clock } from "../../platform/clock.ts";
import { type Hand, Stage } from "../stage.fixture.ts";
import { LocalShell } from "./local-shell.ts";
import { Shells } from "./shell.ts";
import type { ShellMarks } from "./shell-command.ts";

/** For tests in which no server dies. */
export const NO_MARKS: ShellMarks = {
  place: async () => ({ variables: {}, confirm: async () => {}, end: async () => {} }),
};

/** Never aborted. */
export const FOREVER = new AbortController().signal;

const ADA = parseClientId("ada") ?? expect.fail();

export const CALLER: Actor = { kind: "client", clientId: ADA, userId: null, loopback: true };

const PATH = { PATH: process.env.PATH ?? "" };

/** A clock on which the long waits pass when a test says so, and the short ones by themselves. */
export class PatientClock implements Clock {
  readonly #real: Clock;
  readonly #waits = new Map<number, Set<() => void>>();
  readonly #patienceMs: number;

  constructor(real: Clock, patienceMs: number) {
    this.#real = real;
    this.#patienceMs = patienceMs;
  }

  readonly nowMs = () => this.#real.nowMs();

  readonly after = (ms: number, act: () => void) => {
    if (ms < this.#patienceMs) return this.#real.after(ms, act);
    const waits = this.#waits.get(ms) ?? new Set();
    this.#waits.set(ms, waits.add(act));
    return () => void waits.delete(act);
  };

  pass(ms: number) {
    for (const act of this.#waits.get(ms) ?? []) act();
  }
}

/** A session in which a client runs shell commands. */
export class ShellStage {
  readonly stage: Stage;
  readonly hand: Hand;
  readonly shells: Shells;

  private constructor(stage: Stage, hand: Hand, shells: Shells) {
    this.stage = stage;
    this.hand = hand;
    this.shells = shells;
  }

  static async open(
    options: Parameters<typeof Stage.open>[0] = {},
    clock?: (real: Clock) => Clock,
  ) {
    const stage = await Stage.open(options);
    return ShellStage.over(stage, await stage.created(), clock);
  }

  static async over(stage: Stage, hand: Hand, clock: (real: Clock) => Clock = (real) => real) {
    const world = { ...stage.world, clock: clock(stage.world.clock) };
    const shells = new Shells(world, new LocalShell(PATH, NO_MARKS));
    onTestFinished(() => shells.endAll());
    const attached = await hand.say("attach", { clientId: ADA, idle: [] });
    expect(attached.refusal).toBeNull();
    return new ShellStage(stage, hand, shells);
  }

  run(command: string, signal = FOREVER, idempotency: Idempotency = null) {
    return this.shells.run(this.hand.live, { command, actor: CALLER, idempotency }, signal);
  }

  /** What was told of shell commands, in order. */
  get told(): readonly LogEvent[] {
    return this.hand.events.filter(
      ({ type, data }) =>
        type.startsWith("user_shell") ||
        ("update" in data && data.update.sessionUpdate === "shell_output"),
    );
  }

  /** The output that streams were told, in the pieces in which they were. */
  get pieces(): readonly string[] {
    return this.told.flatMap((event) =>
      event.type === "session_update" ? [String(event.data.update.output)] : [],
    );
  }

  /** Waits until the output holds this, and answers with all of it. */
  async output(part: RegExp): Promise<string> {
    await this.stage.until(() => part.test(this.pieces.join("")));
    return this.pieces.join("");
  }
}

/** A process that is only waiting to be buried is not alive. */
export async function isAlive(pid: number): Promise<boolean> {
  return (await processTable().startOf(pid)) !== null;
}

/** Killed processes need a moment to go, and the system does not tell when they have. */
export async function areGone(pids: readonly number[]): Promise<void> {
  for (const pid of pids) while (await isAlive(pid)) await setImmediate();
}

/** The same thing, of which some methods are others. */
export function bound<Thing extends object>(
  thing: Thing,
  change: (name: string, own: unknown) => unknown,
): Thing {
  return new Proxy(thing, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name, target);
      return change(String(name), typeof own === "function" ? own.bind(target) : own);
    },
  });
}
