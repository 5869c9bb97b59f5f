import { describe, expect, it } from "vitest";
import { credits } from "./credits.ts";
import { runIn, servedFolder } from "./data-folder.fixture.ts";

/** Gives commands beside a server at work. */
async function opened() {
  const { folder } = await servedFolder();
  return (...args: readonly string[]) => runIn(folder, credits, ...args);
}

describe("fermata credits", () => {
  it("grants once by an id, and shows the balance beside a server at work", async () => {
    const run = await opened();
    const grant = ["grant", "500", "--id", "g", "--note", "May", "--tenant", "acme"];
    for (const _ of [1, 2]) expect((await run(...grant)).exitCode).toBe(0);
    const { shown } = await run("balance", "--tenant", "acme");
    expect(JSON.parse(shown)).toMatchObject({ limit: "not set", availableMicro: 500 });
    const statement = await run("statement", "--tenant", "acme");
    expect(statement.shown.split("\r\n")).toHaveLength(3);
    expect(statement.shown).toContain(",grant,g,0,500,");
  });

  it.each([["balance"], ["statement"], ["usage"]])(
    "has no %s of nobody, and says so",
    async (act) => {
      const run = await opened();
      expect(await run(act, "--tenant", "nosuch")).toEqual({
        exitCode: 1,
        shown: "",
        said: 'fermata: There is no tenant "nosuch" here.',
      });
    },
  );

  it("lifts a limit, and sets it again", async () => {
    const run = await opened();
    const lifted = await run("limit", "unlimited", "--tenant", "acme");
    expect(JSON.parse(lifted.shown)).toMatchObject({ limit: "unlimited", availableMicro: null });
    const set = await run("limit", "granted", "--tenant", "acme");
    expect(JSON.parse(set.shown)).toMatchObject({ limit: "granted", availableMicro: 0 });
  });

  it("sets budgets and takes them away, and leaves the limit as the server is set", async () => {
    const run = await opened();
    await run("budget", "tenant", "90", "--tenant", "acme");
    const set = await run("budget", "user:ada", "40", "--tenant", "acme");
    expect(JSON.parse(set.shown)).toMatchObject({
      limit: "not set",
      budgets: [
        { scope: "tenant", budgetMicro: 90 },
        { scope: "user:ada", budgetMicro: 40 },
      ],
    });
    const rest = await run("budget", "tenant", "none", "--tenant", "acme");
    expect(JSON.parse(rest.shown).budgets).toMatchObject([{ scope: "user:ada" }]);
    const local = await run("balance");
    expect(JSON.parse(local.shown)).toMatchObject({ limit: "unlimited", budgets: [] });
  });

  it("says that a grant is of something, and what still fits beside the others", async () => {
    const run = await opened();
    const none = await run("grant", "0");
    expect([none.exitCode, none.said.includes("at least 1")]).toEqual([1, true]);
    await run("grant", "9007199254740990", "--id", "most");
    const more = await run("grant", "2");
    expect([more.exitCode, more.said.includes("; 1 more fit")]).toEqual([1, true]);
    const again = await run("grant", "9007199254740990", "--id", "most");
    expect(again.exitCode).toBe(0);
  });

  it("counts usage", async () => {
    const run = await opened();
    const { shown } = await run("usage", "--by", "model");
    expect(JSON.parse(shown)).toEqual({ by: "model", groups: [] });
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
    expect(await runIn("/nowhere", credits, ...args)).toEqual({
      exitCode: 2,
      shown: "",
      said: 'fermata: that is no command about credits; see "fermata credits --help".',
    });
  });

  it.each([
    ["/nowhere", "there is no"],
    [null, "whole micro-credits"],
  ])("says why it cannot grant: %s", async (place, words) => {
    const folder = place ?? (await servedFolder()).folder;
    const { exitCode, said } = await runIn(folder, credits, "grant", "9999999999999999");
    expect(exitCode).toBe(1);
    expect(said).toContain(words);
  });

  it("explains itself", async () => {
    const { exitCode, shown } = await runIn("/nowhere", credits, "--help");
    expect([exitCode, shown]).toEqual([0, expect.stringMatching(/^Usage: fermata credits bal/)]);
  });
});
