import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import type { TerminalExit } from "../../core/terminal-output.ts";
import type { TerminalReading } from "./terminal.ts";
import { Terminals, type TerminalsOptions } from "./terminals.ts";
import { given, type World, withWorld } from "./world.fixture.ts";

/** A session's terminals, and shorter words for what tests do with them. */
export class Bench {
  readonly world: World;
  readonly terminals: Terminals;
  /** What everything that its agent starts would carry. */
  readonly marker = randomUUID();

  constructor(world: World, setting: Partial<TerminalsOptions> = {}) {
    this.world = world;
    const { workspace, audit } = world;
    const environment = { PATH: "/usr/local/bin:/usr/bin:/bin" };
    const usual = { workspace, cwd: workspace, environment, marker: this.marker, audit };
    this.terminals = new Terminals({ ...usual, ...setting });
  }

  async start(command: string, params: JsonObject = {}): Promise<string> {
    return given(await this.terminals.create({ command, ...params })).terminalId;
  }

  /** The shell is asked for by name here, so that nothing depends on how lines are told apart. */
  shell(script: string, params: JsonObject = {}): Promise<string> {
    return this.start("/bin/sh", { args: ["-c", script], ...params });
  }

  output(id: string): TerminalReading {
    return given(this.terminals.output(id));
  }

  async exit(id: string): Promise<TerminalExit> {
    return given(await this.terminals.waitForExit(id));
  }

  async run(command: string, params: JsonObject = {}): Promise<TerminalReading> {
    const id = await this.start(command, params);
    await this.exit(id);
    return this.output(id);
  }

  /** Waits until a command has said this. */
  async said(id: string, text: string): Promise<void> {
    await expect.poll(() => this.output(id).output).toContain(text);
  }

  /** The number that a command has written into a file of the workspace. */
  async pid(name: string): Promise<number> {
    return Number(await readFile(this.world.in(name), "utf8"));
  }
}

export function withTerminals(
  run: (bench: Bench) => Promise<void>,
  setting: Partial<TerminalsOptions> = {},
): Promise<void> {
  return withWorld(async (world) => {
    const bench = new Bench(world, setting);
    try {
      await run(bench);
    } finally {
      await bench.terminals.endAll();
    }
  });
}

/** Whether a process runs; one that is dead and not yet buried does not. */
export async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (status !== null) return !/^[ZX]/.test(status.slice(status.lastIndexOf(")") + 2));
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
