import { randomUUID } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isGone, readHolder, thisHolder } from "../../holder.ts";
import { makeFolder, syncFolder } from "../database.ts";

/** Where a backup grows, beside the name that it will have, with a note of who makes it. */
export function makeDraft(target: string): string {
  makeFolder(dirname(target));
  clearDrafts(target);
  const draft = `${target}${PARTIAL}${randomUUID()}`;
  mkdirSync(draft, { mode: 0o700 });
  writeFileSync(join(draft, MAKER), JSON.stringify(thisHolder("backup")), { mode: 0o600 });
  return draft;
}

/** Gives it its name, when all of it is on the disk. */
export function nameDraft(draft: string, target: string) {
  rmSync(join(draft, MAKER));
  renameSync(draft, target);
  syncFolder(dirname(target));
}

/** What backups to the same place left behind that were killed, and nobody else's. */
function clearDrafts(target: string) {
  const folder = dirname(target);
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(`${basename(target)}${PARTIAL}`)) continue;
    if (isLeft(join(folder, name))) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** One without a maker is at its very beginning or its very end, or was killed there. */
function isLeft(draft: string): boolean {
  try {
    const maker = readHolder(readFileSync(join(draft, MAKER), "utf8"));
    return maker !== null && isGone(maker);
  } catch {
    const { mtimeMs } = statSync(draft, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    return Date.now() - mtimeMs > MAKERLESS_MS_MAX;
  }
}

const PARTIAL = ".partial-";

const MAKER = "maker.json";

/** It takes milliseconds to write the note, or to give a draft its name after that is gone. */
const MAKERLESS_MS_MAX = 60_000;
