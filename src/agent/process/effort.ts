import { readFile } from "node:fs/promises";

/**
 * The processor time that these processes have used so far, with that of their children which
 * have ended, in milliseconds. Null where the system does not say.
 */
export async function processorMs(pids: readonly number[]): Promise<number | null> {
  if (process.platform !== "linux") return null;
  const each = await Promise.all(pids.map(ticksOf));
  return each.reduce((sum, ticks) => sum + ticks, 0) * MS_PER_TICK;
}

/** Linux tells it in hundredths of a second, whatever its own clock is. */
const MS_PER_TICK = 10;

/** Where `utime`, `stime`, `cutime` and `cstime` stand behind the name, counted from its state. */
const FIRST_TIME = 11;
const TIMES = 4;

async function ticksOf(pid: number): Promise<number> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const times = fields.slice(FIRST_TIME, FIRST_TIME + TIMES).map(Number);
    return times.reduce((sum, ticks) => sum + ticks, 0);
  } catch {
    return 0; // It has ended since.
  }
}
