import { constants, type Dirent } from "node:fs";
import { access, opendir, realpath, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import {
  SKILL_BINARIES_MAX,
  SKILL_FILE_BYTES_MAX,
  SKILL_PATH_FOLDERS_MAX,
  SKILL_READS_AT_ONCE_MAX,
  SKILL_ROOT_ENTRIES_MAX,
  SKILLS_READ_BYTES_MAX,
} from "../core/limits.ts";
import type { FoundSkill } from "../core/skill/precedence.ts";
import { ofRoot, type SkillDiagnostic, type SkillSource } from "../core/skill/skill.ts";
import type { SkillCandidate, SkillReading } from "../core/skill/snapshot.ts";
import { byCodePoint } from "../core/text.ts";
import { hasName, isInside, isNothingThere, readTextInside, reasonOf } from "./text-file.ts";

/** A directory whose immediate children may be skills. */
export interface SkillRoot {
  readonly source: SkillSource;
  readonly folder: string;
  /** Where it must really lie; null where it may be a link to anywhere, as the owner likes. */
  readonly within: string | null;
}

/** A directory that was found, with the real path of its root, of which nobody else learns. */
export interface PlacedSkill extends FoundSkill {
  readonly root: string;
}

/** What looking into a root came to. */
export type RootLook =
  | { readonly kind: "looked"; readonly found: readonly PlacedSkill[] }
  | { readonly kind: "missing" }
  | { readonly kind: "unusable"; readonly diagnostic: SkillDiagnostic; readonly reason: string };

type RealRoot =
  | { readonly kind: "real"; readonly real: string }
  | Exclude<RootLook, { kind: "looked" }>;

/** How the names in a directory are listed; the order in which they come means nothing. */
export type Listing = (folder: string) => Promise<AsyncIterable<Dirent>>;

export const listFolder: Listing = (folder) => opendir(folder);

/** Where a root really is, or why it is nowhere. */
export async function realRoot({ folder, within, source }: SkillRoot): Promise<RealRoot> {
  try {
    const real = await realpath(folder);
    const home = within === null ? real : await realpath(within);
    if (!isInside(home, real)) return unusable(source, "it leads outside of the workspace");
    if (!(await stat(real)).isDirectory()) return unusable(source, "it is not a directory");
    return { kind: "real", real };
  } catch (thrown) {
    const isMissing = isNothingThere(thrown) && !(await hasName(folder));
    return isMissing ? { kind: "missing" } : unusable(source, reasonOf(thrown));
  }
}

/** The children of a root that are directories, and whether they could be skills. */
export async function lookInto(
  source: SkillSource,
  real: string,
  listing: Listing,
): Promise<RootLook> {
  try {
    const children: Dirent[] = [];
    for await (const child of await listing(real)) {
      children.push(child);
      if (children.length > SKILL_ROOT_ENTRIES_MAX) {
        return unusable(source, `it has more than ${SKILL_ROOT_ENTRIES_MAX} names in it`);
      }
    }
    const looks = await inBatches(children, SKILL_READS_AT_ONCE_MAX, (child) => {
      return lookAt(source, real, child);
    });
    return { kind: "looked", found: looks.filter((look) => look !== null) };
  } catch (thrown) {
    return unusable(source, reasonOf(thrown));
  }
}

/** Null for what is no directory. */
async function lookAt(
  source: SkillSource,
  root: string,
  child: Dirent,
): Promise<PlacedSkill | null> {
  const { name } = child;
  if (child.isDirectory()) {
    return { name, source, root, hasFile: await hasName(join(root, name, "SKILL.md")) };
  }
  if (!child.isSymbolicLink()) return null;
  const target = await targetOf(root, name);
  if (target === "none") return null;
  // A link that cannot be followed may stand for a skill: reading it will say what is wrong.
  const hasFile = target === "elsewhere" || (await hasName(join(root, name, "SKILL.md")));
  return { name, source, root, hasFile };
}

/** What a link is for: a directory inside of its root, one that cannot be had, or no directory. */
async function targetOf(root: string, name: string): Promise<"here" | "elsewhere" | "none"> {
  try {
    const real = await realpath(join(root, name));
    if (!isInside(root, real)) return "elsewhere";
    return (await stat(real)).isDirectory() ? "here" : "none";
  } catch {
    return "elsewhere";
  }
}

function unusable(source: SkillSource, reason: string): Extract<RootLook, { kind: "unusable" }> {
  const words = `the skills of this root cannot be loaded: ${reason}`;
  return { kind: "unusable", diagnostic: ofRoot(source, "unreadable", words), reason };
}

/**
 * Reads the files of those that won, in the order of their names, some at a time. There is an end
 * to what is held of them all; which of them are taken is decided later, by other measures.
 */
export async function readSkills(
  winners: readonly PlacedSkill[],
): Promise<readonly SkillCandidate[]> {
  const candidates: SkillCandidate[] = [];
  let left = SKILLS_READ_BYTES_MAX;
  for (let at = 0; at < winners.length; at += SKILL_READS_AT_ONCE_MAX) {
    const batch = winners.slice(at, at + SKILL_READS_AT_ONCE_MAX);
    // What would not fit even if it came first is not read at all.
    const bytesMax = Math.min(SKILL_FILE_BYTES_MAX, left);
    for (const read of await Promise.all(batch.map((skill) => readSkill(skill, bytesMax)))) {
      const isFitting = read.bytes <= left;
      if (isFitting) left -= read.bytes;
      candidates.push(isFitting ? read.candidate : { ...read.candidate, reading: NOT_FITTING });
    }
  }
  return candidates;
}

const NOT_FITTING: SkillReading = {
  kind: "fault",
  code: "too_large",
  reason: `all files together have at most ${SKILLS_READ_BYTES_MAX} bytes`,
};

interface ReadSkill {
  readonly candidate: SkillCandidate;
  /** What of it is kept. */
  readonly bytes: number;
}

async function readSkill(skill: PlacedSkill, bytesMax: number): Promise<ReadSkill> {
  const { name, source, root } = skill;
  const file = await readTextInside(root, join(root, name, "SKILL.md"), bytesMax);
  if (file.kind === "text") {
    // The parser of YAML that it needs is large, and no server needs it to start.
    const { parseSkillFile } = await import("./skill-file.ts");
    const reading = parseSkillFile(file.text);
    const bytes = reading.kind === "read" ? Buffer.byteLength(file.text) : 0;
    return { candidate: { name, source, reading }, bytes };
  }
  if (file.kind === "fault" && file.code === "too_large" && bytesMax < SKILL_FILE_BYTES_MAX) {
    return { candidate: { name, source, reading: NOT_FITTING }, bytes: 0 };
  }
  const fault = file.kind === "fault" ? file : GONE;
  return { candidate: { name, source, reading: fault }, bytes: 0 };
}

const GONE: SkillReading = { kind: "fault", code: "unreadable", reason: "it is not there" };

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

/** Does the work on each item, some at a time; the answers are in the order of the items. */
async function inBatches<Item, Answer>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    answers.push(...(await Promise.all(items.slice(at, at + atOnce).map(work))));
  }
  return answers;
}
