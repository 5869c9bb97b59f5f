import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreHarness } from "../kit/index.ts";
import type { Manifest } from "../manifest.ts";
import type { SessionStore } from "../store.ts";
import { databaseFile, TenantDatabase } from "./database.ts";
import { readSession, sessionValues, UPDATE_SESSION } from "./row.ts";
import { sqliteStore } from "./store.ts";

/** A megabyte bounds a commit here, so that reaching the bound costs no time. */
const COMMIT_BYTES_MAX = 1_024 * 1_024;

/** The kit's world for the SQLite store: a directory of its own inside an otherwise empty one. */
export function sqliteHarness(
  store: () => SessionStore = () => sqliteStore(COMMIT_BYTES_MAX),
): StoreHarness {
  const root = (place: string) => join(place, "data");
  return {
    store,
    makePlace: () => mkdtemp(join(tmpdir(), "fermata-sqlite-")),
    clearPlace: (place) => rm(place, { recursive: true, force: true }),
    samples: (place) => ({
      valid: { active: true, path: root(place) },
      invalid: { config: { active: true, path: 7 }, path: "path" },
      hostile: [{ path: "\u0000" }, { path: "" }, { path: root(place), durability: "none" }],
      unreachable: [{ active: true, path: "/dev/null/fermata" }],
    }),
    persists: true,
    world: {
      root,
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
      remove: async (place) => {
        await rename(root(place), `${root(place)}.away`);
        return async () => {
          await rm(root(place), { recursive: true, force: true });
          await rename(`${root(place)}.away`, root(place));
        };
      },
    },
  };
}
