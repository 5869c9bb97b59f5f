import { constants, type Dirent } from "node:fs";
import { access, opendir, stat } from "node:fs/promises";
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
import type { Footprint } from "./footprint.ts";
import { isNothingThere, reasonOf } from "./system-error.ts";
import { hasName, isInside, readTextInside, type WorkspaceRights } from "./text-file.ts";

/** A directory whose immediate children may be skills. */
export interface SkillRoot {
  readonly source: SkillSource;
  readonly folder: string;
  /** The directory that its real path must be in; null allows a link to anywhere. */
  readonly within: string | null;
  /** Whether a session fails to open without it. */
  readonly isRequired: boolean;
}

/** A skill directory with the real path of its root, which no client may see. */
export interface LocatedSkill extends FoundSkill {
  readonly root: string;
}

export type RootContents =
  | { readonly kind: "listed"; readonly found: readonly LocatedSkill[] }
  | NoRoot;

type NoRoot =
  | { readonly kind: "missing" }
  | { readonly kind: "unusable"; readonly diagnostic: SkillDiagnostic; readonly reason: string };

/** Lists the names in a directory, in any order. */
export type FolderLister = (folder: string) => Promise<AsyncIterable<Dirent>>;

export const listFolder: FolderLister = (folder) => opendir(folder);

/** Resolves the real path of a root, or says why there is none. */
export async function realRoot(
  seen: Footprint,
  { folder, within, source }: SkillRoot,
): Promise<{ readonly kind: "real"; readonly real: string } | NoRoot> {
  try {
    const real = await seen.realpath(folder);
    const home = within === null ? real : await seen.realpath(within);
    if (!isInside(home, real)) return unusable(source, "it leads outside of the workspace");
    if (!(await seen.lstat(real)).isDirectory()) return unusable(source, "it is not a directory");
    return { kind: "real", real };
  } catch (thrown) {
    const isMissing = isNothingThere(thrown) && !(await hasName(seen, folder));
    return isMissing ? { kind: "missing" } : unusable(source, reasonOf(thrown));
  }
}

/** Lists the children of a root that are directories, and whether each has a SKILL.md. */
export async function listSkills(
  seen: Footprint,
  source: SkillSource,
  real: string,
  listing: FolderLister,
): Promise<RootContents> {
  try {
    const children: Dirent[] = [];
    for await (const child of await listing(real)) {
      children.push(child);
      if (children.length > SKILL_ROOT_ENTRIES_MAX) {
        return unusable(source, `it has more than ${SKILL_ROOT_ENTRIES_MAX} names in it`);
      }
    }
    const skills = await inBatches(children, (child) => locate(seen, source, real, child));
    return { kind: "listed", found: skills.filter((skill) => skill !== null) };
  } catch (thrown) {
    seen.failed(thrown);
    return unusable(source, reasonOf(thrown));
  }
}

/** Null for a child that is no directory. */
async function locate(
  seen: Footprint,
  source: SkillSource,
  root: string,
  child: Dirent,
): Promise<LocatedSkill | null> {
  const { name } = child;
  if (child.isDirectory()) {
    return { name, source, root, hasFile: await hasName(seen, join(root, name, "SKILL.md")) };
  }
  if (!child.isSymbolicLink()) return null;
  const target = await linkTarget(seen, root, name);
  if (target === "none") return null;
  // A link that cannot be followed may stand for a skill: reading it reports what is wrong.
  const hasFile = target === "elsewhere" || (await hasName(seen, join(root, name, "SKILL.md")));
  return { name, source, root, hasFile };
}

/** Says whether a link leads to a directory in its root, out of its root, or to no directory. */
async function linkTarget(
  seen: Footprint,
  root: string,
  name: string,
): Promise<"here" | "elsewhere" | "none"> {
  try {
    const real = await seen.realpath(join(root, name));
    if (!isInside(root, real)) return "elsewhere";
    return (await seen.lstat(real)).isDirectory() ? "here" : "none";
  } catch {
    return "elsewhere";
  }
}

