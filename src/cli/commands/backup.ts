import type { TenantId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import { changeEntry } from "../../session/audit/entries.ts";
import type { BackupContents } from "../../store/sqlite/backup/contents.ts";
import { restoreBackup } from "../../store/sqlite/backup/restore.ts";
import { takeBackup } from "../../store/sqlite/backup/take.ts";
import { readCommandLine } from "../command-line.ts";
import { version } from "../output.ts";
import { claimForRestore } from "../serve/data-claim.ts";
import { checkBundledStore } from "../store-marker.ts";
import {
  type CommandOutput,
  DATA_OPTIONS,
  OPERATOR,
  runCommand,
  storeFolder,
  wrong,
} from "./data-command.ts";

const BACKUP_USAGE = `Usage: fermata backup DIR [--data DIR]

Copies all tenants with their sessions, journals, tokens and attachments into a new
directory, beside a running server or without one. Each tenant is copied as it is at
one moment. Only its owner may read the copy; it is as confidential as the data. A
tenant that cannot be read is left out and named, and the exit code is then 1.

The copy does not have config.json, agents.json, mcp.json and price tables.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
`;

const RESTORE_USAGE = `Usage: fermata restore DIR [--data DIR]

Restores a backup of "fermata backup" into a data directory that has no sessions yet,
completely or not at all. First stop the server that uses the directory, and move old
sessions away.

Turns that ran at the time of the backup end as after a crash when the server starts,
and waiting prompts run. Clients have to load their sessions again, and agents get the
conversation again, because both may know of later events.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
`;

/** Copies a data directory. */
export function backup(args: readonly string[]): Promise<number> {
  return runOnFolder({ name: "backup", usage: BACKUP_USAGE, act: takeCopy }, args);
}

/** Makes a data directory from a backup. */
export function restore(args: readonly string[]): Promise<number> {
  return runOnFolder({ name: "restore", usage: RESTORE_USAGE, act: restoreCopy }, args);
}

/** A command that takes one directory, and works on a whole data directory. */
interface FolderCommand {
  readonly name: string;
  readonly usage: string;
  act(folder: string, data: string): Promise<Result<CommandOutput>>;
}

function runOnFolder(
  { name, usage, act }: FolderCommand,
  args: readonly string[],
): Promise<number> {
  const read = (_: unknown, [folder = "", extra]: readonly string[]) => {
    if (folder === "" || extra !== undefined) return wrong("expected one directory");
    return ok((data: string) => act(folder, data));
  };
  return runCommand({ name, usage, parse, read }, args);
}

const parse = (args: readonly string[]) =>
  readCommandLine({ args, options: DATA_OPTIONS, allowPositionals: true });

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
