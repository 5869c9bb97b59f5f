import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { thisHolder } from "../../store/index.ts";
import { value } from "../../store/kit/expect.ts";
import { keyOf, manifest, newSession } from "../../store/kit/sample.ts";
import { HOST } from "../../store/sample.fixture.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import { tenants } from "./tenants.ts";
import { tokens } from "./tokens.ts";

type Command = (args: readonly string[]) => Promise<number>;

class DataFolder {
  readonly path = mkdtempSync(join(tmpdir(), "fermata-tenants-"));

  constructor() {
    onTestFinished(() => rmSync(this.path, { recursive: true, force: true }));
  }

  /** Two tenants, each with an owner and a token. */
  static async make(): Promise<DataFolder> {
    const folder = new DataFolder();
    for (const name of ["acme", "other"]) {
      const ada = ["--user", `ada-of-${name}`, "--role", "owner"];
      await folder.#run(tokens, "create", "--tenant", name, ...ada);
    }
    return folder;
  }

  tenants(...args: readonly string[]) {
    return this.#run(tenants, ...args);
  }

  async #run(command: Command, ...args: readonly string[]) {
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
      const exitCode = await command([...args, "--data", this.path]);
      return { exitCode, shown: shown.trim(), said };
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
    return store;
  }

  /** Everything that is on the disk, names and all. */
  bytes(folder = this.path): string {
    return readdirSync(folder, { withFileTypes: true })
      .map((entry) => {
        const path = join(folder, entry.name);
        const inside = entry.isDirectory() ? this.bytes(path) : readFileSync(path, "latin1");
        return `${entry.name}\n${inside}`;
      })
      .join("");
  }
}

describe("fermata tenants", () => {
  it("lists them, with what they have", async () => {
    const folder = await DataFolder.make();
    const { exitCode, shown } = await folder.tenants("list");
    expect(exitCode).toBe(0);
    const [head, ...rows] = shown.split("\n").map((line) => line.split(/\s{2,}/));
    expect(head).toEqual(["TENANT", "SESSIONS", "MEMBERS", "BYTES"]);
    expect(rows.map(([name, sessions, members]) => [name, sessions, members])).toEqual([
      ["acme", "0", "1"],
      ["other", "0", "1"],
    ]);
    for (const [, , , bytes] of rows) expect(Number(bytes)).toBeGreaterThan(1_000);
  });

  it("deletes nothing without --yes, and says what it would", async () => {
    const folder = await DataFolder.make();
    const { exitCode, shown } = await folder.tenants("delete", "acme");
    expect(exitCode).toBe(2);
    expect(shown).toMatch(/^This would delete tenant acme for good: 0 sessions, 1 members, \d+ /);
    expect(folder.bytes()).toContain("ada-of-acme");
  });

  it("deletes all of one, and nothing of another", async () => {
    const folder = await DataFolder.make();
    expect(await folder.tenants("delete", "acme", "--yes")).toEqual({
      exitCode: 0,
      shown: "Tenant acme is deleted.",
      said: "",
    });
    expect(folder.bytes()).not.toContain("acme");
    expect(folder.bytes()).toContain("ada-of-other");
    const again = await folder.tenants("delete", "acme", "--yes");
    expect(again).toMatchObject({ exitCode: 1, said: 'fermata: There is no tenant "acme" here.' });
  });

  it("deletes nothing of which a server elsewhere has a session, and says what helps", async () => {
    const folder = await DataFolder.make();
    const store = await folder.serving();
    const key = keyOf("held");
    const holder = { ...thisHolder("another"), host: "elsewhere", pid: 7 };
    const kept = manifest(key, store.contract.storeId);
    await value(store.create(key, newSession(kept, { holder })));
    // It plays a server of another machine, of which nothing can be seen here.
    rmSync(join(folder.path, "sessions", "open"), { recursive: true });
    const { exitCode, said } = await folder.tenants("delete", "acme", "--yes");
    expect(exitCode).toBe(1);
    expect(said).toContain("another (process 7 on elsewhere) has sessions open, 1 in all: held.");
    expect(said).toContain('"fermata seize ID --tenant acme" frees a session.');
    expect(folder.bytes()).toContain("ada-of-acme");
  });

  it("deletes nothing beside a server at work, though that has nothing of it open", async () => {
    const folder = await DataFolder.make();
    const store = await folder.serving();
    const refused = await folder.tenants("delete", "acme", "--yes");
    expect(refused.exitCode).toBe(1);
    expect(refused.said).toMatch(/a server, process \d+ on .*: let an owner send it DELETE/);
    expect(folder.bytes()).toContain("ada-of-acme");
    await store.dispose();
    expect((await folder.tenants("delete", "acme", "--yes")).exitCode).toBe(0);
  });

  it("does not take a mistyped directory for one without tenants", async () => {
    const folder = new DataFolder();
    const { exitCode, said } = await folder.tenants("list");
    expect([exitCode, said]).toEqual([1, expect.stringContaining("there is no ")]);
    expect(existsSync(join(folder.path, "sessions"))).toBe(false);
  });

  it.each([[[]], [["delete"]], [["delete", "a b"]], [["list", "x"]], [["list", "--what"]]])(
    "%j is explained",
    async (args) => {
      const { exitCode, said } = await new DataFolder().tenants(...args);
      expect([exitCode, said]).toEqual([2, expect.stringContaining("fermata tenants --help")]);
    },
  );

  it("prints its help", async () => {
    const { exitCode, shown } = await new DataFolder().tenants("--help");
    expect([exitCode, shown]).toEqual([0, expect.stringContaining("Usage: fermata tenants list")]);
  });
});
