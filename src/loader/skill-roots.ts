import type { Dirent } from "node:fs";
import { opendir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { SKILL_READS_AT_ONCE_MAX, SKILL_ROOT_ENTRIES_MAX } from "../core/limits.ts";
import { ofRoot } from "../core/skill/diagnostic.ts";
import type { FoundSkill } from "../core/skill/precedence.ts";
import type { SkillDiagnostic, SkillSource } from "../core/skill/skill.ts";
import { inBatches } from "./batches.ts";
import { hasName, isInside, isNothingThere, reasonOf } from "./text-file.ts";

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
