import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { value } from "../../kit/expect.ts";
import { ACME } from "../../kit/sample.ts";
import { flipped, type StoreWorld } from "../damage.fixture.ts";
import { backupOf, PATIENT, reasonOf, restore, withBackup } from "./backup.fixture.ts";
import type { BackupContents } from "./contents.ts";

const DB = "tenants/acme/sessions.db";
const changed = (world: StoreWorld, name: string) => join(backupOf(world), name);

/** Makes the present content of a backup look like what was backed up. */
async function vouchFor(world: StoreWorld) {
  const bytes = await readFile(changed(world, DB));
  const contents: BackupContents = JSON.parse(
    await readFile(changed(world, "backup.json"), "utf8"),
  );
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const tenants = contents.tenants.map((tenant) =>
    tenant.tenantId === ACME ? { ...tenant, sha256, bytes: bytes.length } : tenant,
  );
  await writeFile(changed(world, "backup.json"), JSON.stringify({ ...contents, tenants }));
}

describe("a backup that is not whole", PATIENT, () => {
  it.each<[string, string, (bytes: Buffer) => Buffer, RegExp]>([
    ["a bit that has flipped", DB, (bytes) => flipped(bytes, 9_000, 3), /SHA-256 differs/],
    ["an end that is missing", DB, (bytes) => bytes.subarray(0, -1), /bytes, and had/],
    ["words of somebody else", "backup.json", () => Buffer.from("{}"), /its format is/],
    ["half a word", "backup.json", (bytes) => bytes.subarray(0, 40), /it is not JSON/],
  ])("is refused for %s, and nothing is put anywhere", async (_, name, change, reason) => {
    await withBackup(async (world, next) => {
      const file = changed(world, name);
      await writeFile(file, change(await readFile(file)));
      const refusal = await reasonOf(restore(backupOf(world), next.path), "backup_unreadable");
      expect(refusal).toMatch(reason);
      await value(next.start());
      expect(await value(next.store.tenants())).toEqual([]);
    });
  });

  it("is refused for a file that is missing, or because it has no contents", async () => {
    await withBackup(async (world, next) => {
      await rm(changed(world, DB));
      const missing = await reasonOf(restore(backupOf(world), next.path), "backup_unreadable");
      expect(missing).toBe(`${DB}: it is not there`);
      await rm(changed(world, "backup.json"));
      const none = await reasonOf(restore(backupOf(world), next.path), "backup_unreadable");
      expect(none).toMatch(/no backup, or one that was broken off/);
    });
  });

  it("is refused for damage that was in it when it was made", async () => {
    await withBackup(async (world, next) => {
      const file = changed(world, DB);
      const bytes = flipped(await readFile(file), 4_096 * 3 + 4, 7);
      await writeFile(file, bytes);
      await vouchFor(world);
      const refusal = await reasonOf(restore(backupOf(world), next.path), "backup_unreadable");
      expect(refusal).toMatch(/^tenants\/acme\/sessions\.db: /);
    });
  });
});

describe("a backup of a newer Fermata", PATIENT, () => {
  const NEWER = "the backup was made by a newer Fermata, 1.2.3; restore it with that one";

  it("is refused as such, and not as damaged, for its databases", async () => {
    await withBackup(async (world, next) => {
      const db = new Database(changed(world, DB));
      db.pragma("user_version = 99");
      db.close();
      await vouchFor(world);
      expect(await reasonOf(restore(backupOf(world), next.path), "restore_failed")).toBe(NEWER);
    });
  });

  it("and for its own shape", async () => {
    await withBackup(async (world, next) => {
      const file = changed(world, "backup.json");
      const contents: BackupContents = JSON.parse(await readFile(file, "utf8"));
      await writeFile(file, JSON.stringify({ ...contents, format: 2 }));
      expect(await reasonOf(restore(backupOf(world), next.path), "restore_failed")).toBe(NEWER);
    });
  });
});
