import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { value } from "../kit/expect.ts";
import { HOST, keyOf, manifest, newSession } from "../sample.fixture.ts";
import type { SessionStore } from "../store.ts";
import { databaseFile } from "./database.ts";
import { sqliteStore } from "./store.ts";

const key = keyOf("s1");

let place = "";
let store: SessionStore;

beforeEach(async () => {
  place = mkdtempSync(join(tmpdir(), "fermata-condition-"));
  store = sqliteStore();
  await value(store.init(HOST, { active: true, path: place, durability: "full" }));
  await value(store.activate());
  await value(store.create(key, newSession("s1", { manifest: manifest({ storeId: "sqlite" }) })));
});

afterEach(async () => {
  await store.dispose();
  rmSync(place, { recursive: true, force: true });
});

/** The locks of this process on a file; none where the system does not list them, as macOS. */
function locksOn(file: string): readonly string[] {
  if (!existsSync("/proc/locks")) return [];
  const mine = new RegExp(`POSIX .* ${process.pid} \\S+:${statSync(file).ino} .*`);
  const lines = readFileSync("/proc/locks", "utf8").split("\n");
  return lines.flatMap((line) => mine.exec(line)?.[0] ?? []);
}

describe("a look at the condition of a store", () => {
  it("P1: leaves SQLite its locks, without which another program takes the log away", async () => {
    const file = databaseFile(place, key.tenantId);
    const before = locksOn(file);
    expect(before).toHaveLength(process.platform === "linux" ? 1 : 0);
    expect(await value(store.check?.() ?? Promise.reject(new Error("no check")))).toEqual([]);
    expect(locksOn(file)).toEqual(before);
  });
});
