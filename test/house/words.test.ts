import { describe, expect, it } from "vitest";
import { emptyNames, hasUnfinishedMark, namesItsMachine } from "./words.ts";

describe("the search for names that say nothing", () => {
  it.each(["src/utils.ts", "src/helpers/a.ts", "src/store/types.ts", "src/session-manager.ts"])(
    "finds %s",
    (path) => {
      expect(emptyNames(path)).toHaveLength(1);
    },
  );

  it("accepts names that merely contain such a word", () => {
    expect(emptyNames("src/core/prototypes.ts")).toEqual([]);
    expect(emptyNames("src/utility-bill/uncommon.ts")).toEqual([]);
  });
});

describe("the search for unfinished marks", () => {
  it.each([["TO", "DO"].join(""), ["FIX", "ME"].join("")])("finds %s", (mark) => {
    expect(hasUnfinishedMark(`// ${mark}: mend this`)).toBe(true);
  });

  it("accepts ordinary words", () => {
    expect(hasUnfinishedMark("what is there to do? fix me a drink")).toBe(false);
  });
});

describe("the search for traces of a machine", () => {
  it.each([
    ["a folder", ["", "work", "main/a.ts"].join("/")],
    ["a folder in quotes", `cwd: "${["", "farm", "x"].join("/")}"`],
    ["a registry", `see https://${["registry", "example.com"].join(".")}/a.tgz`],
    ["a resolved package", `"resolved": ${'"https'}://example.com/a.tgz"`],
    ["a registry setting", ["registry", "http://localhost"].join("=")],
  ])("finds %s", (_what, text) => {
    expect(namesItsMachine(text)).toBe(true);
  });

  it("accepts folders of those names elsewhere, and the word registry", () => {
    expect(namesItsMachine("src/work/a.ts and ~/work/app and ./farm/b")).toBe(false);
    expect(namesItsMachine("the registry (registry.ts) of live sessions")).toBe(false);
  });
});
