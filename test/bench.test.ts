import { describe, expect, it } from "vitest";
import { median, type Outcome, rateText, runTrial, type Trial, tableOf } from "../bench/trial.ts";
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
    group: "sample",
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

describe("npm run bench", () => {
  it("names the groups there are when asked for one that is not", async () => {
    const { exitCode, stdout, stderr } = await runNode(["bench/main.ts", "nonsense"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^bench: there is no group "nonsense"; choose from: core\b.*\n$/);
  });
});
