import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findCommand } from "./spawn.ts";

describe("a command", () => {
  it("is the first file of its name on the PATH that may be run", async () => {
    const { one, two } = folders();
    writeFileSync(join(one, "agent"), "", { mode: 0o600 });
    writeFileSync(join(two, "agent"), "", { mode: 0o700 });
    const path = `/nowhere::${one}:${two}`;
    expect(await findCommand("agent", path)).toEqual({ kind: "found", path: join(two, "agent") });
    expect(await findCommand("agent", one)).toMatchObject({ kind: "forbidden" });
    expect(await findCommand("agent", "/nowhere")).toEqual({ kind: "missing" });
    expect(await findCommand("agent", undefined)).toEqual({ kind: "missing" });
  });

  it("is not a folder, and not found behind a file", async () => {
    const { one, two } = folders();
    mkdirSync(join(one, "agent"));
    writeFileSync(join(two, "file"), "");
    expect(await findCommand("agent", one)).toMatchObject({ reason: "it is no file" });
    expect(await findCommand("agent", join(two, "file"))).toEqual({ kind: "missing" });
  });

  it("is never looked up from where we or the agent happen to be", async () => {
    const { one } = folders();
    writeFileSync(join(one, "agent"), "", { mode: 0o700 });
    const fromHere = relative(process.cwd(), one);
    expect(await findCommand("agent", fromHere)).toEqual({ kind: "missing" });
    expect(await findCommand(join(fromHere, "agent"), one)).toEqual({ kind: "missing" });
  });
});

function folders(): { one: string; two: string } {
  const root = mkdtempSync(join(tmpdir(), "fermata-command-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const both = { one: join(root, "one"), two: join(root, "two") };
  for (const folder of Object.values(both)) mkdirSync(folder);
  return both;
}
