import { describe, expect, it } from "vitest";
import type { Role } from "../../core/permission.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { ACME, BY_OWNER, user } from "../../server/identity/identity.fixture.ts";
import { Members } from "../../server/identity/members.ts";
import { TokenAuthenticator } from "../../server/identity/token-authenticator.ts";
import { value } from "../../store/kit/expect.ts";
import { runIn, servedFolder } from "./data-folder.fixture.ts";
import { members } from "./members.ts";
import { tokens } from "./tokens.ts";

const OF_ACME = ["--tenant", "acme"] as const;

async function opened() {
  const { folder, store } = await servedFolder();
  const known = new Members(store, SYSTEM_CLOCK);
  const run = (...args: readonly string[]) => runIn(folder, members, ...args, ...OF_ACME);
  const has = (name: string, role: Role) => value(known.put(ACME, user(name), role, BY_OWNER));
  return { folder, store, known, run, has };
}

describe("fermata members", () => {
  it("takes people in, gives them other roles, and lists them", async () => {
    const { run, has } = await opened();
    await has("bob", "member");
    expect(await run("set", "ada", "owner")).toEqual({
      exitCode: 0,
      shown: "ada is owner of acme.\n",
      stderr: "",
    });
    expect((await run("set", "bob", "viewer")).exitCode).toBe(0);
    const { shown } = await run("list");
    const lines = shown.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^USER {2}ROLE {4}ADDED$/);
    expect(lines[1]).toMatch(/^ada {3}owner {3}\d{4}-\d\d-\d\dT\d\d:\d\d$/);
    expect(lines[2]).toMatch(/^bob {3}viewer {2}\d{4}-/);
    expect(lines).toHaveLength(3);
  });

  it("removes people with their tokens, for a server at work too", async () => {
    const { folder, store, known, run, has } = await opened();
    await has("ada", "owner");
    const made = ["create", "--user", "bob", "--role", "member", ...OF_ACME];
    const token = (await runIn(folder, tokens, ...made)).shown.trim();
    const way = new TokenAuthenticator(store, known, SYSTEM_CLOCK);
    const who = async () => value(Promise.resolve(way.authenticate(token)));
    expect(await who()).toMatchObject({ userId: "bob" });
    const { shown } = await run("remove", "bob");
    expect(shown).toBe("bob is no longer a member of acme.\n");
    expect(await who()).toBeNull();
    expect((await runIn(folder, tokens, "list", ...OF_ACME)).shown).not.toContain("bob");
  });

  it.each([members, tokens])(
    "lists nobody of a tenant that is not there, and says so",
    async (of) => {
      const { folder } = await opened();
      const { exitCode, shown, stderr } = await runIn(folder, of, "list", "--tenant", "nosuch");
      expect([exitCode, shown]).toEqual([1, ""]);
      expect(stderr).toContain('There is no tenant "nosuch" here.');
      expect((await runIn(folder, of, "list")).exitCode).toBe(0);
    },
  );

  it("says that a tenant is new, and that nobody owns it yet", async () => {
    const { run } = await opened();
    const own = "fermata: acme has no owner among its members: fermata members set NAME owner";
    expect(await run("set", "bob", "viewer")).toEqual({
      exitCode: 0,
      shown: "bob is viewer of acme.\n",
      stderr: `fermata: acme is a new tenant.${own} --tenant acme, with the same --data`,
    });
    expect((await run("set", "eve", "member")).stderr).toBe(
      `${own} --tenant acme, with the same --data`,
    );
    expect((await run("set", "ada", "owner")).stderr).toBe("");
    expect((await run("set", "eve", "viewer")).stderr).toBe("");
  });

  it("leaves the last owner, and says why", async () => {
    const { run, has } = await opened();
    await has("ada", "owner");
    for (const args of [
      ["remove", "ada"],
      ["set", "ada", "admin"],
    ]) {
      const { exitCode, stderr } = await run(...args);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining("last owner")]);
    }
    await has("grace", "owner");
    expect((await run("remove", "ada")).exitCode).toBe(0);
  });

  it("tells the audit that it was an operator", async () => {
    const { store, run } = await opened();
    await run("set", "bob", "viewer");
    await run("remove", "bob");
    const query = { journal: "audit", after: 0, limit: 9 } as const;
    const { rows } = await value(store.readJournal(ACME, query));
    const actor = { kind: "operator" };
    expect(rows.map(({ text }) => JSON.parse(text))).toMatchObject([
      { act: "member_set", actor, details: { userId: "bob", role: "viewer" } },
      { act: "member_removed", actor, details: { userId: "bob" } },
    ]);
  });

  it("says what it does not find, and makes nothing where nothing is", async () => {
    const { run } = await opened();
    const { exitCode, stderr } = await run("remove", "nobody");
    expect([exitCode, stderr]).toEqual([1, 'fermata: There is no member "nobody".']);
    const nowhere = await runIn("/nowhere", members, "list");
    expect([nowhere.exitCode, nowhere.stderr]).toEqual([1, expect.stringContaining("there is no")]);
  });

  it.each([
    [[], "expected list, set USER ROLE, remove USER, invite USER ROLE, invitations or uninvite ID"],
    [["list", "ada"], "expected list"],
    [["set", "ada"], "expected list"],
    [["set", "ada", "root"], "the role must be one of"],
    [["set", "a/b", "owner"], "the id of a user"],
    [["remove"], "expected list"],
    [["remove", "ada", "owner"], "expected list"],
    [["set", "ada", "owner", "now"], 'unexpected argument "now"'],
    [["list", "--tenant", "a/b"], "the name of a tenant"],
    [["list", "--nonsense"], "there is no option --nonsense"],
  ])("refuses %j, and says why", async (args, why) => {
    const { exitCode, stderr } = await runIn("/nowhere", members, ...args);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(why)]);
  });
});
