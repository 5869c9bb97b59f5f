import { lstat, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AGENT_MARK_BYTES_MAX } from "../../core/limits.ts";
import { isGone, isOfEarlierBoot, startOf } from "../../platform/process-identity.ts";
import { causeOf } from "../system-error.ts";
import { endMarked } from "./marked.ts";
import { type AgentMark, markedBy, markFile, readMark } from "./marks.ts";

export interface OrphanReport {
  /** How many processes were killed. */
  readonly ended: number;
  /** How many marks are done with. */
  readonly cleared: number;
  /** Sentences for the log: what is odd, or could not be done. */
  readonly notes: readonly string[];
}

/**
 * Ends what dead servers have left behind (P5). Only marks whose server is provably gone count,
 * and only processes that provably belong to them are killed. A mark stays until nothing of it is
 * left, so what does not succeed now is tried again at the next start. `spawnMs` is how long what
 * was just being started may still be on its way.
 */
export async function endOrphans(folder: string, spawnMs?: number): Promise<OrphanReport> {
  const notes: string[] = [];
  const names = await namesIn(folder, notes);
  await removeDrafts(folder, names);
  const dead: AgentMark[] = [];
  for (const name of names.filter((each) => each.endsWith(".json"))) {
    const mark = await markAt(folder, name, notes);
    if (mark !== null && isGone(mark.server)) dead.push(mark);
  }
  // What an earlier boot counted proves nothing in this one, and nothing is left of it.
  const earlier = dead.filter(({ server }) => isOfEarlierBoot(server));
  const { count, cleared } = await endMarked(
    dead.filter((mark) => !earlier.includes(mark)).map(markedBy),
    spawnMs,
  );
  const done = new Set([...earlier, ...cleared].map(({ marker }) => marker));
  for (const { marker, profile } of dead) {
    if (done.has(marker)) await rm(join(folder, markFile(marker)), { force: true });
    else notes.push(`Processes of agent "${profile}" with mark ${marker} could not be ended.`);
  }
  return { ended: count, cleared: done.size, notes };
}

async function namesIn(folder: string, notes: string[]): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (thrown) {
    if (causeOf(thrown) !== "ENOENT") notes.push(`${folder} cannot be read: ${causeOf(thrown)}.`);
    return [];
  }
}

/** What was being written when its writer died. Whatever it says, the mark itself says as much. */
async function removeDrafts(folder: string, names: readonly string[]) {
  for (const name of names) {
    const [, writer] = /^[0-9a-f-]{36}\.(\d+)\.draft$/.exec(name) ?? [];
    if (writer !== undefined && startOf(Number(writer)) === null) {
      await rm(join(folder, name), { force: true });
    }
  }
}

/** Null if it is none, or somebody else was faster. What is damaged is put aside, not lost. */
async function markAt(folder: string, name: string, notes: string[]): Promise<AgentMark | null> {
  const path = join(folder, name);
  try {
    const { size } = await lstat(path).then((entry) => (entry.isFile() ? entry : { size: null }));
    const isRead = size !== null && size <= AGENT_MARK_BYTES_MAX;
    const mark = isRead ? readMark(await readFile(path, "utf8")) : null;
    if (mark !== null && markFile(mark.marker) === name) return mark;
    await rename(path, `${path}.damaged`);
    notes.push(`${name} is not a mark of an agent; it was renamed to ${name}.damaged.`);
  } catch (thrown) {
    if (causeOf(thrown) !== "ENOENT") notes.push(`${name} cannot be read: ${causeOf(thrown)}.`);
  }
  return null;
}
