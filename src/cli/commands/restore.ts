import { ok } from "../../core/result.ts";
import { changeEntry } from "../../session/audit/index.ts";
import type { BackupContents } from "../../store/sqlite/backup/contents.ts";
import { restoreBackup } from "../../store/sqlite/backup/restore.ts";
import { summed } from "./backup.ts";
import { type PlaceCommand, type PlaceWish, runOnPlace, showTenant } from "./place.ts";
import { OPERATOR } from "./stored-session.ts";

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
