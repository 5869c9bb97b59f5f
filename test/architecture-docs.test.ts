import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./house/files.ts";
import { promptStops } from "./house/prompt-stops.ts";

const TEXT = readFileSync(join(ROOT, "docs/ARCHITECTURE.md"), "utf8");

describe("docs/ARCHITECTURE.md", () => {
  it("shows one prompt on one screen: its stops are in the code, in their order", () => {
    const stops = promptStops(TEXT);
    expect(stops.map(({ number }) => number)).toEqual(stops.map((_, index) => index + 1));
    expect(stops.length).toBeGreaterThan(10);
    expect(stops.length).toBeLessThan(30);
    const missing = stops.filter(({ path, name }) => {
      const file = join(ROOT, "src", path);
      return !existsSync(file) || !declares(readFileSync(file, "utf8"), name);
    });
    expect(missing).toEqual([]);
  });

  it.each([
    ["Inside the core:", "src/core"],
    ["Inside the session layer:", "src/session"],
    ["Inside the server:", "src/server"],
  ])("names only paths that there are: %s", (heading, folder) => {
    const paths = pathsBelow(heading);
    expect(paths.length).toBeGreaterThan(5);
    expect(paths.filter((path) => !existsSync(join(ROOT, folder, path)))).toEqual([]);
  });
});

/** The paths in the first column of the table below a heading. */
function pathsBelow(heading: string): readonly string[] {
  const after = TEXT.slice(TEXT.indexOf(heading) + heading.length).trimStart();
  const rows = after.slice(0, after.indexOf("\n\n")).split("\n").slice(2);
  return rows.flatMap((row) => {
    const cell = row.split("|")[1] ?? "";
    return [...cell.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path);
  });
}

function declares(text: string, name: string): boolean {
  const start = `(?:export )?(?:async )?(?:static )?(?:function\\*? )?(?:async )?`;
  return new RegExp(`^\\s*${start}${name.replace("#", "#")}[<(]`, "m").test(text);
}
