import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { AgentMarks, CommandMarks, endOrphans } from "../../agent/process/marks.ts";
import { LocalShell } from "./local-shell.ts";
import { areGone, FOREVER, isAlive, NO_MARKS } from "./side.fixture.ts";

const SERVER = fileURLToPath(new URL("shell-server.fixture.ts", import.meta.url));
const PATH = { PATH: process.env.PATH ?? "" };

function ownFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-shell-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Hears a command, and takes its output when the gate opens. */
class Ears {
  readonly started = () => {};
  text = "";
  isHeard: Promise<void>;
  open = () => {};
  readonly #gate: Promise<void>;
  #heard = () => {};

  constructor() {
    this.isHeard = new Promise((resolve) => {
      this.#heard = resolve;
    });
    this.#gate = new Promise((resolve) => {
      this.open = resolve;
    });
  }

  readonly output = (text: string) => {
    this.text += text;
    this.#heard();
    return this.#gate;
  };
}

describe("the shell of this machine", () => {
  it("P10: holds a command back whose output is not taken", async () => {
    const cwd = ownFolder();
    const shell = new LocalShell(PATH, NO_MARKS);
    const ears = new Ears();
    const running = shell.run(
      { command: "head -c 900000 /dev/zero; : > done", cwd },
      ears,
      FOREVER,
    );
    await ears.isHeard;
    const free = new Ears();
    free.open();
    // Another one that writes as much goes through meanwhile.
    await shell.run({ command: "head -c 900000 /dev/zero", cwd }, free, FOREVER);
    expect(free.text).toHaveLength(900_000);
    expect(existsSync(join(cwd, "done"))).toBe(false);
    expect(ears.text.length).toBeLessThan(200_000);
    ears.open();
    expect(await running).toEqual({ exitCode: 0, signal: null, error: null });
    expect(ears.text).toHaveLength(900_000);
  });

  it("says why a command could not be run", async () => {
    const cwd = join(ownFolder(), "missing");
    const shell = new LocalShell(PATH, NO_MARKS);
    const exit = await shell.run({ command: "true", cwd }, new Ears(), FOREVER);
    expect(exit).toEqual({ exitCode: null, signal: null, error: "its directory is not there" });
  });

  it("P5: runs nothing that could not be noted down, and no note outlives it", async () => {
    const cwd = ownFolder();
    const broken = { place: () => Promise.reject(new Error("the disk is full")) };
    const never = await new LocalShell(PATH, broken).run(
      { command: ": > never", cwd },
      new Ears(),
      FOREVER,
    );
    expect(never.error).toMatch(/noted down/);
    expect(existsSync(join(cwd, "never"))).toBe(false);
    const marks = join(cwd, "marks");
    const shell = new LocalShell(PATH, new CommandMarks(new AgentMarks(marks)));
    await shell.run({ command: "ls marks > seen", cwd }, new Ears(), FOREVER);
    expect(readdirSync(marks)).toEqual([]);
  });

  it.each([
    ["comes to its end", "", false],
    ["is called off", "sleep 1000", true],
  ])("P5: ends also who left its group, when it %s", async (_how, then, isCalledOff) => {
    const cwd = ownFolder();
    const shell = new LocalShell(PATH, new CommandMarks(new AgentMarks(join(cwd, "marks"))));
    const ears = new Ears();
    ears.open();
    const stop = new AbortController();
    const daemon = "setsid sleep 1000 > /dev/null 2>&1 < /dev/null &";
    const running = shell.run({ command: `${daemon} echo $!; ${then}`, cwd }, ears, stop.signal);
    await ears.isHeard;
    const pid = Number(ears.text);
    if (isCalledOff) stop.abort();
    await running;
    expect(pid).toBeGreaterThan(1);
    expect(await isAlive(pid)).toBe(false);
    expect(readdirSync(join(cwd, "marks"))).toEqual([]);
  });

  it("P5: of a server that was killed is ended by the next one", async () => {
    const marks = ownFolder();
    const command = "sleep 1000 & echo $!; setsid sleep 1000 & echo $!; echo $$; wait";
    const server = spawn(process.execPath, [SERVER, marks, command], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(server, "exit");
    const pids: number[] = [];
    for await (const line of createInterface({ input: server.stdout })) {
      pids.push(Number(line));
      if (pids.length === 3) server.kill("SIGKILL");
    }
    await ended;
    expect(await Promise.all(pids.map(isAlive))).toEqual([true, true, true]);
    expect(await endOrphans(marks)).toMatchObject({ cleared: 1, notes: [] });
    await areGone(pids);
    expect(readdirSync(marks)).toEqual([]);
  });
});