function unusable(source: SkillSource, reason: string): Extract<NoRoot, { kind: "unusable" }> {
  const message = `the skills of this root cannot be loaded: ${reason}`;
  return { kind: "unusable", diagnostic: ofRoot(source, "unreadable", message), reason };
}

/**
 * Reads the SKILL.md of each winner, in the order of their names. All texts together are bounded;
 * the snapshot decides later, by other limits, which skills it takes.
 */
export async function readSkills(
  seen: Footprint,
  winners: readonly LocatedSkill[],
  rights: WorkspaceRights | null,
): Promise<readonly SkillCandidate[]> {
  const candidates: SkillCandidate[] = [];
  let bytesLeft = SKILLS_READ_BYTES_MAX;
  for (let at = 0; at < winners.length; at += SKILL_READS_AT_ONCE_MAX) {
    const batch = winners.slice(at, at + SKILL_READS_AT_ONCE_MAX);
    // A file that would not fit even as the first of its batch is not read at all.
    const bytesMax = Math.min(SKILL_FILE_BYTES_MAX, bytesLeft);
    for (const read of await Promise.all(
      batch.map((skill) => readSkill(seen, skill, bytesMax, rights)),
    )) {
      const isFitting = read.bytes <= bytesLeft;
      if (isFitting) bytesLeft -= read.bytes;
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

const GONE: SkillReading = { kind: "fault", code: "unreadable", reason: "it is not there" };

/** The bytes are those that the candidate keeps in memory. */
async function readSkill(
  seen: Footprint,
  { name, source, root }: LocatedSkill,
  bytesMax: number,
  rights: WorkspaceRights | null,
): Promise<{ readonly candidate: SkillCandidate; readonly bytes: number }> {
  const by = source === "workspace" ? rights : null;
  const file = await readTextInside(seen, root, join(root, name, "SKILL.md"), bytesMax, by);
  if (file.kind === "text") {
    // Imported on first use: the YAML parser is large, and a server starts without it.
    const { parseSkillFile } = await import("./skill-file.ts");
    const reading = parseSkillFile(file.text);
    const bytes = reading.kind === "read" ? Buffer.byteLength(file.text) : 0;
    return { candidate: { name, source, reading }, bytes };
  }
  if (file.kind === "missing") return { candidate: { name, source, reading: GONE }, bytes: 0 };
  const isOverTotal = file.code === "too_large" && bytesMax < SKILL_FILE_BYTES_MAX;
  return { candidate: { name, source, reading: isOverTotal ? NOT_FITTING : file }, bytes: 0 };
}

/**
 * Filters the programs that PATH offers. Relative directories in PATH are ignored: they would make
 * the answer depend on the working directory of the server. Where a program was found the last time
 * is looked at first: PATH may have many directories, and where it is now does not matter.
 */
export async function binariesOnPath(
  names: Iterable<string>,
  path: string | undefined,
  lastFound: Map<string, string>,
): Promise<ReadonlySet<string>> {
  const absolute = (path ?? "").split(delimiter).filter(isAbsolute);
  const folders = [...new Set(absolute)].slice(0, SKILL_PATH_FOLDERS_MAX);
  const wanted = [...new Set(names)].toSorted(byCodePoint).slice(0, SKILL_BINARIES_MAX);
  const found = await inBatches(wanted, async (name) => {
    const last = lastFound.get(name);
    if (last !== undefined && folders.includes(last) && (await canRun(join(last, name))))
      return name;
    // All at once: one after the other, the last of many folders is a long way.
    const able = await Promise.all(folders.map((folder) => canRun(join(folder, name))));
    const folder = folders[able.indexOf(true)];
    if (folder === undefined) return null;
    lastFound.set(name, folder);
    return name;
  });
  return new Set(found.filter((name) => name !== null));
}

async function canRun(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    // A directory passes the check for X_OK, too.
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** Works on a bounded number of items at once; the answers are in the order of the items. */
async function inBatches<Item, Answer>(
  items: readonly Item[],
  work: (item: Item) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (let at = 0; at < items.length; at += SKILL_READS_AT_ONCE_MAX) {
    answers.push(...(await Promise.all(items.slice(at, at + SKILL_READS_AT_ONCE_MAX).map(work))));
  }
  return answers;
}
