import { execFileSync } from "node:child_process";

/** Which commit a folder has, for the report. */
export function commitOf(root: string): string {
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-C", root, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  try {
    const changed =
      git("status", "--porcelain", "--", "src", "bin") === "" ? "" : ", changed since";
    return `${git("rev-parse", "--short", "HEAD").trim()}${changed}`;
  } catch {
    return "unknown"; // Not a clone: the figures are still good.
  }
}
