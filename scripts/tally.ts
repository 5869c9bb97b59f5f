/** What we read of the report that vitest's JSON reporter writes. */
export type VitestReport = {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  /** Skipped by themselves, for want of something on this machine. */
  readonly numPendingTests: number;
  readonly testResults: readonly {
    /** The file's path, and when its tests began and ended. */
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
};

export type Tally = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
};

/**
 * Counts a run so that nothing broken looks whole: a file that could not even be loaded is one
 * failure, and so is a run without any test, without a report, or with an unexplained exit code.
 * Where files run again, that explains the code, and they are counted then.
 */
export function tally(
  report: VitestReport | undefined,
  exitCode: number,
  runsAgain = false,
): Tally {
  if (!report) return { passed: 0, failed: 1, skipped: 0 };
  const brokenFiles = report.testResults.filter(({ status, assertionResults }) => {
    return status === "failed" && !assertionResults.some((test) => test.status === "failed");
  });
  const passed = report.numPassedTests;
  const failed = report.numFailedTests + brokenFiles.length;
  const isSilentFailure = failed === 0 && !runsAgain && (passed === 0 || exitCode !== 0);
  return { passed, failed: isSilentFailure ? 1 : failed, skipped: report.numPendingTests };
}
