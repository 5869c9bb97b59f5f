import { execFile } from "node:child_process";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import {
  EXPORT_CHUNK_CHARS,
  EXPORT_PACE_MS,
  EXPORT_PIECE_MS_MAX,
  EXPORT_PROCESSES_MAX,
  EXPORT_UNREAD_MS_MAX,
} from "../../core/limits.ts";
import { fail, ok } from "../../core/result.ts";
import { Life } from "../../core/session/life.fixture.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { keyOf } from "../../store/sample.fixture.ts";
import { EXPORT_FORMAT_NAMES, type ExportFormat, openExport } from "./export.ts";
import type { ExportReader } from "./permits.ts";
import { ExportProcesses } from "./process.ts";
import { exportSession, type Stored, sourceOf, storedLife, textOf } from "./source.fixture.ts";
import type { Exported, ExportSource } from "./source.ts";

const MISBEHAVING = {
  script: new URL("./misbehaving-writer.fixture.ts", import.meta.url),
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

/** The one person of a server without tokens. */
function reader(signal = new AbortController().signal): ExportReader {
  return { tenantId: keyOf("s").tenantId, userId: null, signal };
}

async function piecesOf(exported: Exported, format: ExportFormat, by = reader()) {
  const file = await processes.open(exported, format, by);
  return file.ok ? ok(file.value.pieces) : file;
}

/** Why an export is not written. */
async function codeOf(...job: Parameters<typeof piecesOf>): Promise<string> {
  const pieces = await piecesOf(...job);
  return pieces.ok ? "written" : pieces.refusal.code;
}

let processes = new ExportProcesses(SYSTEM_CLOCK);

function processesWith(...options: ConstructorParameters<typeof ExportProcesses>): ExportProcesses {
  processes = new ExportProcesses(...options);
  return processes;
}

afterEach(() => processes.end());

describe("an export in a process of its own", () => {
  it.each(EXPORT_FORMAT_NAMES)(
    "is the same file as one that is written here: %s",
    async (format) => {
      const { source } = sourceOf(stored(), 1);
      processesWith(SYSTEM_CLOCK);
      const text = await textOf(await piecesOf(await opened(source), format));
      expect(text).toBe(await textOf(await exportSession(source, format)));
      expect(text).toContain("one");
      expect(processes.counts.processes).toBe(0);
    },
  );

  it("P10: leaves in pieces of a bounded size, with no character in two of them", async () => {
    const life = lifeThatSays(`x${"\u{1f600}".repeat(EXPORT_CHUNK_CHARS)}`);
    const { source } = sourceOf(storedLife(life));
    const pieces: string[] = [];
    processesWith(SYSTEM_CLOCK);
    const all = await piecesOf(await opened(source), "jsonl");
    for await (const piece of all.ok ? all.value : expect.fail()) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(2);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(EXPORT_CHUNK_CHARS);
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    expect(pieces.join("")).toBe(await textOf(await exportSession(source, "jsonl")));
  });

  it("is refused if it fails before its first piece, and else breaks off", async () => {
    const { source } = sourceOf(stored());
    const failing = { ...source, turns: async () => fail("store_unavailable", { reason: "x" }) };
    processesWith(SYSTEM_CLOCK);
    expect(await codeOf(await opened(failing), "md")).toBe("store_unavailable");
    const events = async () => fail("store_unavailable", { reason: "x" });
    const long = sourceOf(stored("a".repeat(3 * EXPORT_CHUNK_CHARS), { lastEventId: 99 })).source;
    const broken = await piecesOf(await opened({ ...long, events }), "jsonl");
    await expect(textOf(broken)).rejects.toThrow("store_unavailable");
    expect(processes.counts.processes).toBe(0);
  });
});

describe("P10: a reader of an export who leaves", () => {
  const long = () => sourceOf(stored("a".repeat(3 * EXPORT_CHUNK_CHARS))).source;

  it.each(["read", "left unread"])("ends its process, if its pieces are %s", async (how) => {
    processesWith(SYSTEM_CLOCK);
    const file = await processes.open(await opened(long()), "jsonl", reader());
    const { pieces, end } = file.ok ? file.value : expect.fail();
    expect(processes.counts.processes).toBe(1);
    const iterator = pieces[Symbol.asyncIterator]();
    if (how === "read") await iterator.next();
    if (how === "read") await iterator.return?.();
    else await end();
    expect(processes.counts.processes).toBe(0);
  });

  it("ends its process in the middle of a piece", async () => {
    processesWith(new ManualClock(), MISBEHAVING);
    const leaving = new AbortController();
    const code = codeOf(await opened(long()), "md", reader(leaving.signal));
    while (processes.counts.processes === 0) await turnOfLoop();
    leaving.abort();
    expect(await code).toBe("export_given_up");
    expect(processes.counts.processes).toBe(0);
  });

  it("is taken to have left if the next piece is not read for too long", async () => {
    const clock = new ManualClock();
    processesWith(clock);
    const file = await processes.open(await opened(long()), "jsonl", reader());
    expect(file.ok).toBe(true);
    clock.advance(EXPORT_UNREAD_MS_MAX - 1);
    for (let turn = 0; turn < 100; turn += 1) await turnOfLoop();
    expect(processes.counts.processes).toBe(1);
    clock.advance(1);
    while (processes.counts.processes > 0) await turnOfLoop();
    expect(clock.runningCount).toBe(0);
  });

  it("or is slow while another waits, loses its process; one that reads on keeps it", async () => {
    const clock = new ManualClock();
    processesWith(clock);
    const exported = await opened(long());
    const open = async () => {
      const file = await processes.open(exported, "jsonl", reader());
      return file.ok ? file.value.pieces[Symbol.asyncIterator]() : expect.fail();
    };
    const files = await Promise.all(Array.from({ length: EXPORT_PROCESSES_MAX }, open));
    const [slow, ...others] = files;
    const waiting = open();
    while (processes.counts.waiting === 0) await turnOfLoop();
    // The others read a piece just before it is noticed how long the one has not.
    clock.advance(EXPORT_PACE_MS - 1);
    for (const one of others) await one.next();
    clock.advance(1);
    expect((await (await waiting).next()).done).toBe(false);
    expect(processes.counts).toEqual({ processes: EXPORT_PROCESSES_MAX, waiting: 0 });
    // What it was given before is all that it gets.
    await slow?.next();
    await expect(slow?.next()).rejects.toThrow("export_given_up");
    for (const one of others) expect((await one.next()).done).toBe(false);
  });
});

describe("P10: an export that does not come to an end", () => {
  it("holds no other work, and is given up at its deadline", async () => {
    const clock = new ManualClock();
    const { source } = sourceOf(stored());
    processesWith(clock, MISBEHAVING);
    const outcome = codeOf(await opened(source), "md");
    while (clock.runningCount === 0) await turnOfLoop();
    // The process spins meanwhile; this one goes round as if it were not there.
    for (let turn = 0; turn < 1_000; turn += 1) await turnOfLoop();
    expect([clock.runningCount, clock.running(EXPORT_PIECE_MS_MAX)]).toEqual([1, 1]);
    clock.advance(EXPORT_PIECE_MS_MAX);
    expect(await outcome).toBe("export_given_up");
    expect(processes.counts.processes).toBe(0);
  });

  it("is given up when it has filled its memory, and the server lives on", async () => {
    const { source } = sourceOf(stored("", { displayName: "hungry" }));
    processesWith(SYSTEM_CLOCK, MISBEHAVING);
    expect(await codeOf(await opened(source), "md")).toBe("export_given_up");
    expect(processes.counts.processes).toBe(0);
  });

  it("ends with the server, and so does one that waits for its process", async () => {
    const { source } = sourceOf(stored());
    const exported = await opened(source);
    processesWith(new ManualClock(), MISBEHAVING);
    const running = Array.from({ length: EXPORT_PROCESSES_MAX + 1 }, () => codeOf(exported, "md"));
    while (processes.counts.processes < EXPORT_PROCESSES_MAX) await turnOfLoop();
    await turnOfLoop();
    expect(processes.counts).toEqual({ processes: EXPORT_PROCESSES_MAX, waiting: 1 });
    await processes.end();
    expect(new Set(await Promise.all(running))).toEqual(new Set(["server_stopping"]));
    expect(processes.counts).toEqual({ processes: 0, waiting: 0 });
  });
});

describe("an export that has its permit when the server stops", () => {
  it("starts no process", async () => {
    const exported = await opened(sourceOf(stored()).source);
    processesWith(new ManualClock(), MISBEHAVING);
    const code = codeOf(exported, "md");
    await processes.end();
    const { counts } = processes;
    expect([await code, counts.processes]).toEqual(["server_stopping", 0]);
  });
});

describe("P10: an export whose process cannot start", () => {
  it("is given up, signals no process, and the server lives on", async () => {
    const script = fileURLToPath(new URL("./no-descriptors.fixture.ts", import.meta.url));
    const command = `ulimit -n 64 && exec "$0" "$1"`;
    const args = ["-c", command, process.execPath, script];
    const { stdout } = await promisify(execFile)("bash", args);
    expect(JSON.parse(stdout)).toEqual({
      withoutDescriptors: ["export_given_up"],
      withoutProgram: ["export_given_up"],
      foreignKills: 0,
      afterwards: "written",
      counts: { processes: 0, waiting: 0 },
    });
  });
});
