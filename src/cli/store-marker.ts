import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, stringAt } from "../core/json.ts";
import { DONE, fail, type Result } from "../core/result.ts";

/**
 * A note in the data directory that its sessions are in a store of a third party. Commands that
 * work on the directory know the bundled store only, and would take the directory for empty. It is
 * read and never run: a command may have more rights than the server that wrote it.
 */
const MARKER = "store.json";

export async function markStore(
  folder: string,
  other: { readonly storeId: string; readonly file: string } | null,
): Promise<void> {
  const path = join(folder, MARKER);
  if (other === null) return rm(path, { force: true });
  const { storeId, file } = other;
  await writeFile(path, `${JSON.stringify({ storeId, file })}\n`, { mode: 0o600 });
}

/** Refuses a command on a directory whose sessions are elsewhere, and says what works. */
export async function checkBundledStore(folder: string): Promise<Result<void>> {
  const text = await readFile(join(folder, MARKER), "utf8").catch(() => null);
  if (text === null) return DONE;
  const { storeId, file } = markerOf(text);
  const marker = join(folder, MARKER);
  const reason =
    `the last server on ${folder} kept its sessions in the store "${storeId}" (${file}), ` +
    "and this command works with the sqlite store only. Use the routes of the running server " +
    "(POST /tokens, GET /audit, …) with its --token, and the store's own tools for backups; " +
    `or delete ${marker} if the store is sqlite again`;
  return fail("store_unavailable", { reason });
}

function markerOf(text: string) {
  try {
    const read: unknown = JSON.parse(text);
    const marker = isObject(read) ? read : {};
    return { storeId: stringAt(marker, "storeId") ?? "?", file: stringAt(marker, "file") ?? "?" };
  } catch {
    return { storeId: "?", file: "?" };
  }
}
