import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const TALKER = fileURLToPath(new URL("log.fixture.ts", import.meta.url));

/** What a log of this level has of all that a server can say, by how grave it is. */
function said(level: string): ReadonlyMap<string, readonly string[]> {
  const { stderr, status } = spawnSync(process.execPath, [TALKER, level], { encoding: "utf8" });
  expect(status).toBe(0);
  const lines = stderr.split("\n").filter((line) => line !== "");
  const told = lines.map((line): { level: string; msg: string } => JSON.parse(line));
  return new Map(
    Object.entries(Object.groupBy(told, (line) => line.level)).map(([name, all = []]) => [
      name,
      all.map(({ msg }) => msg),
    ]),
  );
}

describe("the log of a server", () => {
  it("has at each level what is at least as grave", () => {
    expect([...said("debug").keys()].sort()).toEqual(["debug", "error", "info", "warn"]);
    expect([...said("info").keys()].sort()).toEqual(["error", "info", "warn"]);
    expect([...said("warn").keys()].sort()).toEqual(["error", "warn"]);
    expect([...said("silent").keys()]).toEqual([]);
  });

  it("has what went wrong even where only errors are wanted", () => {
    const errors = said("error");
    expect([...errors.keys()]).toEqual(["error"]);
    expect(errors.get("error")).toEqual(
      expect.arrayContaining(["request failed", "store failed", "recovery failed"]),
    );
    expect(errors.get("error")).not.toContain("request");
  });
});
