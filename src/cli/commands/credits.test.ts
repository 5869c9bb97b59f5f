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
    expect(JSON.parse(said)).toMatchObject({ limit: "not set", availableMicro: 500 });
    const statement = await run(folder, "statement", "--tenant", "acme");
    expect(statement.said.split("\r\n")).toHaveLength(3);
    expect(statement.said).toContain(",grant,g,0,500,");
  });

  it.each([["balance"], ["statement"], ["usage"]])(
    "has no %s of nobody, and says so",
    async (act) => {
      const { exitCode, said } = await run(await dataFolder(), act, "--tenant", "nosuch");
      expect([exitCode, said]).toEqual([1, 'fermata: There is no tenant "nosuch" here.']);
    },
  );

  it("lifts a limit, and sets it again", async () => {
    const folder = await dataFolder();
    const lifted = await run(folder, "limit", "unlimited", "--tenant", "acme");
    expect(JSON.parse(lifted.said)).toMatchObject({ limit: "unlimited", availableMicro: null });
    const set = await run(folder, "limit", "granted", "--tenant", "acme");
    expect(JSON.parse(set.said)).toMatchObject({ limit: "granted", availableMicro: 0 });
  });

  it("sets budgets and takes them away, and leaves the limit as the server is set", async () => {
    const folder = await dataFolder();
    await run(folder, "budget", "tenant", "90", "--tenant", "acme");
    const set = await run(folder, "budget", "user:ada", "40", "--tenant", "acme");
    expect(JSON.parse(set.said)).toMatchObject({
      limit: "not set",
      budgets: [
        { scope: "tenant", budgetMicro: 90 },
        { scope: "user:ada", budgetMicro: 40 },
      ],
    });
    const rest = await run(folder, "budget", "tenant", "none", "--tenant", "acme");
    expect(JSON.parse(rest.said).budgets).toMatchObject([{ scope: "user:ada" }]);
    const local = await run(folder, "balance");
    expect(JSON.parse(local.said)).toMatchObject({ limit: "unlimited", budgets: [] });
  });

  it("says that a grant is of something, and what still fits beside the others", async () => {
    const folder = await dataFolder();
    const none = await run(folder, "grant", "0");
    expect([none.exitCode, none.said.includes("at least 1")]).toEqual([1, true]);
    await run(folder, "grant", "9007199254740990", "--id", "most");
    const more = await run(folder, "grant", "2");
    expect([more.exitCode, more.said.includes("; 1 more fit")]).toEqual([1, true]);
    const again = await run(folder, "grant", "9007199254740990", "--id", "most");
    expect(again.exitCode).toBe(0);
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
    ["limit", "granted", "5"],
    ["budget", "tenant"],
    ["budget", "session:s", "5"],
    ["budget", "user:", "5"],
    ["budget", "tenant", "-5"],
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
