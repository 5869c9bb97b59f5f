import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Paths of the files that belong to the project: tracked, or new and not ignored. A copy without
 * its git folder (a downloaded archive) has to do with the folder names that .gitignore lists.
 */
export function projectFiles(): readonly string[] {
  const paths = existsSync(join(ROOT, ".git")) ? filesByGit() : filesByWalk();
  return paths.filter((path) => existsSync(join(ROOT, path))).sort();
}

/** The texts of every TypeScript file of a folder, by path relative to it. */
export function textsUnder(folder: string): ReadonlyMap<string, string> {
  const paths = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  const sources = paths.filter((path) => path.endsWith(".ts")).sort();
  return new Map(sources.map((path) => [path, readText(join(folder, path))]));
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

function filesByGit(): readonly string[] {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const listing = execFileSync("git", args, { cwd: ROOT, encoding: "utf8" });
  return listing.split("\0").filter((path) => path !== "");
}

function filesByWalk(): readonly string[] {
  const ignored = readText(".gitignore").split("\n");
  const walk = (folder: string): readonly string[] =>
    readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) return [path];
      return ignored.includes(`${entry.name}/`) ? [] : walk(path);
    });
  return walk("");
}
