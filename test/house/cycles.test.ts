import { describe, expect, it } from "vitest";
import { importCycles } from "./cycles.ts";

function cycles(sources: Record<string, string>): readonly string[] {
  return importCycles(new Map(Object.entries(sources)));
}

describe("the cycle checker", () => {
  it("finds two files that import each other", () => {
    const sources = { "a.ts": 'import "./b.ts";', "b.ts": 'import "./a.ts";' };
    expect(cycles(sources)).toEqual(["a.ts -> b.ts -> a.ts"]);
  });

  it("finds a longer way round, and names only the files on it", () => {
    const sources = {
      "main.ts": 'import "./core/a.ts";',
      "core/a.ts": 'export * from "./b/c.ts";',
      "core/b/c.ts": 'const d = import("../d.ts");',
      "core/d.ts": 'import { a } from "./a.ts";',
    };
    expect(cycles(sources)).toEqual(["core/a.ts -> core/b/c.ts -> core/d.ts -> core/a.ts"]);
  });

  it("finds a file that imports itself", () => {
    expect(cycles({ "a.ts": 'import { a } from "./a.ts";' })).toEqual(["a.ts -> a.ts"]);
  });

  it("accepts two ways to the same file", () => {
    const sources = {
      "a.ts": 'import "./b.ts"; import "./c.ts";',
      "b.ts": 'import "./c.ts";',
      "c.ts": "",
    };
    expect(cycles(sources)).toEqual([]);
  });

  it("accepts a way back that exists only in types", () => {
    const sources = { "a.ts": 'import "./b.ts";', "b.ts": 'import type { A } from "./a.ts";' };
    expect(cycles(sources)).toEqual([]);
  });
});
