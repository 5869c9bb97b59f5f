import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import {
  SKILL_BINARIES_MAX,
  SKILL_PATH_FOLDERS_MAX,
  SKILL_READS_AT_ONCE_MAX,
} from "../core/limits.ts";
import { byCodePoint } from "../core/skill/code-point.ts";
import { inBatches } from "./batches.ts";

/**
 * Those of the programs that can be run by name. A relative directory in PATH would make the
 * answer depend on where the server happens to stand, so it does not count.
 */
export async function binariesOnPath(
  names: Iterable<string>,
  path: string | undefined,
): Promise<ReadonlySet<string>> {
  const folders = (path ?? "").split(delimiter).filter(isAbsolute);
  const places = [...new Set(folders)].slice(0, SKILL_PATH_FOLDERS_MAX);
  const wanted = [...new Set(names)].toSorted(byCodePoint).slice(0, SKILL_BINARIES_MAX);
  const found = await inBatches(wanted, SKILL_READS_AT_ONCE_MAX, async (name) => {
    for (const place of places) if (await canRun(join(place, name))) return [name];
    return [];
  });
  return new Set(found.flat());
}

async function canRun(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    // A directory can be "executed", too, in the sense of the question above.
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
