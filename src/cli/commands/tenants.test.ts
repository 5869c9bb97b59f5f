import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { thisHolder } from "../../store/index.ts";
import { value } from "../../store/kit/expect.ts";
import { keyOf, manifest, newSession } from "../../store/kit/sample.ts";
import { bytesIn, emptyFolder, runIn, serverIn } from "./data-folder.fixture.ts";
import { tenants } from "./tenants.ts";
import { tokens } from "./tokens.ts";

/** Two tenants, each with an owner and a token. */
async function opened() {
  const folder = await emptyFolder();
  for (const name of ["acme", "other"]) {
    const ada = ["--user", `ada-of-${name}`, "--role", "owner"];
    await runIn(folder, tokens, "create", "--tenant", name, ...ada);
  }
  return { folder, run: (...args: readonly string[]) => runIn(folder, tenants, ...args) };
}

describe("fermata tenants", () => {
  it("lists them, with what they have", async () => {
    const { run } = await opened();
    const { exitCode, shown } = await run("list");
    expect(exitCode).toBe(0);
    const [head, ...rows] = shown
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/\s{2,}/));
    expect(head).toEqual(["TENANT", "SESSIONS", "MEMBERS", "BYTES"]);
    expect(rows.map(([name, sessions, members]) => [name, sessions, members])).toEqual([
      ["acme", "0", "1"],
      ["other", "0", "1"],
    ]);
    for (const [, , , bytes] of rows) expect(Number(bytes)).toBeGreaterThan(1_000);
  });

  it("deletes nothing without --yes, and says what it would", async () => {
    const { folder, run } = await opened();
    const { exitCode, shown } = await run("delete", "acme");
    expect(exitCode).toBe(2);
    expect(shown).toMatch(/^This would delete tenant acme for good: 0 sessions, 1 members, \d+ /);
    expect(bytesIn(folder)).toContain("ada-of-acme");
  });

  it("deletes all of one, and nothing of another", async () => {
    const { folder, run } = await opened();
    expect(await run("delete", "acme", "--yes")).toEqual({
      exitCode: 0,
      shown: "Tenant acme is deleted.\n",
      stderr: "",
    });
    expect(bytesIn(folder)).not.toContain("acme");
    expect(bytesIn(folder)).toContain("ada-of-other");
    const again = await run("delete", "acme", "--yes");
    expect(again).toMatchObject({
      exitCode: 1,
      stderr: 'fermata: There is no tenant "acme" here.',
    });
  });

  it("deletes nothing of which a server elsewhere has a session, and says what helps", async () => {
    const { folder, run } = await opened();
    const store = await serverIn(folder);
    const key = keyOf("held");
    const holder = { ...thisHolder("another"), host: "elsewhere", pid: 7 };
    const kept = manifest(key, store.contract.storeId);
    await value(store.create(key, newSession(kept, { holder })));
    // It plays a server of another machine, of which nothing can be seen here.
    rmSync(join(folder, "sessions", "open"), { recursive: true });
    const { exitCode, stderr } = await run("delete", "acme", "--yes");
    expect(exitCode).toBe(1);
    expect(stderr).toContain("another (process 7 on elsewhere) has sessions open, 1 in all: held.");
    expect(stderr).toContain('"fermata seize ID --tenant acme" frees a session.');
    expect(bytesIn(folder)).toContain("ada-of-acme");
  });

  it("deletes nothing beside a server at work, though that has nothing of it open", async () => {
    const { folder, run } = await opened();
    const store = await serverIn(folder);
    const refused = await run("delete", "acme", "--yes");
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toMatch(
      /a server, process \d+ on .*: stop it first, or let an owner send DELETE/,
    );
    expect(bytesIn(folder)).toContain("ada-of-acme");
    await store.dispose();
    expect((await run("delete", "acme", "--yes")).exitCode).toBe(0);
  });

  it("does not take a mistyped directory for one without tenants", async () => {
    const folder = await emptyFolder();
    const { exitCode, stderr } = await runIn(folder, tenants, "list");
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("there is no ")]);
    expect(existsSync(join(folder, "sessions"))).toBe(false);
  });

  it.each([[[]], [["delete"]], [["delete", "a b"]], [["list", "x"]], [["list", "--what"]]])(
    "%j is explained",
    async (args) => {
      const { exitCode, stderr } = await runIn("/nowhere", tenants, ...args);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining("fermata tenants --help")]);
    },
  );
});
