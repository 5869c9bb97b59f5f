import { describe, expect, it } from "vitest";
import { balanced } from "../../scripts/test-order.ts";
import { isProgress, progressLine } from "../../scripts/test-progress.ts";

const secondsOf = (file: string) => file.length;

describe("the parts of a run", () => {
  it("take about as long as each other, each with its slowest file first", () => {
    const files = ["aaaaa", "bbbb", "ccc", "dd", "e"];
    const parts = balanced(files, secondsOf, 2);
    expect(parts).toEqual([
      ["aaaaa", "dd", "e"],
      ["bbbb", "ccc"],
    ]);
  });

  it("have every file once, however many parts there are", () => {
    const files = Array.from({ length: 23 }, (_, index) => "x".repeat(index % 7));
    for (const count of [1, 2, 8]) {
      expect(balanced(files, secondsOf, count).flat().toSorted()).toEqual(files.toSorted());
    }
  });
});

describe("the progress of a run", () => {
  it("is one line, which names failures as soon as there are some", () => {
    const some = { files: 131, done: 37, failed: 0 };
    expect(progressLine("tests 1/4", some, 12.4)).toBe("tests 1/4     37 of 131 files, 12 s");
    const line = progressLine("tests 1/4", { ...some, failed: 2 }, 12.4);
    expect(line).toBe("tests 1/4     37 of 131 files, 2 failed, 12 s");
  });

  it("is told apart from what else a process may send", () => {
    expect(isProgress({ files: 1, done: 0, failed: 0 })).toBe(true);
    expect([null, "files", {}, { files: 1 }].some(isProgress)).toBe(false);
  });
});
