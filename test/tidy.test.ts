import { describe, expect, it } from "vitest";
import { ERRORS } from "../src/core/error.ts";
import * as limits from "../src/core/limits.ts";
import { TURN_ERRORS } from "../src/core/turn-error.ts";
import { errorTableFaults, turnErrorTableFaults } from "./house/error-table.ts";
import { projectFiles, ROOT, readText, textsUnder } from "./house/files.ts";
import { isTest } from "./house/layers.ts";
import {
  FILE_LINES_MAX,
  hastyWaits,
  idleTests,
  lineCount,
  longFunctions,
  longLines,
} from "./house/measure.ts";
import { CEILINGS, ceilingFault, findingsOf, houseAt } from "./house/rules.ts";
import { unusedNames } from "./house/uses.ts";
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

  it("waits by `expect.poll`, which a slow machine does not exhaust", () => {
    expect(findings(programs, (text, path) => hastyWaits(path, text))).toEqual([]);
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

describe("the house", () => {
  it.each(findingsOf(houseAt(ROOT)))("keeps the rule: $rule", (finding) => {
    expect(ceilingFault(finding, CEILINGS[finding.rule])).toBeNull();
  });
});

describe("the core's lists", () => {
  const unused = (names: object, definedIn: string) => {
    const others = [...textsUnder("src")].filter(([path]) => path !== definedIn && !isTest(path));
    return unusedNames(Object.keys(names), new Map(others));
  };

  it("have no error code that nobody uses", () => {
    expect(unused(ERRORS, "core/error.ts")).toEqual([]);
  });

  it("have no code of turn_error that nobody uses", () => {
    expect(unused(TURN_ERRORS, "core/error.ts")).toEqual([]);
  });

  it("P10: have no limit that nobody keeps", () => {
    expect(unused(limits, "core/limits.ts")).toEqual([]);
  });
});

describe("the documentation", () => {
  it("has each error code with its facts in docs/errors.md, and no others", () => {
    expect(errorTableFaults(ERRORS, readText("docs/errors.md"))).toEqual([]);
  });

  it("has each code of turn_error in docs/errors.md, and no others", () => {
    const codes = Object.keys(TURN_ERRORS);
    expect(turnErrorTableFaults(codes, readText("docs/errors.md"))).toEqual([]);
  });

  it.each(PROMISES)("makes promise %s in README.md", (promise) => {
    expect(readText("README.md")).toMatch(new RegExp(`\\b${promise}\\b`));
  });
});
