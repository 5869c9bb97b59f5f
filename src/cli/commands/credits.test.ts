import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { value } from "../../store/kit/expect.ts";
import { HOST } from "../../store/sample.fixture.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import { credits } from "./credits.ts";

/** A data directory with a store that is open all the while, as a server has it. */
async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "fermata-credits-"));
  const store = sqliteStore();
  onTestFinished(async () => {
    await store.dispose();
    await rm(folder, { recursive: true, force: true });
  });
  await value(store.init(HOST, { active: true, path: join(folder, "sessions") }));
  await value(store.activate());
  return folder;
}

/** What a person sees who gives this command. */
async function run(folder: string, ...args: readonly string[]) {
  let said = "";
  const hear = (text: unknown) => {
    said += String(text);
    return true;
  };
  const out = vi.spyOn(process.stdout, "write").mockImplementation(hear);
  const error = vi.spyOn(console, "error").mockImplementation(hear);
  try {
    const exitCode = await credits([...args, "--data", folder]);
    return { exitCode, said };
  } finally {
    out.mockRestore();
    error.mockRestore();
  }
}

describe("fermata credits", () => {
  it("grants once by an id, and shows the balance beside a server at work", async () => {
    const folder = await dataFolder();
    const grant = ["grant", "500", "--id", "g", "--note", "May", "--tenant", "acme"];
    for (const _ of [1, 2]) expect((await run(folder, ...grant)).exitCode).toBe(0);
    const { said } = await run(folder, "balance", "--tenant", "acme");
    expect(JSON.parse(said)).toMatchObject({ limit: "granted", availableMicro: 500 });
    const statement = await run(folder, "statement", "--tenant", "acme");
    expect(statement.said.split("\r\n")).toHaveLength(3);
    expect(statement.said).toContain(",grant,g,0,500,");
  });

  it("lifts a limit, and sets it again", async () => {
    const folder = await dataFolder();
    const lifted = await run(folder, "limit", "unlimited", "--tenant", "acme");
    expect(JSON.parse(lifted.said)).toMatchObject({ limit: "unlimited", availableMicro: null });
    const set = await run(folder, "limit", "granted", "--tenant", "acme");
    expect(JSON.parse(set.said)).toMatchObject({ limit: "granted", availableMicro: 0 });
  });

  it("counts usage", async () => {
    const { said } = await run(await dataFolder(), "usage", "--by", "model");
    expect(JSON.parse(said)).toEqual({ by: "model", groups: [] });
  });

  it.each([
    [],
    ["grant"],
    ["grant", "-5"],
    ["grant", "1.5"],
    ["limit", "much"],
    ["usage", "--by", "moon"],
    ["balance", "now"],
    ["balance", "--tenant", "a/b"],
    ["balance", "--what"],
  ])("does not understand %s %s %s", async (...args) => {
    expect((await run("/nowhere", ...args)).exitCode).toBe(2);
  });

  it.each([
    ["/nowhere", "there is no"],
    [null, "whole micro-credits"],
  ])("says why it cannot grant: %s", async (place, words) => {
    const folder = place ?? (await dataFolder());
    const { exitCode, said } = await run(folder, "grant", "9999999999999999");
    expect(exitCode).toBe(1);
    expect(said).toContain(words);
  });
});
