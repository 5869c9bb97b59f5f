import { chmod, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isObject, objectAt, stringAt } from "../../core/json.ts";
import { type ProcessIdentity, thisProcess } from "../../platform/process-identity.ts";
import type { KnownProcess, Marked } from "./marked.ts";
import { processTable } from "./table.ts";

/**
 * A note that there is, or is about to be, an agent's process: one small file, written before the
 * process is started. Whoever finds it after its server's death knows what to look for (P5). It
 * names nothing of the agent's arguments or environment (P11).
 */
export interface AgentMark {
  /** Random; the process carries it, and so does all that it starts. */
  readonly marker: string;
  /** For people. */
  readonly profile: string;
  readonly server: ProcessIdentity;
  /** The process, from the moment that it was there. */
  readonly leader: KnownProcess | null;
}

/** The marks of this server, in a folder that it may share with others. */
export class AgentMarks {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Rejects if it cannot be written; then nothing must be started. */
  async record(marker: string, profile: string): Promise<AgentMark> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await chmod(this.#folder, 0o700);
    const mark: AgentMark = { marker, profile, server: thisProcess(), leader: null };
    await this.#write(mark);
    return mark;
  }

  /** Adds which process it came to be, for systems that show no environments. */
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

  /** Whole or not at all, and on the disk, so that not even a power cut leaves half a mark. */
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

/** All that is known of what belongs to a mark. */
export function markedBy({ marker, server, leader }: AgentMark): Marked {
  const since = leader?.startedAt ?? server.startedAt;
  return { marker, leader, seen: [], since, mayStillStart: leader === null };
}

export function markFile(marker: string): string {
  return `${marker}.json`;
}

/** A mark as it was written down; null if it is none. */
export function readMark(text: string): AgentMark | null {
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
