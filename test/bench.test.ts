import { describe, expect, it } from "vitest";
import { GROUPS } from "../bench/groups.ts";
import { MEMORY_TINY, memories, memoryTable, slope } from "../bench/memory.ts";
import { OWNER_NAMES } from "../bench/memory-owners.ts";
import { PATH_TINY, paths, pathTable } from "../bench/path.ts";
import { RACE_TINY, races, raceTable } from "../bench/race.ts";
import { STALL_TINY, type Stall, stalls, stallTable } from "../bench/stall.ts";
import { median, type Outcome, rateText, runTrial, type Trial, tableOf } from "../bench/trial.ts";
import { WAITS_TINY, waits, waitsTable } from "../bench/waits.ts";
import { wireTrials } from "../bench/wire.ts";
import { TINY } from "../bench/wire-scale.ts";
import { runNode } from "./house/run.ts";

/** A trial in a world where time passes only by work: `costMs` for each call. */
function trialWith(floorCostMs: number, subjectCostMs: number) {
  let clockMs = 0;
  const contender = (name: string, costMs: number) => ({
    name,
    run() {
      clockMs += costMs;
      return 100;
    },
  });
  const trial: Trial = {
    name: "a sample",
    floor: contender("bare", floorCostMs),
    subject: contender("ours", subjectCostMs),
    figures: () => ({ flatness: "1.0" }),
  };
  return { trial, nowMs: () => clockMs };
}

describe("a trial", () => {
  it("gives operations per second, and the subject's rate as a share of the floor's", async () => {
    const { trial, nowMs } = trialWith(1, 4);
    expect(await runTrial(trial, nowMs)).toEqual({
      trial,
      floorPerSecond: 100_000,
      subjectPerSecond: 25_000,
      ratio: 0.25,
      figures: { flatness: "1.0" },
    });
  });

  it("waits for work that takes its time", async () => {
    const { trial, nowMs } = trialWith(1, 2);
    const { subject } = trial;
    const slow: Trial = { ...trial, subject: { ...subject, run: async () => subject.run() } };
    expect((await runTrial(slow, nowMs)).ratio).toBe(0.5);
  });

  it("takes the median of its rounds", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 2, 9])).toBe(3);
  });
});

describe("the table", () => {
  it("is aligned, with further figures below the row they belong to", () => {
    const { trial } = trialWith(1, 1);
    const rates = { floorPerSecond: 2_000_000, subjectPerSecond: 500_000, ratio: 0.25 };
    const plain: Outcome = { trial: { ...trial, budget: "at least 0.2" }, ...rates, figures: {} };
    const detailed: Outcome = {
      trial: { ...trial, name: "another" },
      ...rates,
      figures: { n: "7" },
    };
    expect(tableOf([plain, detailed]).split("\n")).toEqual([
      "trial     subject      floor         ratio  budget",
      "a sample  500K/s ours  2.00M/s bare  0.25   at least 0.2",
      "another   500K/s ours  2.00M/s bare  0.25",
      "  n: 7",
      "",
    ]);
  });

  it("writes rates with three digits", () => {
    expect(rateText(12)).toBe("12.0/s");
    expect(rateText(999.9)).toBe("1.00K/s");
    expect(rateText(56_789)).toBe("56.8K/s");
    expect(rateText(1_500_000)).toBe("1.50M/s");
  });
});

describe("the trials of the wire", () => {
  /** More than the slowest takes, which starts servers, on a machine with much else to do. */
  const PATIENCE_MS = 60_000;

  it.each(wireTrials(TINY))(
    "$name: floor and subject do their work",
    { timeout: PATIENCE_MS },
    async (trial) => {
      try {
        await trial.prepare?.();
        const done = [await trial.floor.run(), await trial.subject.run()];
        expect(done[0]).toBeGreaterThan(0);
        expect(done[1]).toBe(done[0]);
        expect(JSON.stringify(trial.figures?.() ?? {})).not.toMatch(/NaN|null/);
      } finally {
        await trial.clear?.();
      }
    },
  );
});

