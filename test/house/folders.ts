import { importsOf, type Sources, targetOf } from "./imports.ts";
import { lineCount } from "./measure.ts";

const FOLDER_FILES_MAX = 25;

/** A file with so many imports of our own files is a list of parts, such as all routes. */
const LIST_IMPORTS_MIN = 30;

const SMALL_FILE_LINES_MAX = 60;

/** The folders with too many files, as `src/server/route: 52 files`; subfolders count apart. */
export function crowdedFolders(sources: Sources): readonly string[] {
  const counts = new Map<string, number>();
  for (const path of sources.keys()) {
    const folder = path.split("/").slice(0, -1).join("/");
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const crowded = [...counts].filter(([, count]) => count > FOLDER_FILES_MAX);
  return crowded.map(([folder, count]) => `src/${folder}: ${count} files`);
}

/**
 * The groups of folders directly below this one that import each other, as `actor, life, live.ts`.
 * A file beside the folders stands for itself. Type-only imports load nothing, and count only if
 * they are asked for.
 */
export function folderCycles(
  sources: Sources,
  folder: string,
  which: "values" | "types too" = "values",
): readonly string[] {
  const targets = new Map<string, Set<string>>();
  for (const [path, text] of sources) {
    const from = partOf(path, folder);
    if (from === null) continue;
    const own = targets.get(from) ?? new Set();
    targets.set(from, own);
    for (const found of importsOf(path, text)) {
      const isMeant = which === "types too" || !found.isTypeOnly;
      const to = isMeant ? partOf(targetOf(found) ?? "", folder) : null;
      if (to !== null && to !== from) own.add(to);
    }
  }
  const reached = new Map([...targets.keys()].map((part) => [part, reachedFrom(part, targets)]));
  const groups = [...reached].map(([part, others]) => {
    const mutual = [...others].filter((other) => reached.get(other)?.has(part));
    return mutual.length > 1 ? mutual.sort().join(", ") : "";
  });
  return [...new Set(groups)].filter((group) => group !== "");
}

/** `actor` for `session/actor/history.ts` below `session`, and `live.ts` for `session/live.ts`. */
function partOf(path: string, folder: string): string | null {
  return path.startsWith(`${folder}/`) ? (path.split("/")[folder.split("/").length] ?? null) : null;
}

function reachedFrom(start: string, targets: ReadonlyMap<string, ReadonlySet<string>>) {
  const reached = new Set<string>();
  const open = [start];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    for (const next of targets.get(part) ?? []) {
      if (!reached.has(next)) open.push(next);
      reached.add(next);
    }
  }
  return reached;
}

/** The files of one folder that files of another import, types included. */
export function modulesImported(sources: Sources, by: string, of: string): readonly string[] {
  const modules = new Set<string>();
  for (const [path, text] of sources) {
    if (!path.startsWith(`${by}/`)) continue;
    for (const found of importsOf(path, text)) {
      const target = targetOf(found);
      if (target?.startsWith(`${of}/`)) modules.add(target);
    }
  }
  return [...modules].sort();
}

/**
 * Small files that one other file imports and no more, so that they might be part of it. Parts of a
 * list (of all routes, of all checks of a kit) and what an `index.ts` publishes are not meant.
 */
export function smallFilesOfOne(sources: Sources): readonly string[] {
  const importers = new Map<string, string[]>();
  const lists = new Set<string>();
  for (const [path, text] of sources) {
    const targets = new Set(importsOf(path, text).map((found) => targetOf(found) ?? ""));
    if (targets.size >= LIST_IMPORTS_MIN || path.endsWith("/index.ts")) lists.add(path);
    for (const target of targets) importers.set(target, [...(importers.get(target) ?? []), path]);
  }
  return [...sources].flatMap(([path, text]) => {
    const [importer, ...more] = importers.get(path) ?? [];
    if (importer === undefined || more.length > 0 || lists.has(importer)) return [];
    return lineCount(text) < SMALL_FILE_LINES_MAX ? [`${path}, of ${importer}`] : [];
  });
}
