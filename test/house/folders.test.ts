import { describe, expect, it } from "vitest";
import { crowdedFolders, folderCycles, modulesImported, smallFilesOfOne } from "./folders.ts";

function sources(texts: Record<string, string>) {
  return new Map(Object.entries(texts));
}

describe("the search for crowded folders", () => {
  const files = Array.from({ length: 25 }, (_, index) => [`core/${index}.ts`, ""] as const);

  it("accepts 25 files, whatever is in the folders below", () => {
    expect(crowdedFolders(new Map([...files, ["core/session/a.ts", ""]]))).toEqual([]);
  });

  it("finds a folder with more", () => {
    const more = new Map([...files, ["core/a.ts", ""]]);
    expect(crowdedFolders(more)).toEqual(["src/core: 26 files"]);
  });
});

describe("the search for folder cycles", () => {
  it("finds folders and files beside them that need each other, though no files do", () => {
    const house = sources({
      "session/actor/a.ts": 'import "../life/b.ts";',
      "session/life/c.ts": 'import "../live.ts";',
      "session/life/b.ts": "",
      "session/live.ts": 'import "./actor/d.ts"; import "./view/e.ts";',
      "session/actor/d.ts": "",
      "session/view/e.ts": "",
    });
    expect(folderCycles(house, "session")).toEqual(["actor, life, live.ts"]);
  });

  it("finds two cycles that have nothing to do with each other", () => {
    const house = sources({
      "session/a/one.ts": 'import "../b/one.ts";',
      "session/b/two.ts": 'import "../a/two.ts";',
      "session/c/one.ts": 'import "../d/one.ts";',
      "session/d/two.ts": 'import "../c/two.ts";',
    });
    expect(folderCycles(house, "session")).toEqual(["a, b", "c, d"]);
  });

  it("accepts a way back in types, below one folder, or through another layer", () => {
    const house = sources({
      "session/a/one.ts": 'import "../b/one.ts"; import "./deep/one.ts";',
      "session/a/deep/two.ts": 'import "../two.ts";',
      "session/b/two.ts": 'import type { A } from "../a/two.ts"; import "../../core/a/one.ts";',
    });
    expect(folderCycles(house, "session")).toEqual([]);
    expect(folderCycles(house, "session", "types too")).toEqual(["a, b"]);
  });
});

describe("the count of imported modules", () => {
  it("counts each once, types included, and no others", () => {
    const house = sources({
      "server/a.ts": 'import type { A } from "../session/door.ts"; import "../core/a.ts";',
      "server/route/b.ts": 'import { B } from "../../session/door.ts"; import "../a.ts";',
      "cli/c.ts": 'import "../session/live.ts";',
    });
    expect(modulesImported(house, "server", "session")).toEqual(["session/door.ts"]);
  });
});

describe("the search for small files of one importer", () => {
  const long = "\n".repeat(60);

  it("finds a small file that one other imports", () => {
    const house = sources({
      "a/a.ts": 'import "./b.ts"; import "./c.ts";',
      "a/b.ts": "",
      "a/c.ts": long,
    });
    expect(smallFilesOfOne(house)).toEqual(["a/b.ts, of a/a.ts"]);
  });

  it("accepts what two import, what none imports, and what an index or a list has", () => {
    const parts = Array.from({ length: 30 }, (_, index) => `import "./part/${index}.ts";`);
    const house = sources({
      "a/a.ts": 'import "./b.ts"; import "./index.ts";',
      "a/b.ts": "",
      "a/c.ts": 'import "./b.ts"; import "./index.ts";',
      "a/index.ts": 'export * from "./d.ts";',
      "a/d.ts": "",
      "a/list.ts": parts.join("\n"),
      "a/part/1.ts": "",
    });
    expect(smallFilesOfOne(house)).toEqual([]);
  });
});
