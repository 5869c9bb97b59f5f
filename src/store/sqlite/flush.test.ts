import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { itWhere, TRACER, whyNoTrace } from "../../platform/machine.fixture.ts";
import { thisHolder } from "../holder.ts";
import { HELD } from "../kit/crash/process.ts";
import { readLine } from "../kit/crash/workload.ts";
import {
  type Durability,
  makeDatabaseFile,
  makeFolder,
  TenantDatabase,
  tenantsFolder,
} from "./database.ts";
import { markOpen } from "./openers.ts";

const COMMITS = 3;
const TEST_MS_MAX = 60_000;

async function withPlace(work: (place: string) => Promise<void>) {
  const place = await mkdtemp(join(tmpdir(), "fermata-flush-"));
  try {
    await work(place);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

describe("the writer's connection", () => {
  /** SQLite's own numbers: 2 is FULL, 1 is NORMAL. */
  it.each([
    ["full", 2],
    ["relaxed", 1],
  ] as const)("48: under %s durability has synchronous = %d, and a log", async (durability, is) => {
    await withPlace(async (place) => {
      makeFolder(tenantsFolder(place));
      const db = new TenantDatabase(makeDatabaseFile(place, HELD.tenantId), "write");
      markOpen(db, durability, thisHolder("flush"), () => "never");
      expect(db.get("PRAGMA synchronous")).toEqual({ synchronous: is });
      expect(db.get("PRAGMA journal_mode")).toEqual({ journal_mode: "wal" });
      db.close();
    });
  });
});

/** Has a process commit, and gives what it and the system said to each other, in order. */
async function traced(place: string, durability: Durability): Promise<readonly string[]> {
  const log = join(place, "trace");
  const config = { active: true, path: join(place, "data"), durability };
  const orders = { factory: "sqlite", config, task: "hold", seed: 0, life: "traced", steps: 0 };
  const script = new URL("crash-child.fixture.ts", import.meta.url).pathname;
  const watch = ["-f", "-qq", "-y", "-s", "40", "-e", "trace=write,fsync,fdatasync", "-o", log];
  const node = [process.execPath, script, JSON.stringify(orders)];
  const env = { ...process.env, NODE_OPTIONS: "" };
  const child = spawn(TRACER, [...watch, ...node], { env, stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "close");
  const answers: unknown[] = [];
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      const line = readLine(text);
      if (line.says === "calls") continue;
      if (line.says === "answered") answers.push(line.answer);
      if (line.says === "failed" || answers.length === COMMITS) child.stdin.end();
      else child.stdin.write("\n");
    }
  } finally {
    // The process ends by itself when its input is closed.
    child.stdin.destroy();
    await ended;
  }
  expect(answers).toMatchObject(Array.from({ length: COMMITS }, () => ({ ok: true })));
  return (await readFile(log, "utf8")).split("\n");
}

/** Between each call and its answer, how often the log was on the disk when it was asked to be. */
function flushes(lines: readonly string[]): readonly number[] {
  const counts: number[] = [];
  let open = 0;
  let isWaiting = false;
  for (const line of lines) {
    if (line.includes('{\\"says\\":\\"calls\\"')) {
      isWaiting = true;
      counts.push(0);
    }
    if (line.includes('{\\"says\\":\\"answered\\"')) isWaiting = false;
    const asks = /\bf(?:data)?sync\(\d+<[^>]*-wal>/.test(line);
    if (asks && line.includes("unfinished")) open += 1;
    const isDone = asks ? /= 0$/.test(line) : open > 0 && /f(?:data)?sync resumed.*= 0$/.test(line);
    if (!isDone) continue;
    if (!asks) open -= 1;
    if (isWaiting) counts.push((counts.pop() ?? 0) + 1);
  }
  return counts;
}

describe("48: a commit's flush, as the system sees it", () => {
  const noTrace = whyNoTrace();
  const watched = (title: string, work: (place: string) => Promise<void>) =>
    itWhere(noTrace, title, () => withPlace(work), TEST_MS_MAX);

  watched("comes before every answer under full durability", async (place) => {
    const counts = flushes(await traced(place, "full"));
    expect(counts).toHaveLength(COMMITS);
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });

  watched("does not come with an answer under relaxed durability", async (place) => {
    const counts = flushes(await traced(place, "relaxed"));
    expect(counts).toEqual(Array.from({ length: COMMITS }, () => 0));
  });
});
