import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "../database.ts";

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
