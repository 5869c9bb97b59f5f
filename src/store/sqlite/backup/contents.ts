import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { parseTenantId, type TenantId } from "../../../core/id.ts";
import { isObject, type JsonObject } from "../../../core/json.ts";
import { BACKUP_CONTENTS_BYTES_MAX } from "../../../core/limits.ts";
import { fail, ok, type Result } from "../../../core/result.ts";
import { caseSafe } from "../../../platform/case-safe.ts";
import { syncFolder } from "../database.ts";

/** What a backup says of itself, in its `backup.json`. */
export interface BackupContents {
  readonly format: typeof BACKUP_FORMAT;
  /** The version that has made it. */
  readonly fermata: string;
  /** When it was begun, as ISO 8601: nothing in it is older than what there was then. */
  readonly takenAt: string;
  readonly tenants: readonly BackedUpTenant[];
  /** Those that are not in it, because what there was of them could not be read. */
  readonly damaged: readonly DamagedTenant[];
}

export interface DamagedTenant {
  readonly tenantId: TenantId;
  readonly reason: string;
}

export interface BackedUpTenant {
  readonly tenantId: TenantId;
  readonly sessions: number;
  /** Of its database, which is where `backupFile` says. */
  readonly bytes: number;
  readonly sha256: string;
}

export const BACKUP_FORMAT = 1;

export const CONTENTS_FILE = "backup.json";

/** Where a tenant's database is in a backup, as in a store; always with slashes. */
export function backupFile(tenantId: TenantId): string {
  return `tenants/${caseSafe(tenantId)}/sessions.db`;
}

export function writeContents(contents: BackupContents): string {
  return `${JSON.stringify(contents, null, 2)}\n`;
}

export function readContents(text: string): Result<BackupContents> {
  if (text.length > BACKUP_CONTENTS_BYTES_MAX) return wrong("it is too large");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return wrong("it is not JSON");
  }
  if (!isObject(value)) return wrong("it is no object");
  const { format, fermata, takenAt, tenants, damaged = [] } = value;
  if (Number(format) > BACKUP_FORMAT) return ofNewer(String(fermata));
  if (format !== BACKUP_FORMAT) return wrong(`its format is ${format}, and we know 1`);
  if (typeof fermata !== "string") return wrong("it names no version");
  if (typeof takenAt !== "string" || Number.isNaN(Date.parse(takenAt))) return wrong("no time");
  const known = allOf(tenants, readTenant);
  const missing = allOf(damaged, readDamaged);
  if (known === null || missing === null) return wrong("its tenants");
  return ok({ format, fermata, takenAt, tenants: known, damaged: missing });
}

/** Null if one of them makes no sense, or is there twice. */
function allOf<Tenant extends { readonly tenantId: TenantId }>(
  values: unknown,
  readOne: (value: unknown) => Tenant | null,
): readonly Tenant[] | null {
  const read = Array.isArray(values) ? values.map(readOne) : [null];
  const known = read.filter((tenant) => tenant !== null);
  const ids = new Set(known.map(({ tenantId }) => tenantId));
  return ids.size < read.length ? null : known;
}

function readTenant(value: unknown): BackedUpTenant | null {
  if (!isObject(value)) return null;
  const { sessions, bytes, sha256 } = value;
  const tenantId = idIn(value);
  if (tenantId === null || !isCount(sessions) || !isCount(bytes)) return null;
  return typeof sha256 === "string" ? { tenantId, sessions, bytes, sha256 } : null;
}

function readDamaged(value: unknown): DamagedTenant | null {
  if (!isObject(value) || typeof value.reason !== "string") return null;
  const tenantId = idIn(value);
  return tenantId === null ? null : { tenantId, reason: value.reason };
}

function idIn({ tenantId }: JsonObject): TenantId | null {
  return typeof tenantId === "string" ? parseTenantId(tenantId) : null;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** What is whole, but beyond us. */
export function ofNewer(version: string): Result<never> {
  const reason = `the backup was made by a newer Fermata, ${version}; restore it with that one`;
  return fail("restore_failed", { reason });
}

function wrong(what: string): Result<never> {
  return fail("backup_unreadable", { reason: `${CONTENTS_FILE} cannot be read: ${what}` });
}

/** How much a file weighs, and the SHA-256 of its content; it is on the disk by then. */
export async function digestOf(
  file: string,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(file)) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  await flush(file);
  return { bytes, sha256: hash.digest("hex") };
}

/** Writes a file of its owner's that is on the disk when this is over. */
export async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  syncFolder(dirname(file));
}

/** A file and its name, and the name of the folder that it is in. */
async function flush(file: string): Promise<void> {
  const handle = await open(file, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  syncFolder(dirname(file));
  syncFolder(dirname(dirname(file)));
}
