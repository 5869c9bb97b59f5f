import { describe, expect, it } from "vitest";
import { ceilingFault } from "./rules.ts";
import { promptMeasures, survey, surveyTable } from "./survey.ts";

const HOUSE = {
  sources: new Map([
    ["core/a.ts", "const a = 1;\n"],
    ["core/b.ts", "const b = 1;\nconst c = 2;\n"],
    ["server/c.ts", 'import "../session/d.ts";\n\n\n'],
    ["session/d.ts", "// d\n"],
  ]),
  programs: new Map([["src/core/a.ts", "// Nobody.\n"]]),
  pages: new Map<string, string>(),
  wordsToAvoid: new Set<string>(),
};

describe("the survey", () => {
  it("has files and lines of all folders, the median and the largest, and each rule", () => {
    const figures = new Map(survey(HOUSE).map(({ name, figure }) => [name, figure]));
    expect(Object.fromEntries(figures)).toMatchObject({
      "src, files": 4,
      "src, lines": 7,
      "src/core, files": 2,
      "src/core, lines": 3,
      "median file, lines": 2,
      "largest file, lines": 3,
      "modules of session that server imports": 1,
      "comments that hide who acts": 1,
    });
  });

  it("counts the files of a prompt with their lines", () => {
    const measures = promptMeasures(HOUSE.sources, ["core/b.ts", "session/d.ts"]);
    expect(measures.map(({ figure }) => figure)).toEqual([2, 3]);
  });

  it("shows before, after and the change", () => {
    const row = (figure: number) => [{ name: "files", figure, found: [] }];
    const shown = (before: number, after: number) => {
      return surveyTable(row(after), row(before)).at(-1)?.split(/ {2,}/);
    };
    expect(shown(80, 60)).toEqual(["files", "80", "60", "-25 %"]);
    expect(shown(0, 2)).toEqual(["files", "0", "2", "new"]);
    expect(surveyTable(row(60), null)).toHaveLength(1);
  });
});

describe("the ceiling of a rule", () => {
  const rule = "duplicate type names";
  const found = (count: number) =>
    ({ rule, found: Array.from({ length: count }, (_, index) => `${index}`) }) as const;

  it("is broken by one finding more, and then says which there are", () => {
    expect(ceilingFault(found(3), 2)).toContain("duplicate type names: 3, at most 2\n  0\n  1");
    expect(ceilingFault(found(2), 2)).toBeNull();
  });

  it("has to be lowered when there are less than half, but not for a few", () => {
    expect(ceilingFault(found(30), 60)).toBeNull();
    expect(ceilingFault(found(30), 61)).toContain("only 30, so lower the ceiling of 61");
    expect(ceilingFault(found(0), 20)).toBeNull();
    expect(ceilingFault(found(0), 21)).toContain("only 0");
  });
});
