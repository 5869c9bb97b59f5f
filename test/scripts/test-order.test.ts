import { describe, expect, it } from "vitest";
import { slowestFirst } from "../../scripts/test-order.ts";
import { isProgress, progressLine } from "../../scripts/test-progress.ts";

describe("the order of a run", () => {
  it("has the slowest file first", () => {
    const files = ["bb", "aaaaa", "e", "cccc", "dd"];
    const sorted = ["aaaaa", "cccc", "bb", "dd", "e"];
    expect(slowestFirst(files, (file) => file.length)).toEqual(sorted);
  });
});

describe("the progress of a run", () => {
  it("is one line, which names failures as soon as there are some", () => {
    const some = { files: 131, done: 37, failed: 0, killed: [] };
    expect(progressLine("tests", some, 12.4)).toBe("tests         37 of 131 files, 12 s");
    const line = progressLine("tests", { ...some, failed: 2 }, 12.4);
    expect(line).toBe("tests         37 of 131 files, 2 failed, 12 s");
  });

  it("is told apart from what else a process may send", () => {
    expect(isProgress({ files: 1, done: 0, failed: 0 })).toBe(true);
    expect([null, "files", {}, { files: 1 }].some(isProgress)).toBe(false);
  });
});
