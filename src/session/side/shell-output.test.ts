import { describe, expect, it } from "vitest";
import {
  SECRET_HELD_MS,
  SHELL_CONTEXT_CHARS_MAX,
  SHELL_OUTPUT_CHARS_MAX,
  SHELL_OUTPUT_CHUNK_CHARS_MAX,
  SHELL_OUTPUT_PAUSE_MS,
} from "../../core/limits.ts";
import { SecretGuard } from "../../store/index.ts";
import { OUTPUT_LEFT_OUT, ShellOutput } from "./shell-command.ts";

/** Time passes, and pieces become durable, when a test says so. */
class Desk {
  readonly told: string[] = [];
  readonly output: ShellOutput;
  readonly guard = new SecretGuard();
  timers: (() => void)[] = [];
  /** How long the last timer waits. */
  pausesMs = 0;
  redactions = 0;
  #settle: ((isTaken: boolean) => void)[] = [];

  constructor(...secrets: readonly string[]) {
    for (const secret of secrets) this.guard.know(secret);
    const clock = {
      nowMs: () => 0,
      after: (ms: number, act: () => void) => {
        this.pausesMs = ms;
        this.timers.push(act);
        return () => {
          this.timers = this.timers.filter((timer) => timer !== act);
        };
      },
    };
    this.output = new ShellOutput(
      { clock, borders: this.guard },
      {
        tell: (text) => {
          this.told.push(text);
          return new Promise((resolve) => this.#settle.push(resolve));
        },
        redacted: () => {
          this.redactions += 1;
        },
      },
    );
  }

  /** As it is stored: each piece by itself without the secrets that are whole in it. */
  get stored(): readonly string[] {
    return this.told.map((text) => this.guard.redact(text));
  }

  /** Ends the writing; each piece becomes durable. */
  async end(): Promise<void> {
    let isOver = false;
    const end = this.output.end().then(() => {
      isOver = true;
    });
    while (!isOver) await this.durable();
    await end;
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
    expect(desk.pausesMs).toBe(SHELL_OUTPUT_PAUSE_MS);
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

const SECRET = "sk-very-secret-value";

describe("P11: a secret in the output of a command", () => {
  it("is not stored in halves, wherever a pause cuts it", async () => {
    for (let at = 1; at < SECRET.length; at += 1) {
      const desk = new Desk(SECRET);
      void desk.output.write(`key: ${SECRET.slice(0, at)}`);
      void desk.output.write(`${SECRET.slice(at)}.`);
      await desk.durable();
      await desk.pause();
      expect(desk.stored.join("")).toBe("key: [redacted].");
      await desk.end();
    }
  });

  it("is not stored in halves where the limit of a piece cuts it", async () => {
    const filler = "x".repeat(SHELL_OUTPUT_CHUNK_CHARS_MAX - 5);
    const desk = new Desk(SECRET);
    void desk.output.write(`${filler}${SECRET}.`);
    await desk.end();
    expect(desk.stored).toEqual([filler, "[redacted]."]);
  });

  it("is not stored in part where the limit of an output or a result cuts it", async () => {
    const desk = new Desk(SECRET);
    const filler = "x".repeat(SHELL_OUTPUT_CHARS_MAX - 5);
    void desk.output.write(filler);
    void desk.output.write(SECRET + "y".repeat(SHELL_CONTEXT_CHARS_MAX - 5));
    await desk.end();
    expect(desk.stored.join("")).toBe(filler + OUTPUT_LEFT_OUT);
    expect(desk.output.tail).toBe("y".repeat(SHELL_CONTEXT_CHARS_MAX - 5));
  });

  it("is redacted in its rest if its beginning was sent after a while", async () => {
    const desk = new Desk(SECRET);
    void desk.output.write("sk-very-");
    expect(desk.told).toEqual([]);
    expect(desk.pausesMs).toBe(SECRET_HELD_MS);
    await desk.pause();
    expect(desk.told).toEqual(["sk-very-"]);
    void desk.output.write("secret-");
    await desk.durable();
    await desk.pause();
    void desk.output.write("value.");
    await desk.pause();
    await desk.end();
    expect(desk.stored).toEqual(["sk-very-", "[redacted]."]);
    expect(desk.redactions).toBe(1);
  });

  it("is no reason to lose what only begins like it", async () => {
    const desk = new Desk(SECRET);
    void desk.output.write("a sk-very-");
    await desk.durable();
    void desk.output.write("long day, sk-");
    await desk.end();
    expect(desk.told.join("")).toBe("a sk-very-long day, sk-");
    expect([desk.redactions, desk.timers.length]).toEqual([0, 0]);
  });

  it("P10: holds nothing up, even if it is longer than a piece", async () => {
    const desk = new Desk(`long ${"é".repeat(SHELL_OUTPUT_CHUNK_CHARS_MAX - 10)}`);
    const percent = encodeURIComponent(`long ${"é".repeat(SHELL_OUTPUT_CHUNK_CHARS_MAX - 10)}`);
    void desk.output.write(percent.slice(0, -3));
    await desk.end();
    expect(desk.told.join("")).toBe(percent.slice(0, -3));
  });
});
