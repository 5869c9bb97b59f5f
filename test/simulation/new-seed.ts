import { execFileSync } from "node:child_process";

/**
 * Where the search for lives that break a promise goes on: at `FERMATA_SEED`, or else somewhere
 * new each time. In CI that is somewhere new with each commit: the same commit lives the same
 * lives again, so that a failure there can be repeated.
 */
export function newSeed(): number {
  const { FERMATA_SEED: chosen, CI: isInCi = "" } = process.env;
  if (chosen !== undefined) return Number(chosen);
  return isInCi === "" ? Date.now() % 1_000_000_000 : seedOfCommit();
}

function seedOfCommit(): number {
  try {
    const commit = execFileSync("git", ["rev-parse", "HEAD"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return Number.parseInt(commit.slice(0, 7), 16);
  } catch {
    return 1; // There is no git here, or no repository.
  }
}
