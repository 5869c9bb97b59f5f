import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { LOCAL_TENANT } from "../../server/http/authenticator.ts";
import { diskLook } from "./disk.ts";

it("P10: a tenant uses the size of its files; one that is not there uses none", async () => {
  const root = mkdtempSync(join(tmpdir(), "fermata-disk-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const look = diskLook(root);
  expect(await look.usedBytes(LOCAL_TENANT)).toBe(0);
  mkdirSync(join(root, "tenants", "local"), { recursive: true });
  writeFileSync(join(root, "tenants", "local", "sessions.db"), Buffer.alloc(1_000));
  writeFileSync(join(root, "tenants", "local", "sessions.db-wal"), Buffer.alloc(234));
  expect(await look.usedBytes(LOCAL_TENANT)).toBe(1_234);
  expect(await look.freeBytes()).toBeGreaterThan(0);
  expect(await diskLook(join(root, "missing")).freeBytes()).toBeNull();
});
