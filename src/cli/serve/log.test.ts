import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const TALKER = fileURLToPath(new URL("log.fixture.ts", import.meta.url));

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly reason: string;
}

/** What a log of this level has of all that a server can say, by how grave it is. */
function said(level: string): ReadonlyMap<string, readonly string[]> {
  const { stderr, status } = spawnSync(process.execPath, [TALKER, level], { encoding: "utf8" });
  expect(status).toBe(0);
  const lines = stderr.split("\n").filter((line) => line !== "");
  const told = lines.map((line): Line => JSON.parse(line));
  for (const { reason } of told) expect(reason).toBe("it has [redacted] in it");
  return new Map(
    Object.entries(Object.groupBy(told, (line) => line.level)).map(([name, all = []]) => [
      name,
      all.map(({ msg }) => msg),
    ]),
  );
}

describe("the log of a server", () => {
  it("P11: has at each level what is at least as grave, one line each, without its secrets", () => {
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

  it("P10: holds so many lines for a slow reader, and tells it how many are lost", async () => {
    const server = spawn(process.execPath, [TALKER, "error", "5000"]);
    await once(server.stdout, "data");
    const lines = (await text(server.stderr)).trimEnd().split("\n");
    const told = lines.map((line): { msg: string; count?: number } => JSON.parse(line));
    const [about, ...more] = told.filter(({ msg }) => msg === "log lines lost");
    expect(more).toEqual([]);
    expect(told.indexOf(about ?? { msg: "" })).toBe(told.length - 2);
    expect(told.length - 1 + (about?.count ?? 0)).toBe(5_001);
  });
});
