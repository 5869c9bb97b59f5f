import { setImmediate as turnOfLoop } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { EXPORT_CHUNK_CHARS, EXPORT_PIECE_MS_MAX, EXPORT_THREADS_MAX } from "../../core/limits.ts";
import { fail } from "../../core/result.ts";
import { Life } from "../../core/session/life.fixture.ts";
import { type Clock, SYSTEM_CLOCK } from "../../platform/clock.ts";
import { EXPORT_FORMATS, isExportFormat, openExport } from "./export.ts";
import { exportSession, type Stored, sourceOf, storedLife, textOf } from "./source.fixture.ts";
import { ExportBroken, type Exported, type ExportSource } from "./source.ts";
import { ExportThreads } from "./thread.ts";

const FORMATS = Object.keys(EXPORT_FORMATS).filter(isExportFormat);

const MISBEHAVING = {
  script: new URL("./misbehaving-worker.fixture.ts", import.meta.url),
  heapBytesMax: 32 * 1_024 * 1_024,
};

function lifeThatSays(text: string): Life {
  const life = new Life().running();
  life.says(text);
  life.complete("t1");
  return life;
}

const stored = (text = "*one*", change: Stored["change"] = {}): Stored => ({
  ...storedLife(lifeThatSays(text)),
  messages: ['{"v":1,"role":"user"}'],
  change,
});

async function opened(source: ExportSource): Promise<Exported> {
  const result = await openExport(source);
  if (!result.ok) throw new Error(result.refusal.code);
  return result.value;
}

/** A clock whose timers fire when a test says so. */
class HandClock implements Clock {
  readonly #due = new Map<() => void, number>();
  nowMs = () => 0;
  after(ms: number, act: () => void) {
    this.#due.set(act, ms);
    return () => void this.#due.delete(act);
  }
  get dueMs(): readonly number[] {
    return [...this.#due.values()];
  }
  fire() {
    for (const act of this.#due.keys()) act();
  }
}

let threads = new ExportThreads(SYSTEM_CLOCK);

function threadsWith(...options: ConstructorParameters<typeof ExportThreads>): ExportThreads {
  threads = new ExportThreads(...options);
  return threads;
}

afterEach(() => threads.end());

const codeOf = (error: unknown) => (error instanceof ExportBroken ? error.refusal.code : error);

describe("an export in a thread of its own", () => {
  it.each(FORMATS)("is the same file as one that is written here: %s", async (format) => {
    const { source } = sourceOf(stored(), 1);
    const pieces = threadsWith(SYSTEM_CLOCK).pieces(await opened(source), format);
    const text = await textOf({ ok: true, value: pieces });
    expect(text).toBe(await textOf(await exportSession(source, format)));
    expect(text).toContain("one");
    expect(threads.count).toBe(0);
  });

  it("P10: leaves in pieces of a bounded size, with no character in two of them", async () => {
    const life = lifeThatSays(`x${"\u{1f600}".repeat(EXPORT_CHUNK_CHARS)}`);
    const { source } = sourceOf(storedLife(life));
    const pieces: string[] = [];
    const all = threadsWith(SYSTEM_CLOCK).pieces(await opened(source), "jsonl");
    for await (const piece of all) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(2);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(EXPORT_CHUNK_CHARS);
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    expect(pieces.join("")).toBe(await textOf(await exportSession(source, "jsonl")));
  });

  it("breaks off with what the store says", async () => {
    const { source } = sourceOf(stored());
    const failing = { ...source, turns: async () => fail("store_unavailable", { reason: "x" }) };
    const pieces = threadsWith(SYSTEM_CLOCK).pieces(await opened(failing), "md");
    const error = await textOf({ ok: true, value: pieces }).catch((thrown) => thrown);
    expect(codeOf(error)).toBe("store_unavailable");
    expect(threads.count).toBe(0);
  });

  it("starts no thread before it is read, and ends its thread when its reader leaves", async () => {
    const { source } = sourceOf(stored("a".repeat(3 * EXPORT_CHUNK_CHARS)));
    const pieces = threadsWith(SYSTEM_CLOCK).pieces(await opened(source), "jsonl");
    expect(threads.count).toBe(0);
    await pieces.next();
    expect(threads.count).toBe(1);
    await pieces.return(undefined);
    expect(threads.count).toBe(0);
  });
});

describe("P10: an export that does not come to an end", () => {
  it("holds no other work, and is given up at its deadline", async () => {
    const clock = new HandClock();
    const { source } = sourceOf(stored());
    const stuck = threadsWith(clock, MISBEHAVING)
      .pieces(await opened(source), "md")
      .next();
    const outcome = stuck.catch(codeOf);
    while (clock.dueMs.length === 0) await turnOfLoop();
    // The thread spins meanwhile; this one goes round as if it were not there.
    for (let turn = 0; turn < 1_000; turn += 1) await turnOfLoop();
    expect(clock.dueMs).toEqual([EXPORT_PIECE_MS_MAX]);
    clock.fire();
    expect(await outcome).toBe("export_given_up");
    expect(threads.count).toBe(0);
  });

  it("is given up when it has filled its memory, and the server lives on", async () => {
    const { source } = sourceOf(stored("", { displayName: "hungry" }));
    const hungry = threadsWith(SYSTEM_CLOCK, MISBEHAVING).pieces(await opened(source), "md");
    expect(await hungry.next().catch(codeOf)).toBe("export_given_up");
    expect(threads.count).toBe(0);
  });

  it("ends with the server, and so does one that waits for its thread", async () => {
    const { source } = sourceOf(stored());
    const exported = await opened(source);
    threadsWith(new HandClock(), MISBEHAVING);
    const running = Array.from({ length: EXPORT_THREADS_MAX + 1 }, () =>
      threads.pieces(exported, "md").next().catch(codeOf),
    );
    while (threads.count < EXPORT_THREADS_MAX) await turnOfLoop();
    await turnOfLoop();
    expect(threads.count).toBe(EXPORT_THREADS_MAX);
    await threads.end();
    expect(new Set(await Promise.all(running))).toEqual(new Set(["server_stopping"]));
    expect(threads.count).toBe(0);
  });
});
