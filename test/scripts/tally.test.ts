import { describe, expect, it } from "vitest";
import { tally, type VitestReport } from "../../scripts/tally.ts";

const file = { name: "/a.test.ts", startTime: 0, endTime: 1 };
const passedFile = { ...file, status: "passed", assertionResults: [{ status: "passed" }] };
const failedFile = { ...file, status: "failed", assertionResults: [{ status: "failed" }] };
const brokenFile = { ...file, status: "failed", assertionResults: [] };

function report(passed: number, failed: number, ...files: VitestReport["testResults"]) {
  const counts = { numPassedTests: passed, numFailedTests: failed, numPendingTests: 0 };
  return { ...counts, testResults: files };
}

describe("the tally of a test run", () => {
  it("is vitest's own count when nothing odd happened", () => {
    expect(tally(report(5, 0, passedFile), 0)).toEqual({ passed: 5, failed: 0, skipped: 0 });
    expect(tally(report(4, 1, passedFile, failedFile), 1)).toEqual({
      passed: 4,
      failed: 1,
      skipped: 0,
    });
  });

  it("counts a file that could not be loaded as one failure", () => {
    expect(tally(report(5, 0, passedFile, brokenFile), 1)).toEqual({
      passed: 5,
      failed: 1,
      skipped: 0,
    });
    expect(tally(report(5, 1, failedFile, brokenFile), 1)).toEqual({
      passed: 5,
      failed: 2,
      skipped: 0,
    });
  });

  it("takes a run without tests for failed", () => {
    expect(tally(report(0, 0), 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it("takes a run without a report for failed", () => {
    expect(tally(undefined, 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it("takes an exit code that no test explains for a failure", () => {
    expect(tally(report(5, 0, passedFile), 1)).toEqual({ passed: 5, failed: 1, skipped: 0 });
  });

  it("leaves what runs again to that run, and counts the rest", () => {
    const none = { passed: 0, failed: 0, skipped: 0 };
    expect(tally(report(5, 0, passedFile), 1, true)).toEqual({ ...none, passed: 5 });
    expect(tally(report(0, 0), 1, true)).toEqual(none);
    expect(tally(report(4, 1, passedFile, failedFile), 1, true)).toEqual({
      ...none,
      passed: 4,
      failed: 1,
    });
    expect(tally(undefined, 1, true)).toEqual({ ...none, failed: 1 });
  });

  it("counts what this machine cannot run apart from what has passed", () => {
    const some = { ...report(5, 0, passedFile), numPendingTests: 2 };
    expect(tally(some, 0)).toEqual({ passed: 5, failed: 0, skipped: 2 });
  });
});
