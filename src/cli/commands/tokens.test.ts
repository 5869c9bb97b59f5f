import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { Members } from "../../server/identity/members.ts";
import { TokenAuthenticator } from "../../server/identity/token-authenticator.ts";
import { value } from "../../store/kit/expect.ts";
import { bytesIn, emptyFolder, runIn, serverIn } from "./data-folder.fixture.ts";
import { tokens } from "./tokens.ts";

/** A data directory that is not there yet. */
async function unmade() {
  const folder = join(await emptyFolder(), "data");
  const run = (...args: readonly string[]) => runIn(folder, tokens, ...args);
  /** Gives a command that shows a token, and takes that. */
  const tokenOf = async (...args: readonly string[]) => (await run(...args)).shown.trimEnd();
  return { folder, run, tokenOf };
}

/** Whom a server at work in a data directory takes for whom. */
async function serving(folder: string) {
  const store = await serverIn(folder);
  const way = new TokenAuthenticator(store, new Members(store, SYSTEM_CLOCK), SYSTEM_CLOCK);
  const who = async (text: string) => value(Promise.resolve(way.authenticate(text)));
  return { store, who };
}

const ADA = ["--user", "ada", "--role", "owner"] as const;

describe("fermata tokens", () => {
  it("makes the first token before any server was there", async () => {
    const { folder, run } = await unmade();
    const made = await run("create", ...ADA, "--name", "laptop", "--expires", "30d");
    expect(made).toMatchObject({ exitCode: 0, shown: expect.stringMatching(/^fmt_local_\S+\n$/) });
    expect(made.stderr).toMatch(/of ada \(owner\); it is shown only once\.$/);
    expect(statSync(folder).mode & 0o077).toBe(0);
    const { who } = await serving(folder);
    const ada = { tenantId: "local", userId: "ada", role: "owner" };
    const token = made.shown.trimEnd();
    expect(await who(token)).toEqual(ada);
    expect(bytesIn(folder)).not.toContain(token.slice(-64));
  });

  it("works while a server runs, which heeds it at once", async () => {
    const { folder, run, tokenOf } = await unmade();
    const first = await tokenOf("create", ...ADA, "--tenant", "acme");
    const { who } = await serving(folder);
    const bob = ["--tenant", "acme", "--user", "bob", "--role", "member"];
    const made = await tokenOf("create", ...bob);
    expect(await who(made)).toMatchObject({ tenantId: "acme", userId: "bob" });
    const [, id = ""] = /^fmt_acme_(\w{16})_/.exec(made) ?? [];
    const rotated = await tokenOf("rotate", id, "--tenant", "acme");
    expect(await who(made)).toBeNull();
    expect(await who(rotated)).toMatchObject({ userId: "bob" });
    const revoked = await run("revoke", id, "--tenant", "acme");
    expect(revoked).toEqual({
      exitCode: 0,
      shown: `Token ${id} is revoked.\n`,
      stderr: "",
    });
    expect(await who(rotated)).toBeNull();
    expect(await who(first)).toMatchObject({ userId: "ada" });
  });

  it("says beside the token that a tenant is new, and that nobody owns it yet", async () => {
    const { run } = await unmade();
    const first = await run("create", "--tenant", "acme", "--user", "bob", "--role", "viewer");
    expect(first.shown).toMatch(/^fmt_acme_\S+\n$/);
    expect(first.stderr).toMatch(
      /once\.fermata: acme is a new tenant\.fermata: acme has no owner among its members: /,
    );
    const second = await run("create", ...ADA, "--tenant", "acme");
    expect(second.stderr).toMatch(/^fermata: token \S+ of ada \(owner\); it is shown only once\.$/);
    const local = await run("create", "--user", "bob", "--role", "viewer");
    expect(local.stderr).toMatch(/once\.fermata: local has no owner among its members: /);
  });

  it("lists them, without anything that opens", async () => {
    const { run, tokenOf } = await unmade();
    const made = await tokenOf("create", ...ADA, "--name", "laptop");
    const { exitCode, shown } = await run("list");
    expect(exitCode).toBe(0);
    expect(shown.split("\n")).toEqual([
      expect.stringMatching(/^ID +USER +ROLE +STATE +MADE +EXPIRES +LAST USE +NAME$/),
      expect.stringMatching(/^[0-9a-f]{16} +ada +owner +in use +\S+ +- +- +laptop$/),
      "",
    ]);
    expect(shown).not.toContain(made.slice(-64));
  });

  it("gives nobody more than they are", async () => {
    const { run } = await unmade();
    await run("create", "--user", "ada", "--role", "viewer");
    const more = await run("create", ...ADA);
    expect(more.exitCode).toBe(1);
    expect(more.stderr).toBe(
      'fermata: User "ada" is viewer in this tenant, and a token cannot give a higher role.',
    );
  });

  it("tells the audit that it was the operator", async () => {
    const { folder, run } = await unmade();
    await run("create", ...ADA);
    const { store } = await serving(folder);
    const local = parseTenantId("local") ?? expect.fail();
    const { rows } = await value(
      store.readJournal(local, { journal: "audit", after: 0, limit: 9 }),
    );
    expect(rows.map(({ text }) => JSON.parse(text))).toMatchObject([
      { act: "member_set", actor: { kind: "operator" } },
      { act: "token_created", actor: { kind: "operator" }, details: { userId: "ada" } },
    ]);
  });

  it("makes nothing where nothing is, but for a first token", async () => {
    const { folder, run } = await unmade();
    for (const args of [["list"], ["revoke", "0".repeat(16)], ["rotate", "0".repeat(16)]]) {
      const { exitCode, stderr } = await run(...args);
      expect(exitCode).toBe(1);
      expect(stderr).toContain("there is no");
    }
    expect(existsSync(folder)).toBe(false);
  });

  it.each([
    [[], "expected create, list, revoke ID or rotate ID"],
    [["revoke"], "expected create, list, revoke ID or rotate ID"],
    [["list", "x", "y"], 'unexpected argument "y"'],
    [["create", "--role", "owner"], "--user must"],
    [["create", "--user", "a/b", "--role", "owner"], "--user must"],
    [["create", "--user", "ada", "--role", "root"], "--role must be one of"],
    [["create", ...ADA, "--expires", "soon"], "--expires must be"],
    [["create", ...ADA, "--expires", "0d"], "--expires must be"],
    [["create", ...ADA, "--expires", "999999d"], "--expires must be"],
    [["create", ...ADA, "--name", ""], "--name must"],
    [["create", ...ADA, "--tenant", ".."], "the name of a tenant"],
    [["rotate", "x", "--grace", "8d"], "--grace must be"],
    [["list", "--nonsense"], "there is no option --nonsense"],
  ])("refuses %j, and says why", async (args, why) => {
    const { folder, run } = await unmade();
    const { exitCode, stderr } = await run(...args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(why);
    expect(existsSync(folder)).toBe(false);
  });
});
