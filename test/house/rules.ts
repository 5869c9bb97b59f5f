import { projectFiles, readText } from "./files.ts";
import { crowdedFolders, folderCycles, modulesImported, smallFilesOfOne } from "./folders.ts";
import type { Sources } from "./imports.ts";
import { isTest } from "./layers.ts";
import { duplicateTypes, namesToAvoid, ownerInterfaces, wordsToAvoid } from "./names.ts";
import { absentCitations, longDocLines, vagueComments } from "./prose.ts";

/** A copy of the repository, as far as the rules look at it. */
export interface House {
  /** The files of `src` without tests and fixtures, by path relative to it. */
  readonly sources: Sources;
  /** All programs with their tests and scripts, by path. */
  readonly programs: ReadonlyMap<string, string>;
  /** What people read. */
  readonly pages: ReadonlyMap<string, string>;
  readonly wordsToAvoid: ReadonlySet<string>;
}

/** Each rule with what breaks it. `npm run house` counts them all. */
const RULES = {
  "modules of session that server imports": ({ sources }) => {
    return modulesImported(sources, "server", "session");
  },
  "owner interfaces (…Owner, …Ears)": ({ sources }) => ownerInterfaces(sources),
  "files under 60 lines with one importer": ({ sources }) => smallFilesOfOne(sources),
  "folders with over 25 files": ({ sources }) => crowdedFolders(sources),
  "folder cycles in session (value)": ({ sources }) => folderCycles(sources, "session"),
  "folder cycles in server (value)": ({ sources }) => folderCycles(sources, "server"),
  "duplicate type names": ({ sources }) => duplicateTypes(sources, "all"),
  "duplicate type names, exported": ({ sources }) => duplicateTypes(sources, "exported"),
  "exported names with a word to avoid": (house) => namesToAvoid(house.sources, house.wordsToAvoid),
  "comments that hide who acts": ({ programs }) => inEach(programs, vagueComments),
  "citations of absent documents": ({ programs }) => {
    return inEach(programs, (_path, text) => absentCitations(text));
  },
  "lines of docs over 160 columns": ({ pages }) => {
    return inEach(pages, (_path, text) => longDocLines(text));
  },
} as const satisfies Readonly<Record<string, (house: House) => readonly string[]>>;

type RuleName = keyof typeof RULES;

/**
 * How many findings each rule still has at most. These figures only ever fall: lower one in the
 * commit that repairs what it counts.
 */
export const CEILINGS: Readonly<Record<RuleName, number>> = {
  "modules of session that server imports": 1,
  "owner interfaces (…Owner, …Ears)": 0,
  "files under 60 lines with one importer": 2,
  "folders with over 25 files": 0,
  "folder cycles in session (value)": 0,
  "folder cycles in server (value)": 0,
  "duplicate type names": 0,
  "duplicate type names, exported": 0,
  "exported names with a word to avoid": 0,
  "comments that hide who acts": 0,
  "citations of absent documents": 0,
  "lines of docs over 160 columns": 0,
};

export interface Finding {
  readonly rule: RuleName;
  readonly found: readonly string[];
}

export function findingsOf(house: House): readonly Finding[] {
  return Object.keys(RULES)
    .filter(isRule)
    .map((rule) => ({ rule, found: RULES[rule](house) }));
}

/** One sentence for a ceiling that is broken, or that is far too high by now. */
export function ceilingFault({ rule, found }: Finding, ceiling: number): string | null {
  const count = found.length;
  if (count > ceiling) {
    const some = found.slice(0, SHOWN_MAX).map((one) => `  ${one}`);
    return [`${rule}: ${count}, at most ${ceiling}`, ...some].join("\n");
  }
  const isFar = ceiling > Math.max(2 * count, count + SLACK);
  return isFar ? `${rule}: only ${count}, so lower the ceiling of ${ceiling}` : null;
}

/** `npm run house -- --list RULE` shows all. */
const SHOWN_MAX = 50;

/** Lets a small repair leave the table alone. */
const SLACK = 20;

/** Reads a copy of the repository; the words to avoid are always those of this one. */
export function houseAt(root: string): House {
  const read = (paths: readonly string[]) => {
    return new Map(paths.map((path) => [path, readText(path, root)]));
  };
  const files = projectFiles(root);
  const programs = read(files.filter((path) => /\.(?:ts|js)$/.test(path)));
  const inSource = [...programs].filter(([path]) => /^src\/.*\.ts$/.test(path) && !isTest(path));
  return {
    sources: new Map(inSource.map(([path, text]) => [path.slice("src/".length), text])),
    programs,
    pages: read(files.filter((path) => /^(?:docs\/.*|[A-Z]+)\.md$/.test(path))),
    wordsToAvoid: wordsToAvoid(readText("docs/ARCHITECTURE.md")),
  };
}

function inEach(
  texts: ReadonlyMap<string, string>,
  find: (path: string, text: string) => readonly string[],
): readonly string[] {
  return [...texts].flatMap(([path, text]) => find(path, text).map((one) => `${path}: ${one}`));
}

function isRule(name: string): name is RuleName {
  return Object.hasOwn(RULES, name);
}
