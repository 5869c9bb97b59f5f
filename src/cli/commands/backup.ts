import type { TenantId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import { changeEntry } from "../../session/audit/entries.ts";
import type { BackupContents } from "../../store/sqlite/backup/contents.ts";
import { restoreBackup } from "../../store/sqlite/backup/restore.ts";
import { takeBackup } from "../../store/sqlite/backup/take.ts";
import { version } from "../output.ts";
import { claimForRestore } from "../serve/data-claim.ts";
import { checkBundledStore } from "../store-marker.ts";
import { BACKUP, RESTORE } from "../table/care.ts";
import { type CommandOutput, OPERATOR, runCommand, storeFolder, wrong } from "./data-command.ts";

/** Copies a data directory. */
export function backup(args: readonly string[]): Promise<number> {
  return runOnFolder({ row: BACKUP, act: takeCopy }, args);
}

/** Makes a data directory from a backup. */
export function restore(args: readonly string[]): Promise<number> {
  return runOnFolder({ row: RESTORE, act: restoreCopy }, args);
}

/** A command that takes one directory, and works on a whole data directory. */
interface FolderCommand {
  readonly row: typeof BACKUP | typeof RESTORE;
  act(folder: string, data: string): Promise<Result<CommandOutput>>;
}

function runOnFolder({ row, act }: FolderCommand, args: readonly string[]): Promise<number> {
  const read = (_: unknown, [folder = "", extra]: readonly string[]) => {
    if (folder === "" || extra !== undefined) return wrong("expected one directory");
    return ok((data: string) => act(folder, data));
  };
  return runCommand({ row, read }, args);
}

async function takeCopy(target: string, data: string): Promise<Result<CommandOutput>> {
  const own = await checkBundledStore(data);
  if (!own.ok) return own;
  const root = storeFolder(data);
  const options = { root, target, version: version(), nowMs: Date.now() };
  const taken = await takeBackup({ ...options, onTenant: showProgress });
  if (!taken.ok) return taken;
  const { damaged } = taken.value;
  const notices = damaged.map(
    ({ tenantId, reason }) =>
      `Tenant ${tenantId} is not in it, because it cannot be read: ${reason}.`,
  );
  const shown = `Backed up ${summary(taken.value)} to ${target}.`;
  return ok({ shown, notices, exitCode: damaged.length > 0 ? 1 : 0 });
}

async function restoreCopy(source: string, data: string): Promise<Result<CommandOutput>> {
  const own = await checkBundledStore(data);
  if (!own.ok) return own;
  const claim = await claimForRestore(data);
  if (!claim.ok) return claim;
  return restoreInto(data, source).finally(() => claim.value.release());
}

async function restoreInto(data: string, source: string): Promise<Result<CommandOutput>> {
  const root = storeFolder(data);
  const atMs = Date.now();
  const entryOf = ({ takenAt, fermata }: BackupContents) =>
    changeEntry({ act: "restored", by: OPERATOR, details: { takenAt, fermata }, atMs });
  const restored = await restoreBackup({ root, source, entryOf, onTenant: showProgress });
  if (!restored.ok) return restored;
  const { takenAt, damaged } = restored.value;
  const shown = `Restored ${summary(restored.value)}, as of ${takenAt}, into ${data}.`;
  const notices = damaged.map(
    ({ tenantId }) =>
      `Tenant ${tenantId} is missing: it could not be read when the backup was made.`,
  );
  return ok({ shown, notices });
}

function summary({ tenants }: BackupContents): string {
  const sessions = tenants.reduce((sum, tenant) => sum + tenant.sessions, 0);
  const bytes = tenants.reduce((sum, tenant) => sum + tenant.bytes, 0);
  const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
  return `${counted(tenants.length, "tenant")}, ${counted(sessions, "session")}, ${bytes} bytes`;
}

/** Only on a terminal: large tenants take a while. */
function showProgress(tenantId: TenantId, position: number, count: number) {
  if (process.stderr.isTTY)
    process.stderr.write(`fermata: tenant ${position} of ${count}, ${tenantId}\n`);
}
