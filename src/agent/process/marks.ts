import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isObject, objectAt, stringAt } from "../../core/json.ts";
import { AGENT_MARK_BYTES_MAX } from "../../core/limits.ts";
import {
  isGone,
  isOfEarlierBoot,
  type ProcessIdentity,
  startOf,
  thisProcess,
} from "../../platform/process-identity.ts";
import { causeOf } from "../system-error.ts";
import { AGENT_MARK_VARIABLE } from "./environment.ts";
import { processTable } from "./process-table.ts";
import { type KnownProcess, killTrees, type ProcessTree } from "./process-tree.ts";

/**
 * A note that there is, or is about to be, an agent's process: one small file, written before the
 * process starts. After a crash the next server finds the process by it (P5). It has nothing of
 * the agent's arguments or environment (P11).
 */
export interface AgentMark {
  /** Random; in the environment of the process and of all that it starts. */
  readonly marker: string;
  /** For messages. */
  readonly profile: string;
  readonly server: ProcessIdentity;
  /** The process, once it has started. */
  readonly leader: KnownProcess | null;
}

/** The marks of this server, in a folder that servers may share. */
export class AgentMarks {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Rejects if the mark cannot be written; then nothing may start. */
  async record(marker: string, profile: string): Promise<AgentMark> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await chmod(this.#folder, 0o700);
    const mark: AgentMark = { marker, profile, server: thisProcess(), leader: null };
    await this.#write(mark);
    return mark;
  }

  /** Adds the process, for systems that show no environments. */
  async confirm(mark: AgentMark, pid: number): Promise<AgentMark> {
    const startedAt = await processTable().startOf(pid);
    if (startedAt === null) return mark; // It has ended already.
    const confirmed: AgentMark = { ...mark, leader: { pid, startedAt } };
    await this.#write(confirmed);
    return confirmed;
  }

  async remove({ marker }: AgentMark): Promise<void> {
    await rm(join(this.#folder, markFile(marker)), { force: true });
  }

  /** Atomic and synced, so that not even a power cut leaves half a mark. */
  async #write(mark: AgentMark) {
    const draft = join(this.#folder, `${mark.marker}.${process.pid}.draft`);
    const file = await open(draft, "w", 0o600);
    try {
      await file.writeFile(JSON.stringify(mark));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, join(this.#folder, markFile(mark.marker)));
    const folder = await open(this.#folder);
    await folder.sync().finally(() => folder.close());
  }
}

/** The process tree of a mark. */
export function treeOf({ marker, server, leader }: AgentMark): ProcessTree {
  const since = leader?.startedAt ?? server.startedAt;
  return { marker, leader, seen: [], since, mayStillStart: leader === null };
}

function markFile(marker: string): string {
  return `${marker}.json`;
}

/** A mark from its file; null if the text is none. */
function readMark(text: string): AgentMark | null {
  const value = parsed(text);
  const marker = isObject(value) ? stringAt(value, "marker") : null;
  if (!isObject(value) || marker === null || !UUID.test(marker)) return null;
  const server = objectAt(value, "server");
  const host = server && stringAt(server, "host");
  const bootId = server && stringAt(server, "bootId");
  const processOfServer = processFrom(server);
  if (!host || bootId === null || processOfServer === null) return null;
  const leader = processFrom(objectAt(value, "leader"));
  if (leader === null && value.leader !== null) return null;
  const profile = stringAt(value, "profile") ?? "";
  return { marker, profile, server: { host, bootId, ...processOfServer }, leader };
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function processFrom(value: ReturnType<typeof objectAt>): KnownProcess | null {
  const pid = value?.pid;
  const startedAt = value && stringAt(value, "startedAt");
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return null;
  return typeof startedAt === "string" ? { pid, startedAt } : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Marks for shell commands, so that their orphans are killed like those of agents (P5). */
export class CommandMarks {
  readonly #marks: AgentMarks;

  constructor(marks: AgentMarks) {
    this.#marks = marks;
  }

  /** Rejects if the mark cannot be written; then nothing may run. */
  async place() {
    const marks = this.#marks;
    const marker = randomUUID();
    let mark = await marks.record(marker, "shell");
    return {
      variables: { [AGENT_MARK_VARIABLE]: marker },
      confirm: async (pid: number) => {
        mark = await marks.confirm(mark, pid);
      },
      end: async () => {
        const { cleared } = await killTrees([{ ...treeOf(mark), mayStillStart: false }]);
        // The mark of what could not be killed stays, for the next server.
        if (cleared.length > 0) await marks.remove(mark);
      },
    };
  }
}

export interface OrphanReport {
  /** How many processes were killed. */
  readonly ended: number;
  /** How many marks were removed. */
  readonly cleared: number;
  /** Sentences for the log: what is odd, or could not be done. */
  readonly notes: readonly string[];
}

/**
 * Kills what dead servers have left behind (P5). Only marks whose server has provably ended count,
 * and only processes that provably belong to them are killed. A mark stays until nothing of it is
 * left, so the next start tries again what fails now. `spawnMs` is how long a process that was
 * just being started may take to appear.
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
  // No process of an earlier boot is left, and its pids prove nothing in this one.
  const earlier = dead.filter(({ server }) => isOfEarlierBoot(server));
  const { count, cleared } = await killTrees(
    dead.filter((mark) => !earlier.includes(mark)).map(treeOf),
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

/** Removes drafts whose writer died: the mark itself says enough. */
async function removeDrafts(folder: string, names: readonly string[]) {
  for (const name of names) {
    const [, writer] = /^[0-9a-f-]{36}\.(\d+)\.draft$/.exec(name) ?? [];
    if (writer !== undefined && startOf(Number(writer)) === null) {
      await rm(join(folder, name), { force: true });
    }
  }
}

/** Null if it is none, or another server has removed it. A damaged file is renamed, not lost. */
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