describe("the attacks of the stall bench", () => {
  const row: Stall = {
    ...{ attack: "many keys", act: "create", bytes: 2_048, status: 200 },
    ...{ ms: 70, longestDelayMs: 51, healthMs: 60 },
  };

  it("are a table with a goal by the size of the request", () => {
    const large = { ...row, bytes: 2 * 1_024 * 1_024 };
    expect(stallTable([row, large]).split("\n")).toEqual([
      "attack     act     request   answer  took   /health  longest delay  goal",
      "many keys  create  2 KiB     200     70 ms  60 ms    51 ms          50 ms  missed",
      "many keys  create  2048 KiB  200     70 ms  60 ms    51 ms          200 ms",
      "1 of 2 missed their goal",
      "",
    ]);
  });

  it("P10: run against a real server, which answers each of them", {
    timeout: 60_000,
  }, async () => {
    const rows = await stalls(STALL_TINY);
    const exported = rows.filter(({ act }) => act.startsWith("export"));
    expect(exported.length).toBeGreaterThan(30);
    expect(new Set(exported.map(({ status }) => status))).toEqual(new Set([200]));
    expect(rows.filter(({ status }) => status === 0)).toEqual([]);
    expect(rows.every(({ longestDelayMs }) => longestDelayMs > 0)).toBe(true);
    expect(rows.every(({ healthMs }) => healthMs > 0)).toBe(true);
  });
});

describe("npm run bench", () => {
  it("names the groups there are when asked for one that is not", async () => {
    const { exitCode, stdout, stderr } = await runNode(["bench/main.ts", "nonsense"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^bench: there is no group "nonsense"; choose from: core\b.*\n$/);
  });

  it("lists its groups with --help, and how long each takes", async () => {
    const { exitCode, stdout } = await runNode(["bench/main.ts", "--help"]);
    const listed = GROUPS.map(({ name, takes }) => `  ${name.padEnd(9)} ${takes}`);
    expect(exitCode).toBe(0);
    expect(listed.filter((row) => !stdout.includes(row))).toEqual([]);
  });

  it("refuses options that no group takes", async () => {
    const { exitCode, stderr } = await runNode(["bench/main.ts", "core", "--fast"]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^bench: options such as --fast need one group/);
  });
});

describe("the race of a verdict against its 202", () => {
  it("P3: is run with a busy client of the SDK, whose prompts all come back", async () => {
    const seen = await races(RACE_TINY);
    expect(seen).toMatchObject({ outcomes: [{ way: "direct", sent: 20, hung: 0, verdicts: 20 }] });
    expect(raceTable({ ...seen, absent: ["nginx"] })).toMatch(/0 hung.*\n.*nginx is not installed/);
  });
});

describe("the cost of waiting", () => {
  it("is measured with a real server, in which all waits get their answer", async () => {
    const report = await waits(WAITS_TINY);
    for (const figure of [report.cpuMsEachWait, report.cpuMsEachList, report.kibEachWait]) {
      expect(figure).toEqual(expect.any(Number));
    }
    expect(waitsTable(report)).toMatch(/5 requests that wait +[\d.]+ % of a core\n/);
  });
});

describe("the way of a chunk", () => {
  it("is a table of CPU time by stop, of a real server with a real agent and readers", {
    timeout: 60_000,
  }, async () => {
    const columns = await paths(PATH_TINY);
    expect(columns.map(({ readers }) => readers)).toEqual([1, 2]);
    for (const { usByStop, usOfThread, usOfProcess, figures } of columns) {
      expect([...usOfThread.keys()].sort()).toEqual(["main", "store"]);
      expect(usByStop.size).toBeGreaterThan(5);
      const stops = [...usByStop.values()].reduce((sum, us) => sum + us, 0);
      const threads = [...usOfThread.values()].reduce((sum, us) => sum + us, 0);
      expect(stops).toBeCloseTo(threads, 3);
      expect(usOfProcess).toBeGreaterThan(0.9 * threads);
      expect(JSON.stringify(figures)).not.toMatch(/NaN|null/);
    }
    expect(pathTable(columns)).toMatch(/µs of CPU per chunk, to +1 stream +2 streams\n/);
  });
});

describe("the memory of a live session", () => {
  it("is a table by owner, of a real server", {
    timeout: 60_000,
  }, async () => {
    const columns = await memories(MEMORY_TINY);
    expect(columns.map(({ turns }) => turns)).toEqual([1]);
    for (const { byOwner } of columns) {
      // Each owner is found by the names of its classes, which must be those of the sources.
      expect([...byOwner.keys()]).toEqual(expect.arrayContaining([...OWNER_NAMES]));
      const sum = OWNER_NAMES.reduce((bytes, owner) => bytes + (byOwner.get(owner) ?? 0), 0);
      expect(sum).toBeGreaterThan(1_000);
    }
    expect(memoryTable(columns)).toMatch(/KiB for each live session, with its agent +1 turn\n/);
  });

  it("is the slope of the line that is nearest to what was weighed", () => {
    expect(
      slope([
        [10, 107],
        [20, 117],
        [30, 127],
      ]),
    ).toBeCloseTo(1);
    expect(
      slope([
        [0, 0],
        [1, 3],
        [2, 3],
        [3, 6],
      ]),
    ).toBeCloseTo(1.8);
  });
});
