import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { TenantId } from "../../core/id.ts";
import { DISK_RESERVE_BYTES } from "../../core/limits.ts";
import { caseSafe } from "../../platform/case-safe.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { type DiskLook, TenantDisk } from "../../session/tenant/tenant-disk.ts";
import type { ServeOptions } from "./options.ts";
import { sessionsFolder } from "./store.ts";

const MEBIBYTE = 1_024 * 1_024;

/** The shares of the disk; null where the store does not keep its sessions in our folder. */
export function openDisk(options: ServeOptions, folder: string): TenantDisk | null {
  if (options.store !== "sqlite") return null;
  const quotaMb = options["tenant-disk-max-mb"];
  const reserveMb = options["disk-reserve-mb"];
  const bounds = {
    tenantBytesMax: quotaMb === null || quotaMb === 0 ? null : quotaMb * MEBIBYTE,
    reserveBytes: reserveMb === null ? DISK_RESERVE_BYTES : reserveMb * MEBIBYTE,
  };
  return new TenantDisk(diskLook(sessionsFolder(folder)), bounds, SYSTEM_CLOCK);
}

/** Looks at the files of the SQLite store, whose tenants have a folder each. */
export function diskLook(root: string): DiskLook {
  return {
    freeBytes: async () => {
      const found = await statfs(root).catch(() => null);
      return found === null ? null : found.bavail * found.bsize;
    },
    usedBytes: (tenantId: TenantId) => sizeOf(join(root, "tenants", caseSafe(tenantId))),
  };
}

/** A folder that is not there yet takes nothing. */
async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => null)));
  return found.reduce((sum, one) => sum + (one?.size ?? 0), 0);
}
