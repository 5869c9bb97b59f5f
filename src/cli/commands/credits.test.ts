import { describe, expect, it } from "vitest";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { ACME, BY_OWNER, user } from "../../server/identity/identity.fixture.ts";
import { Members } from "../../server/identity/members.ts";
import { value } from "../../store/kit/expect.ts";
import { credits } from "./credits.ts";
import { runIn, servedFolder } from "./data-folder.fixture.ts";

/** Runs commands beside a running server with a member in `acme`. */
async function opened() {
  const { folder, store } = await servedFolder();
  const members = new Members(store, SYSTEM_CLOCK);
  await value(members.put(ACME, user("ada"), "owner", BY_OWNER));
  const run = (...args: readonly string[]) => runIn(folder, credits, ...args);
  return Object.assign(run, { store });
}

describe("fermata credits", () => {
  it("grants once by an id, and shows the balance beside a server at work", async () => {
    const run = await opened();
    const grant = ["grant", "500", "--id", "g", "--note", "May", "--tenant", "acme"];
    for (const _ of [1, 2]) expect((await run(...grant)).exitCode).toBe(0);
    const { shown } = await run("balance", "--tenant", "acme", "--json");
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
        stderr: 'fermata: There is no tenant "nosuch" here.',
      });
    },
  );

  it.each([
    ["grant", "5"],
    ["limit", "unlimited"],
    ["budget", "tenant", "5"],
    ["budget", "user:ada", "none"],
  ])("makes no tenant of a mistyped name: %s %s", async (...act) => {
    const run = await opened();
    const before = await value(run.store.tenants());
    expect(await run(...act, "--tenant", "amce")).toEqual({
      exitCode: 1,
      shown: "",
      stderr:
        'fermata: There is no tenant "amce" here. A tenant exists when it has a member: ' +
        "fermata tokens create --tenant amce --user NAME --role owner, " +
        "or fermata members set NAME owner --tenant amce, with the same --data",
    });
    expect(await value(run.store.tenants())).toEqual(before);
  });

  it("grants to local, where nobody has to belong to it", async () => {
    const run = await opened();
    expect((await run("grant", "5")).exitCode).toBe(0);
  });

  it("says that an id has been used for another grant", async () => {
    const run = await opened();
    await run("grant", "5", "--id", "x", "--note", "May");
    for (const other of [
      ["6", "--note", "May"],
      ["5", "--note", "June"],
    ]) {
      const { exitCode, stderr } = await run("grant", ...other, "--id", "x");
      expect([exitCode, stderr]).toEqual([
        1,
        "fermata: Entry (x, grant, 0) exists with another amount or note; take another id.",
      ]);
    }
  });

  it("lifts a limit, and sets it again", async () => {
    const run = await opened();
    const lifted = await run("limit", "unlimited", "--tenant", "acme", "--json");
    expect(JSON.parse(lifted.shown)).toMatchObject({ limit: "unlimited", availableMicro: null });
    const set = await run("limit", "granted", "--tenant", "acme", "--json");
    expect(JSON.parse(set.shown)).toMatchObject({ limit: "granted", availableMicro: 0 });
  });

  it("sets budgets and takes them away, and leaves the limit as the server is set", async () => {
    const run = await opened();
    await run("budget", "tenant", "90", "--tenant", "acme");
    const set = await run("budget", "user:ada", "40", "--tenant", "acme", "--json");
    expect(JSON.parse(set.shown)).toMatchObject({
      limit: "not set",
      budgets: [
        { scope: "tenant", budgetMicro: 90 },
        { scope: "user:ada", budgetMicro: 40 },
      ],
    });
    const rest = await run("budget", "tenant", "none", "--tenant", "acme", "--json");
    expect(JSON.parse(rest.shown).budgets).toMatchObject([{ scope: "user:ada" }]);
    const local = await run("balance", "--json");
    expect(JSON.parse(local.shown)).toMatchObject({ limit: "unlimited", budgets: [] });
  });

  it("says what still fits beside the other grants", async () => {
    const run = await opened();
    await run("grant", "9007199254740990", "--id", "most");
    const more = await run("grant", "2");
    expect([more.exitCode, more.stderr.includes("; 1 more fit")]).toEqual([1, true]);
    const again = await run("grant", "9007199254740990", "--id", "most");
    expect(again.exitCode).toBe(0);
  });

  it("counts usage, of a period if one is named", async () => {
    const run = await opened();
    const { shown } = await run("usage", "--by", "model", "--json");
    expect(JSON.parse(shown)).toEqual({ by: "model", groups: [] });
    const period = ["--from", "2026-05-01", "--to", "2026-06-01T00:00Z"];
    const may = await run("usage", ...period, "--json");
    expect([may.exitCode, JSON.parse(may.shown)]).toEqual([0, { by: "day", groups: [] }]);
  });

  it("states a period", async () => {
    const today = new Date().toISOString().slice(0, 10);
    const run = await opened();
    await run("grant", "500", "--id", "g");
    const lines = async (...period: readonly string[]) =>
      (await run("statement", ...period)).shown.trimEnd().split("\r\n").length - 1;
    expect(await lines("--from", today)).toBe(1);
    expect(await lines("--to", today)).toBe(0);
  });

  it("shows money in credits, with the month and all budgets, in 100 columns", async () => {
    const run = await opened();
    const acme = ["--tenant", "acme"];
    await run("grant", "1234.5cr", "--id", "g", ...acme);
    await run("budget", "tenant", "2000cr", "--month", ...acme);
    await run("budget", `user:${"x".repeat(120)}`, "0.000001cr", "--month", ...acme);
    const { shown } = await run("budget", "user:ada", "0.25cr", ...acme);
    const month = new Date().toISOString().slice(0, 7);
    expect(shown).toContain("granted    1,234.50");
    expect(shown).toMatch(new RegExp(`charged +0.00 +in ${month} \\(UTC\\)`));
    expect(shown).toMatch(/^tenant +month +2,000.00 +0.00 +2,000.00 +\d{4}-\d{2}-01$/m);
    expect(shown).toMatch(/^user:ada +total +0.25 +0.00 +0.25 +-$/m);
    expect(shown).toMatch(/^user:x+… +month +0.000001 +0.00 +0.000001/m);
    for (const line of shown.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
    const usage = await run("usage", "--by", "month", ...acme);
    expect(usage.shown).toMatch(/^MONTH +CREDITS +TURNS/);
  });

  it("takes a grant back by its id, and says that there is none to take back", async () => {
    const run = await opened();
    await run("grant", "500", "--id", "g");
    for (const _ of [1, 2]) {
      const { shown } = await run("revoke", "g", "--note", "mistyped", "--json");
      expect(JSON.parse(shown)).toMatchObject({ grantedMicro: 0 });
    }
    const { exitCode, stderr } = await run("revoke", "x");
    const why = 'fermata: There is no grant "x" here; the statement lists all.';
    expect([exitCode, stderr]).toEqual([1, why]);
  });

  const ACTS = "balance, grant AMOUNT, revoke ID, limit, budget, statement or usage";
  const WHOLE = "amounts are whole micro-credits, as in 5000000, or credits, as in 5cr or 0.25cr";
  const MOST = "to 9007199254740991";
  const LIMIT = "limit must be granted (the tenant spends what it was granted) or unlimited";
  const BUDGET = "budget needs an owner and an amount, as in tenant 5000000 or user:ada none";
  const TIME = "it is a time, as in 2026-05-01 or 2026-05-01T12:00Z, or milliseconds";

  it.each([
    [[], `expected ${ACTS}`],
    [["frob"], `there is no "frob"; expected ${ACTS}`],
    [["grant"], `grant needs an amount; ${WHOLE}`],
    [["grant", "-5"], `"-5" is not an amount; ${WHOLE}`],
    [["grant", "0"], `"0" is not an amount; ${WHOLE}, from 1 ${MOST}`],
    [["grant", "1.5"], `"1.5" is not an amount; ${WHOLE}, from 1 ${MOST}`],
    [["grant", "1e3"], `"1e3" is not an amount; ${WHOLE}, from 1 ${MOST}`],
    [
      ["grant", "9007199254740993"],
      `"9007199254740993" is not an amount; ${WHOLE}, from 1 ${MOST}`,
    ],
    [["grant", "9".repeat(20)], `"${"9".repeat(20)}" is not an amount; ${WHOLE}, from 1 ${MOST}`],
    [["grant", "5", "6"], 'unexpected argument "6"'],
    [["grant", "5", "--note", "x".repeat(1_001)], "--note must have at most 1000 characters"],
    [
      ["grant", "5", "--id", "a b"],
      "--id must be 1 to 128 letters, digits and . _ : -, as in 2026-05",
    ],
    [["grant", "1.1234567cr"], `"1.1234567cr" is not an amount; ${WHOLE}, from 1 ${MOST}`],
    [["revoke"], "revoke needs the id of a grant; the statement has them"],
    [["revoke", "a b"], "the id of a grant is 1 to 128 letters, digits and . _ : -, as in 2026-05"],
    [["balance", "--month"], "--month is only for budget"],
    [["limit"], LIMIT],
    [["limit", "foo"], LIMIT],
    [["limit", "granted", "5"], 'unexpected argument "5"'],
    [["budget"], BUDGET],
    [["budget", "tenant"], BUDGET],
    [["budget", "tenant", "5", "6"], 'unexpected argument "6"'],
    [
      ["budget", "session:s", "5"],
      "to set the budget of a session, use POST /credits/budgets/session:ID",
    ],
    [
      ["budget", "user:", "5"],
      '"user:" cannot have a budget: use tenant, or user:NAME with a NAME of letters, ' +
        "digits and . _ : -",
    ],
    [["budget", "tenant", "-5"], `"-5" is not an amount; ${WHOLE}`],
    [
      ["budget", "tenant", "1.5"],
      `"1.5" is not an amount; ${WHOLE}, from 0 ${MOST}; none removes it`,
    ],
    [["usage", "--by", "moon"], "--by must be one of user, session, agent, model, day, month"],
    [["usage", "--from", "soon"], `--from: ${TIME}`],
    [["statement", "--to", "2026-02-31"], `--to: ${TIME}`],
    [["usage", "now"], 'unexpected argument "now"'],
    [["statement", "now"], 'unexpected argument "now"'],
    [["balance", "now"], 'unexpected argument "now"'],
    [["balance", "--from", "2026-05-01"], "--from is only for statement and usage"],
    [["limit", "granted", "--note", "x"], "--note is only for grant and revoke"],
    [["balance", "--tenant", "a/b"], "the name of a tenant has only letters, digits and . _ : -"],
    [["balance", "--what"], "there is no option --what"],
  ])("refuses %j, and says why", async (args, why) => {
    expect(await runIn("/nowhere", credits, ...args)).toEqual({
      exitCode: 2,
      shown: "",
      stderr: `fermata: credits: ${why}; see "fermata credits --help".`,
    });
  });

  it("says that there is nothing to grant in", async () => {
    const { exitCode, stderr } = await runIn("/nowhere", credits, "grant", "5");
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("there is no")]);
  });
});
