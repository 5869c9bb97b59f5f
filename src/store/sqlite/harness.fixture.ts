import { randomUUID } from "node:crypto";
import { utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { folderHarness, type StoreHarness } from "../kit/index.ts";
import { ACME } from "../kit/sample.ts";
import type { Manifest, SessionStore } from "../store.ts";
import { databaseFile, TenantDatabase } from "./database.ts";
import { clearDisk, fillDisk, freeze, makeDisk, whyNoDisks } from "./disk.fixture.ts";
import { readSession, sessionValues, UPDATE_SESSION } from "./row.ts";
import { sqliteStore } from "./store.ts";

/** A megabyte bounds a commit here, so that reaching the bound costs no time. */
const COMMIT_BYTES_MAX = 1_024 * 1_024;

const HOUR_MS = 60 * 60 * 1_000;

const noDisks = await whyNoDisks();
/** Whether a folder can be kept from being written: root needs a mount for that, others do not. */
const canFreeze = noDisks === null || process.getuid?.() !== 0;

/**
 * The kit's world for the SQLite store: a directory of its own inside an otherwise empty one. It
 * has no last record to tear after a clean end, which leaves no log behind: trouble.test.ts tears
 * the log of a store at work. A disk that can be filled is below.
 */
export function sqliteHarness(
  store: () => SessionStore = () => sqliteStore(COMMIT_BYTES_MAX),
): StoreHarness {
  const root = (place: string) => join(place, "data");
  const harness = folderHarness(store);
  return {
    ...harness,
    samples: (place) => {
      const samples = harness.samples(place);
      const careless = { path: root(place), durability: "none" };
      return { ...samples, hostile: [...samples.hostile, careless] };
    },
    world: {
      ...harness.world,
      forgeManifest: async (place, { tenantId, sessionId }, forge) => {
        const db = new TenantDatabase(databaseFile(root(place), tenantId), "write");
        const found = db.get("SELECT * FROM sessions WHERE session_id = ?", sessionId);
        const session = readSession(found ?? {});
        if (!session.ok) throw new Error("there is no such session to forge");
        const manifest = forge({ ...session.value.manifest }) as unknown as Manifest;
        const storeId = manifest.storeId ?? session.value.storeId;
        const forged = { ...session.value, manifest, storeId };
        const { number } = forged;
        db.run(UPDATE_SESSION, ...sessionValues(forged), number);
        db.close();
      },
      ...(canFreeze && { makeReadOnly: (place: string) => freeze(root(place)) }),
      leaveTemporary: async (place) => {
        const folder = dirname(databaseFile(root(place), ACME));
        const left = [
          join(folder, `sessions.db.${randomUUID()}`),
          join(folder, `sessions.db.${randomUUID()}-wal`),
          join(root(place), ".probe"),
        ];
        const longAgo = new Date(Date.now() - HOUR_MS);
        for (const path of left) {
          await writeFile(path, "half a da");
          await utimes(path, longAgo, longAgo);
        }
        return left;
      },
    },
  };
}

const SMALL_DISK_MEGABYTES = 8;

/** The same on a disk in memory that can be filled; or why there can be none here. */
export function smallDiskHarness(): StoreHarness | string {
  if (noDisks !== null) return noDisks;
  const harness = sqliteHarness();
  return {
    ...harness,
    makePlace: () => makeDisk(SMALL_DISK_MEGABYTES),
    clearPlace: clearDisk,
    world: { ...harness.world, fillUp: fillDisk },
  };
}
