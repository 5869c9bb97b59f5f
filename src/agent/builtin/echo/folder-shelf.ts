import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { SESSIONS_KEPT_MAX, STATE_FILE_BYTES_MAX } from "./limits.ts";
import { type Entry, readEntry, SESSION_ID, type Shelf } from "./shelf.ts";

/**
 * Sessions in a folder, one file each, one entry a line. Several echoes may share the folder: a
 * number is taken by making its file, which only one of them can.
 */
export function folderShelf(folder: string): Shelf {
  mkdirSync(folder, { recursive: true });
  const fileOf = (id: string) => join(folder, `${id}.jsonl`);

  function numbers(): readonly number[] {
    const ids = readdirSync(folder).map((name) => name.replace(/\.jsonl$/, ""));
    const found = ids.flatMap((id) => Number(SESSION_ID.exec(id)?.[1] ?? []) || []);
    return found.sort((a, b) => a - b);
  }

  return {
    create(entries) {
      const last = numbers().at(-1) ?? 0;
      for (let number = last + 1; number <= SESSIONS_KEPT_MAX; number += 1) {
        const id = `sess-${number}`;
        if (isMade(fileOf(id), entries.map(lineOf).join(""))) return id;
      }
      return null;
    },
    append: (id, entry) => appendFileSync(fileOf(id), lineOf(entry)),
    // The id comes from outside and becomes a file's name.
    read: (id) => (SESSION_ID.test(id) ? readEntries(fileOf(id)) : null),
    ids: () => numbers().map((number) => `sess-${number}`),
  };
}

function lineOf(entry: Entry): string {
  return `${JSON.stringify(entry)}\n`;
}

/** False if another was there first. */
function isMade(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: "wx" });
    return true;
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST") return false;
    throw thrown;
  }
}

function readEntries(file: string): readonly Entry[] | null {
  try {
    if (statSync(file).size > STATE_FILE_BYTES_MAX) return null;
    // The last line may be half a line, if echo was killed while it wrote.
    return readFileSync(file, "utf8")
      .split("\n")
      .flatMap((line) => readEntry(parsed(line)) ?? []);
  } catch {
    return null;
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
