import { parseArgs } from "node:util";
import type { TenantId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import { changeEntry } from "../../session/audit/entries.ts";
import type { BackupContents } from "../../store/sqlite/backup/contents.ts";
import { restoreBackup } from "../../store/sqlite/backup/restore.ts";
import { takeBackup } from "../../store/sqlite/backup/take.ts";
import { version } from "../output.ts";
import {
  DATA_OPTIONS,
  OPERATOR,
  type Outcome,
  runCommand,
  storeFolder,
  wrong,
} from "./data-command.ts";

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

const RESTORE_USAGE = `Usage: fermata restore DIR [--data DIR]

Puts a backup of "fermata backup" into a data directory that has no sessions yet, all
of it or nothing. Move old sessions away first, and stop the server that uses them.

What was at work when the backup was made ends as after a crash when the server
starts; what waited then runs. Clients are told to load their sessions again, and
agents are told the conversation anew, because both may know of what came later.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
`;

/** Makes a data directory of a backup. */
export function restore(args: readonly string[]): Promise<number> {
  return runOnPlace({ name: "restore", usage: RESTORE_USAGE, act: putBack }, args);
}

async function putBack({ place, data, root }: PlaceWish): ReturnType<PlaceCommand["act"]> {
  const atMs = Date.now();
  const entryOf = ({ takenAt, fermata }: BackupContents) =>
    changeEntry({ act: "restored", by: OPERATOR, details: { takenAt, fermata }, atMs });
  const restored = await restoreBackup({ root, source: place, entryOf, onTenant: showTenant });
  if (!restored.ok) return restored;
  const { takenAt, damaged } = restored.value;
  const shown = `Restored ${summed(restored.value)}, as of ${takenAt}, into ${data}.`;
  const notices = damaged.map(
    ({ tenantId }) =>
      `Tenant ${tenantId} is missing: it could not be read when the backup was made.`,
  );
  return ok({ shown, notices });
}

/** A command that takes one directory, and is about the whole of a data directory. */
export interface PlaceCommand {
  readonly name: string;
  readonly usage: string;
  act(wish: PlaceWish): Promise<Result<Outcome>>;
}

export interface PlaceWish {
  /** The directory that was named. */
  readonly place: string;
  readonly data: string;
  /** Where the store is in the data directory. */
  readonly root: string;
}

/** Runs it and returns its exit code. */
export function runOnPlace(
  { name, usage, act }: PlaceCommand,
  args: readonly string[],
): Promise<number> {
  const mistake = `${name} takes one directory`;
  const read = (_: unknown, [place = "", unknown]: readonly string[]) => {
    if (place === "" || unknown !== undefined) return wrong(mistake);
    return ok((data: string) => act({ place, data, root: storeFolder(data) }));
  };
  return runCommand({ name, usage, mistake, parse, read }, args);
}

const parse = (args: readonly string[]) =>
  parseArgs({ args, options: DATA_OPTIONS, allowPositionals: true });

/** Shows how far it is, to whoever sits in front of it: large tenants take a while. */
export function showTenant(tenantId: TenantId, place: number, all: number) {
  if (process.stderr.isTTY)
    process.stderr.write(`fermata: tenant ${place} of ${all}, ${tenantId}\n`);
}
