import { describe, expect, it } from "vitest";
import { SHELL_OUTPUT_CHUNK_CHARS_MAX, SHELL_OUTPUT_PAUSE_MS } from "../../core/limits.ts";
import { ShellOutput } from "./shell-command.ts";

/** Time passes, and pieces become durable, when a test says so. */
class Desk {
  readonly told: string[] = [];
  readonly output: ShellOutput;
  timers: (() => void)[] = [];
  #settle: ((isTaken: boolean) => void)[] = [];

  constructor() {
    const clock = {
      nowMs: () => 0,
      after: (ms: number, act: () => void) => {
        expect(ms).toBe(SHELL_OUTPUT_PAUSE_MS);
        this.timers.push(act);
        return () => {
          this.timers = this.timers.filter((timer) => timer !== act);
        };
      },
    };
    this.output = new ShellOutput(clock, (text) => {
      this.told.push(text);
      return new Promise((resolve) => this.#settle.push(resolve));
    });
  }

  async durable(isTaken = true): Promise<void> {
    this.#settle.shift()?.(isTaken);
    await turnOfLoop();
  }

  async pause(): Promise<void> {
    this.timers.shift()?.();
    await turnOfLoop();
  }
}

const turnOfLoop = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("P10: output on its way to a session", () => {
  it("begins at once, and goes on when the last piece is durable and after a pause", async () => {
    const desk = new Desk();
    void desk.output.write("a");
    expect(desk.told).toEqual(["a"]);
    for (const text of ["b", "c", "d"]) expect(desk.output.write(text)).toBeUndefined();
    expect(desk.timers).toHaveLength(0);
    await desk.durable();
    void desk.output.write("e");
    expect(desk.told).toEqual(["a"]);
    expect(desk.timers).toHaveLength(1);
    await desk.pause();
    expect(desk.told).toEqual(["a", "bcde"]);
  });

  it("waits for room when a piece is full, and has room when that is on its way", async () => {
    const desk = new Desk();
    void desk.output.write("a");
    expect(desk.output.write("b".repeat(SHELL_OUTPUT_CHUNK_CHARS_MAX))).toBeUndefined();
    const room = desk.output.write("c");
    expect(room).toBeInstanceOf(Promise);
    await desk.durable();
    await desk.pause();
    expect(desk.told.map(({ length }) => length)).toEqual([1, SHELL_OUTPUT_CHUNK_CHARS_MAX]);
    await desk.durable();
    await room;
  });

  it("is told to its end without a pause when there is no more to come", async () => {
    const desk = new Desk();
    void desk.output.write("a");
    void desk.output.write("b".repeat(SHELL_OUTPUT_CHUNK_CHARS_MAX + 1));
    await desk.durable();
    let isOver = false;
    const end = desk.output.end().then(() => {
      isOver = true;
    });
    await turnOfLoop();
    expect(desk.timers).toHaveLength(0);
    await desk.durable();
    expect(isOver).toBe(false);
    await desk.durable();
    await end;
    expect(desk.told.map(({ length }) => length)).toEqual([1, SHELL_OUTPUT_CHUNK_CHARS_MAX, 1]);
  });

  it("is told no further when the session does not take it, and holds nobody up", async () => {
    const desk = new Desk();
    void desk.output.write("a");
    const room = desk.output.write("b".repeat(SHELL_OUTPUT_CHUNK_CHARS_MAX + 1));
    await desk.durable(false);
    await room;
    expect(desk.output.write("c".repeat(SHELL_OUTPUT_CHUNK_CHARS_MAX))).toBeUndefined();
    await desk.output.end();
    expect(desk.told).toEqual(["a"]);
    expect(desk.output.tail).toMatch(/^c+$/);
  });
});
