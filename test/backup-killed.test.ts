import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseTenantId, type TenantId } from "../src/core/id.ts";
import { Chance } from "../src/store/kit/crash/workload.ts";
import { allEntries, value } from "../src/store/kit/expect.ts";
import { entry } from "../src/store/kit/sample.ts";
import { HOST } from "../src/store/sample.fixture.ts";
import { readContents } from "../src/store/sqlite/backup/contents.ts";
import { sqliteStore } from "../src/store/sqlite/store.ts";
import type { SessionStore } from "../src/store/store.ts";
import { ENTRY } from "./server/program.fixture.ts";

// Backups and restores in processes of their own, killed at random moments.

/** CI kills each a few times; for more: `FERMATA_KILLS=50 npx vitest run test/backup-killed`. */
const KILLS = Number(process.env.FERMATA_KILLS ?? 4);
const SEED = Number(process.env.FERMATA_SEED ?? 1);

const TENANTS = ["acme", "globex", "local"];
const BLOB_BYTES = 6 * 1_024 * 1_024;

/** A data directory whose copying takes a moment, and a folder for what is made of it. */
async function filled(): Promise<{ data: string; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "fermata-killed-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, "data");
  const store = await openStore(data);
  for (const tenantId of TENANTS.map(tenant)) {
    await value(store.writeBlob(tenantId, new Uint8Array(BLOB_BYTES).fill(65)));
    await value(store.appendJournal(tenantId, [entry("there")]));
  }
  await value(store.dispose());
  return { data, folder };
}

async function openStore(data: string): Promise<SessionStore> {
  const store = sqliteStore();
  await value(store.init(HOST, { active: true, path: join(data, "sessions") }));
  await value(store.activate());
  return store;
}

const tenant = (name: string): TenantId => parseTenantId(name) ?? expect.fail(name);

function started(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [ENTRY, ...args], { stdio: "ignore" });
}

/** Lets it run to its end, and tells how long that takes here and now. */
async function lasting(...args: readonly string[]): Promise<number> {
  const fromMs = performance.now();
  const [code] = await once(started(...args), "exit");
  expect(code).toBe(0);
  return performance.now() - fromMs;
}

/** Kills it somewhere in its later part: before that a process is only about to begin. */
async function killedWithin(wholeMs: number, chance: Chance, ...args: readonly string[]) {
  const child = started(...args);
  const ended = once(child, "exit");
  await Promise.race([delay((wholeMs * chance.between(40, 105)) / 100), ended]);
  if (child.pid !== undefined) child.kill("SIGKILL");
  await ended;
}

const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder).sort() : []);

/** A restored directory has the tenants, what they had, and an audit entry that they came. */
async function verifyTenants(data: string, tenants: readonly string[]) {
  const store = await openStore(data);
  try {
    expect(await value(store.tenants())).toEqual(tenants);
    for (const tenantId of tenants.map(tenant)) {
      expect(await allEntries(store, tenantId, "audit")).toHaveLength(2);
    }
  } finally {
    await value(store.dispose());
  }
}

describe("a process that is killed", { timeout: 600_000 }, () => {
  it("P5: while it takes a backup leaves a whole one or none, and the next clears up", async () => {
    const { data, folder } = await filled();
    const wholeMs = await lasting("backup", join(folder, "first"), "--data", data);
    const chance = new Chance(SEED);
    const target = join(folder, "backup");
    for (let kill = 0; kill < KILLS; kill += 1) {
      await killedWithin(wholeMs, chance, "backup", target, "--data", data);
      if (existsSync(target)) {
        const text = readFileSync(join(target, "backup.json"), "utf8");
        const contents = await value(Promise.resolve(readContents(text)));
        expect(contents.tenants.map(({ tenantId }) => tenantId)).toEqual(TENANTS);
        rmSync(target, { recursive: true });
      }
    }
    // A copy killed in its first or last millisecond names no process, and is known by its age.
    for (const name of namesIn(folder)) utimesSync(join(folder, name), 1, 1);
    await lasting("backup", target, "--data", data);
    expect(namesIn(folder)).toEqual(["backup", "data", "first"]);
  });

  it("P5: while it restores leaves all or nothing, and a server's start clears up", async () => {
    const { data, folder } = await filled();
    const backup = join(folder, "backup");
    await lasting("backup", backup, "--data", data);
    const wholeMs = await lasting("restore", backup, "--data", join(folder, "first"));
    const chance = new Chance(SEED);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const target = join(folder, `restored-${kill}`);
      await killedWithin(wholeMs, chance, "restore", backup, "--data", target);
      const there = namesIn(join(target, "sessions", "tenants"));
      if (there.length > 0) expect(there).toEqual(TENANTS);
      await verifyTenants(target, there);
      expect(namesIn(join(target, "sessions"))).toEqual(["open", "tenants"]);
      if (there.length === 0) await lasting("restore", backup, "--data", target);
      await verifyTenants(target, TENANTS);
    }
  });
});
