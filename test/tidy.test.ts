import { describe, expect, it } from "vitest";
import { ERRORS } from "../src/core/index.ts";
import { errorTableFaults } from "./house/error-table.ts";
import { projectFiles, readText } from "./house/files.ts";
import { FILE_LINES_MAX, idleTests, lineCount, longFunctions, longLines } from "./house/measure.ts";
import { emptyNames, hasUnfinishedMark, namesItsMachine } from "./house/words.ts";

const PROMISES = Array.from({ length: 11 }, (_, index) => `P${index + 1}`);

const files = projectFiles();
const sources = files.filter((path) => /\.(?:ts|js|css|sql)$/.test(path));
const programs = sources.filter((path) => /\.(?:ts|js)$/.test(path));

/** The findings in each file, with its name in front; a good house has none. */
function findings(
  paths: readonly string[],
  find: (text: string, path: string) => readonly unknown[],
) {
  return paths.flatMap((path) => find(readText(path), path).map((found) => `${path}: ${found}`));
}

describe("every source file", () => {
  it("is seen by these tests", () => {
    expect(programs).toContain("test/tidy.test.ts");
    expect(programs).toContain("src/core/index.ts");
  });

  it("has at most 400 lines", () => {
    expect(sources.filter((path) => lineCount(readText(path)) > FILE_LINES_MAX)).toEqual([]);
  });

  it("has lines of at most 100 columns", () => {
    expect(findings(sources, longLines)).toEqual([]);
  });

  it("has functions of at most 70 lines", () => {
    expect(findings(programs, (text, path) => longFunctions(path, text))).toEqual([]);
  });

  it("has no test that is skipped, focused or only announced", () => {
    expect(findings(programs, (text, path) => idleTests(path, text))).toEqual([]);
  });
});

describe("every file", () => {
  it("has a name that says what is in it", () => {
    expect(files.filter((path) => emptyNames(path).length > 0)).toEqual([]);
  });

  it("is finished, or says in words what is missing", () => {
    const own = files.filter((path) => path !== "package-lock.json");
    expect(own.filter((path) => hasUnfinishedMark(readText(path)))).toEqual([]);
  });

  it("knows nothing of the machine it was written on", () => {
    expect(files.filter((path) => namesItsMachine(readText(path)))).toEqual([]);
  });
});

describe("the documentation", () => {
  it("has each error code with its HTTP status in docs/errors.md, and no others", () => {
    expect(errorTableFaults(ERRORS, readText("docs/errors.md"))).toEqual([]);
  });

  it.each(PROMISES)("makes promise %s in README.md", (promise) => {
    expect(readText("README.md")).toMatch(new RegExp(`\\b${promise}\\b`));
  });
});
