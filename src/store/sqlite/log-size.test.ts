import { stat } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { LOG_KEPT_BYTES_MAX, LOG_PAGES_MAX } from "../../core/limits.ts";
import { value } from "../kit/expect.ts";
import * as sample from "../kit/sample.ts";
import { withStore } from "./damage.fixture.ts";
import { databaseFile, TenantDatabase } from "./database.ts";

const { ACME, entry } = sample;

const PAGE_BYTES = 4_096;

/** Two of these are more than a log keeps. */
const BLOB_BYTES = 20 * 1_024 * 1_024;

describe("the write-ahead log of a tenant", () => {
  it("is put away little by little, so that no commit waits for all of it", async () => {
    await withStore(async (world) => {
      await value(world.start());
      const file = databaseFile(world.path, ACME);
      const sizes: number[] = [];
      for (let n = 0; n < 48; n += 1) {
        const letter = String.fromCharCode(65 + n);
        await value(world.store.writeBlob(ACME, sample.bytes(letter.repeat(BLOB_BYTES / 64))));
        sizes.push((await stat(`${file}-wal`)).size);
      }
      // Then it is written from its beginning again.
      expect(Math.max(...sizes)).toBeLessThan(2 * LOG_PAGES_MAX * PAGE_BYTES);
    });
  });

  it("gives back what it grew to while a backup kept it from being put away", async () => {
    await withStore(async (world) => {
      await value(world.start());
      await value(world.store.appendJournal(ACME, [entry("before")]));
      const file = databaseFile(world.path, ACME);
      const logBytes = async () => (await stat(`${file}-wal`)).size;
      const backup = new TenantDatabase(file, "read");
      backup.run("BEGIN");
      backup.all("SELECT * FROM journal");
      for (const letter of ["a", "b"]) {
        await value(world.store.writeBlob(ACME, sample.bytes(letter.repeat(BLOB_BYTES))));
      }
      expect(await logBytes()).toBeGreaterThan(LOG_KEPT_BYTES_MAX);
      backup.run("COMMIT");
      backup.close();
      // The first of these puts the log away, and the next begins it anew.
      for (const key of ["one", "two"]) await value(world.store.appendJournal(ACME, [entry(key)]));
      expect(await logBytes()).toBeLessThanOrEqual(LOG_KEPT_BYTES_MAX);
    });
  });
});
