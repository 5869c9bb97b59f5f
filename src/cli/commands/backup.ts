import { ok } from "../../core/result.ts";
import type { BackupContents } from "../../store/sqlite/backup/contents.ts";
import { takeBackup } from "../../store/sqlite/backup/take.ts";
import { version } from "../version.ts";
import { type PlaceCommand, type PlaceWish, runOnPlace, showTenant } from "./place.ts";

const BACKUP_USAGE = `Usage: fermata backup DIR [--data DIR]

Copies all tenants with their sessions, journals, tokens and attachments into a new
directory, while the server runs or while it does not. Each tenant is copied as it is
at one moment. Only its owner may read the copy; it is as confidential as the data.
A tenant that cannot be read is left out and named, and the exit code is 1.

Not in it: config.json, agents.json and price tables, which are files of yours.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
`;

/** Makes a copy of a data directory that can be restored. */
export function backup(args: readonly string[]): Promise<number> {
  return runOnPlace({ name: "backup", usage: BACKUP_USAGE, act: backUp }, args);
}

async function backUp({ place, root }: PlaceWish): ReturnType<PlaceCommand["act"]> {
  const order = {
    root,
    target: place,
    version: version(),
    nowMs: Date.now(),
    onTenant: showTenant,
  };
  const taken = await takeBackup(order);
  if (!taken.ok) return taken;
  const { damaged } = taken.value;
  const notices = damaged.map(
    ({ tenantId, reason }) =>
      `Tenant ${tenantId} is not in it, because it cannot be read: ${reason}.`,
  );
  const shown = `Backed up ${summed(taken.value)} to ${place}.`;
  return ok({ shown, notices, exitCode: damaged.length > 0 ? 1 : 0 });
}

/** What is in a backup, for people. */
export function summed({ tenants }: BackupContents): string {
  const sessions = tenants.reduce((sum, tenant) => sum + tenant.sessions, 0);
  const bytes = tenants.reduce((sum, tenant) => sum + tenant.bytes, 0);
  const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
  return `${counted(tenants.length, "tenant")}, ${counted(sessions, "session")}, ${bytes} bytes`;
}
