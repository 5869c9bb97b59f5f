import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Paths of the files that belong to the project: tracked, or new and not ignored. A copy without
 * its git folder (a downloaded archive) has to do with the folder names that .gitignore lists.
 */
export function projectFiles(root = ROOT): readonly string[] {
  const paths = existsSync(join(root, ".git")) ? filesByGit(root) : filesByWalk(root);
  return paths.filter((path) => existsSync(join(root, path))).sort();
}

/** The texts of every TypeScript file of a folder, by path relative to it. */
export function textsUnder(folder: string, root = ROOT): ReadonlyMap<string, string> {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  const sources = paths.filter((path) => path.endsWith(".ts")).sort();
  return new Map(sources.map((path) => [path, readText(join(folder, path), root)]));
}

export function readText(path: string, root = ROOT): string {
  return readFileSync(join(root, path), "utf8");
}

function filesByGit(root: string): readonly string[] {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const listing = execFileSync("git", args, { cwd: root, encoding: "utf8" });
  return listing.split("\0").filter((path) => path !== "");
}

function filesByWalk(root: string): readonly string[] {
  const ignored = readText(".gitignore", root).split("\n");
  const walk = (folder: string): readonly string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) return [path];
      return ignored.includes(`${entry.name}/`) ? [] : walk(path);
    });
  return walk("");
}
