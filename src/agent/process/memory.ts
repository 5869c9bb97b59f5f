import { readFile } from "node:fs/promises";

/**
 * What these processes have in memory, in all. Pages that they share count for each of them, so
 * it is more than the truth, never less. Null where the system does not say.
 */
export async function residentBytes(pids: readonly number[]): Promise<number | null> {
  if (process.platform !== "linux") return null;
  const each = await Promise.all(pids.map(residentOf));
  return each.reduce((sum, bytes) => sum + bytes, 0);
}

async function residentOf(pid: number): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
  } catch {
    return 0; // It has ended since.
  }
}
