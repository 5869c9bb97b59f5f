import { readdir, readlink, realpath } from "node:fs/promises";

/** What keeps this process alive, counted by kind. */
export function resourceCounts(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** The files below a directory that this process has open, as Linux lists them. */
export async function openFilesUnder(root: string): Promise<readonly string[]> {
  const real = await realpath(root);
  const handles = await readdir("/proc/self/fd");
  const targets = await Promise.all(
    // A handle may be gone by the time it is looked at, such as that of the listing itself.
    handles.map((handle) => readlink(`/proc/self/fd/${handle}`).catch(() => "")),
  );
  return targets.filter((target) => target.startsWith(`${real}/`));
}
