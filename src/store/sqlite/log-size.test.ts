import { stat } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { LOG_KEPT_BYTES_MAX } from "../../core/limits.ts";
import { value } from "../kit/expect.ts";
import * as sample from "../kit/sample.ts";
import { withStore } from "./damage.fixture.ts";
import { databaseFile, TenantDatabase } from "./database.ts";

const { ACME, entry } = sample;

/** Two of these are more than a log keeps. */
const BLOB_BYTES = 20 * 1_024 * 1_024;

describe("the write-ahead log of a tenant", () => {
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
