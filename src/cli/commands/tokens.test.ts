import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { Members } from "../../server/identity/members.ts";
import { StoredWay } from "../../server/identity/stored-way.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import { value } from "../../store/kit/expect.ts";
import { HOST } from "../../store/sample.fixture.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import { tokens } from "./tokens.ts";

class DataFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<DataFolder> {
    const folder = await mkdtemp(join(tmpdir(), "fermata-tokens-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return new DataFolder(join(folder, "data"));
  }

  /** What a program reads that gives this command, what a person does, and how it ends. */
  async run(...args: readonly string[]) {
    let shown = "";
    let said = "";
    const out = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      shown += String(text);
      return true;
    });
    const error = vi.spyOn(console, "error").mockImplementation((text) => {
      said += String(text);
    });
    try {
      return { exitCode: await tokens([...args, "--data", this.path]), shown: shown.trim(), said };
    } finally {
      out.mockRestore();
      error.mockRestore();
    }
  }

  /** A server's side of the same folder, which is open while commands are given. */
  async serving() {
    const store = sqliteStore();
    onTestFinished(async () => void (await store.dispose()));
    await value(store.init(HOST, { active: true, path: join(this.path, "sessions") }));
    await value(store.activate());
    const members = new Members(store, SYSTEM_CLOCK);
    const way = new StoredWay(store, members, SYSTEM_CLOCK);
    const who = async (text: string) => value(Promise.resolve(way.recognize(text)));
    return { store, members, who };
  }

  /** Everything that is on the disk. */
  bytes(folder = this.path): string {
    return readdirSync(folder, { withFileTypes: true })
      .map((entry) => {
        const path = join(folder, entry.name);
        return entry.isDirectory() ? this.bytes(path) : readFileSync(path, "latin1");
      })
      .join("");
  }
}

const ADA = ["--user", "ada", "--role", "owner"] as const;

describe("fermata tokens", () => {
  it("makes the first token before any server was there", async () => {
    const folder = await DataFolder.make();
    const made = await folder.run("create", ...ADA, "--name", "laptop", "--expires", "30d");
    expect(made).toMatchObject({ exitCode: 0, shown: expect.stringMatching(/^fmt_local_\S+$/) });
    expect(made.said).toMatch(/of ada \(owner\); it is shown this once\.$/);
    expect(statSync(folder.path).mode & 0o077).toBe(0);
    const { who } = await folder.serving();
    const ada = { tenantId: "local", userId: "ada", role: "owner" };
    expect(await who(made.shown)).toEqual(ada);
    expect(folder.bytes()).not.toContain(made.shown.slice(-64));
  });

  it("works while a server runs, which heeds it at once", async () => {
    const folder = await DataFolder.make();
    const first = await folder.run("create", ...ADA, "--tenant", "acme");
    const { who } = await folder.serving();
    const bob = ["--tenant", "acme", "--user", "bob", "--role", "member"];
    const made = await folder.run("create", ...bob);
    expect(await who(made.shown)).toMatchObject({ tenantId: "acme", userId: "bob" });
    const [, id = ""] = /^fmt_acme_(\w{16})_/.exec(made.shown) ?? [];
    const rotated = await folder.run("rotate", id, "--tenant", "acme");
    expect(await who(made.shown)).toBeNull();
    expect(await who(rotated.shown)).toMatchObject({ userId: "bob" });
    const revoked = await folder.run("revoke", id, "--tenant", "acme");
    expect(revoked).toEqual({
      exitCode: 0,
      shown: `Token ${id} opens nothing any more.`,
      said: "",
    });
    expect(await who(rotated.shown)).toBeNull();
    expect(await who(first.shown)).toMatchObject({ userId: "ada" });
  });

  it("lists them, without anything that opens", async () => {
    const folder = await DataFolder.make();
    const made = await folder.run("create", ...ADA, "--name", "laptop");
    const { exitCode, shown } = await folder.run("list");
    expect(exitCode).toBe(0);
    expect(shown.split("\n")).toEqual([
      expect.stringMatching(/^ID +USER +ROLE +STATE +MADE +EXPIRES +LAST USE +NAME$/),
      expect.stringMatching(/^[0-9a-f]{16} +ada +owner +in use +\S+ +- +- +laptop$/),
    ]);
    expect(shown).not.toContain(made.shown.slice(-64));
  });

  it("gives nobody more than they are", async () => {
    const folder = await DataFolder.make();
    await folder.run("create", "--user", "ada", "--role", "viewer");
    const more = await folder.run("create", ...ADA);
    expect(more.exitCode).toBe(1);
    expect(more.said).toBe(
      'fermata: User "ada" is viewer in this tenant, and a token makes nobody more than that.',
    );
  });

  it("tells the audit that it was the operator", async () => {
    const folder = await DataFolder.make();
    await folder.run("create", ...ADA);
    const { store } = await folder.serving();
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
    const folder = await DataFolder.make();
    for (const args of [["list"], ["revoke", "0".repeat(16)], ["rotate", "0".repeat(16)]]) {
      const { exitCode, said } = await folder.run(...args);
      expect(exitCode).toBe(1);
      expect(said).toContain("there is no");
    }
    expect(existsSync(folder.path)).toBe(false);
  });

  it.each([
    [[], "it takes create, list, revoke ID or rotate ID"],
    [["revoke"], "it takes create, list, revoke ID or rotate ID"],
    [["list", "x", "y"], '"y" is too much'],
    [["create", "--role", "owner"], "--user is"],
    [["create", "--user", "a/b", "--role", "owner"], "--user is"],
    [["create", "--user", "ada", "--role", "root"], "--role is one of"],
    [["create", ...ADA, "--expires", "soon"], "--expires is as"],
    [["create", ...ADA, "--expires", "0d"], "--expires is as"],
    [["create", ...ADA, "--expires", "999999d"], "--expires is as"],
    [["create", ...ADA, "--name", ""], "--name has"],
    [["create", ...ADA, "--tenant", ".."], "a tenant's name is"],
    [["rotate", "x", "--grace", "8d"], "--grace is as"],
    [["list", "--nonsense"], "Unknown option"],
  ])("refuses %j, and says why", async (args, why) => {
    const folder = await DataFolder.make();
    const { exitCode, said } = await folder.run(...args);
    expect(exitCode).toBe(2);
    expect(said).toContain(why);
    expect(existsSync(folder.path)).toBe(false);
  });

  it("explains itself", async () => {
    const folder = await DataFolder.make();
    const { exitCode, shown } = await folder.run("--help");
    expect(exitCode).toBe(0);
    expect(shown).toMatch(/^Usage: fermata tokens create/);
  });
});
