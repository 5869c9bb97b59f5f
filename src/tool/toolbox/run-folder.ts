import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  rmdir,
  unlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isObject, objectAt, stringAt } from "../../core/json.ts";
import { RUN_FOLDER_ENTRIES_MAX, SOCKET_PATH_BYTES_MAX } from "../../core/limits.ts";
import { makeFolders } from "../../platform/folder.ts";
import { isGone, type ProcessIdentity, thisProcess } from "../../platform/process-identity.ts";
import { threadScript } from "../../platform/thread-script.ts";

const NAME = "fermata-";
const SOCKET = "tools";
const PROOFS = "proofs";
const RELAY = fileURLToPath(threadScript("relay", import.meta.url));

interface RunFolderOptions {
  /** Where it may be made, best first. */
  readonly parents: readonly string[];
  /** A folder that outlives the server, in which the next one finds what this one has left. */
  readonly notes: string;
  /** Whether other users of the system have to enter it, because agents run as them. */
  readonly isShared: boolean;
}

/**
 * A folder that lives as long as the server, for what agents have to reach of it: a socket, the
 * program that connects to it, and a folder in which that program shows whose process it is.
 */
export class RunFolder {
  readonly path: string;
  /** The program that agents start: a copy, as their user may not reach the package. */
  readonly relay: string;
  readonly #note: string;

  private constructor(path: string, relay: string, note: string) {
    this.path = path;
    this.relay = relay;
    this.#note = note;
  }

  /** Removes what servers have left that are gone (P5). Answers why there can be no folder. */
  static async make(options: RunFolderOptions): Promise<RunFolder | string> {
    const { parents, notes } = options;
    await makeFolders(notes);
    await removeLeftovers(notes);
    let why = "there is no place for a run folder";
    for (const parent of parents) {
      const made = await RunFolder.#madeIn(parent, options).catch(String);
      if (typeof made !== "string") return made;
      why = made;
    }
    return why;
  }

  /** It is noted before it is filled, so that a server which dies meanwhile leaves none behind. */
  static async #madeIn(
    parent: string,
    { notes, isShared }: RunFolderOptions,
  ): Promise<RunFolder | string> {
    const length = Buffer.byteLength(join(parent, `${NAME}XXXXXX`, SOCKET));
    if (length > SOCKET_PATH_BYTES_MAX) return `the path ${parent} is too long for a socket`;
    await makeFolders(parent);
    const path = await mkdtemp(join(parent, NAME));
    const note = join(notes, `${basename(path)}.json`);
    await writeFile(note, JSON.stringify({ path, server: thisProcess() }), { mode: 0o600 });
    const folder = new RunFolder(path, join(path, `relay.m${extname(RELAY).slice(1)}`), note);
    try {
      await folder.#fill(isShared);
      return folder;
    } catch (thrown) {
      await folder.remove();
      throw thrown;
    }
  }

  /** Who may come in may know no names in it, and remove nothing of others. */
  async #fill(isShared: boolean): Promise<void> {
    const proofs = join(this.path, PROOFS);
    await copyFile(RELAY, this.relay);
    await mkdir(proofs, { mode: 0o700 });
    await chmod(proofs, isShared ? 0o1733 : 0o700);
    await chmod(this.relay, isShared ? 0o644 : 0o600);
    await chmod(this.path, isShared ? 0o711 : 0o700);
  }

  get socket(): string {
    return join(this.path, SOCKET);
  }

  /**
   * Which user of the system has made the link that proves it; null if none has. The text of a
   * link never changes, so the owner of this one is who made it, after the challenge was known;
   * and what others move or link here has another text. The link is removed.
   */
  async proven(challenge: string): Promise<number | null> {
    const path = join(this.path, PROOFS, challenge);
    try {
      const link = await lstat(path);
      const isIt = link.isSymbolicLink() && (await readlink(path)) === challenge;
      return isIt ? link.uid : null;
    } catch {
      return null;
    } finally {
      await unlink(path).catch(() => {});
    }
  }

  /** Cleaners of temporary folders take what was not used for days. */
  async touch(): Promise<void> {
    const now = new Date();
    for (const path of [this.relay, this.socket, join(this.path, PROOFS), this.path]) {
      await utimes(path, now, now).catch(() => {});
    }
  }

  async remove(): Promise<void> {
    if (await removeFolder(this.path)) await rm(this.#note, { force: true });
  }
}

async function removeLeftovers(notes: string): Promise<void> {
  for (const name of (await readdir(notes)).slice(0, RUN_FOLDER_ENTRIES_MAX)) {
    const note = join(notes, name);
    const left = leftoverIn(await readFile(note, "utf8").catch(() => ""));
    if (left === null || !isGone(left.server)) continue;
    if (await removeFolder(left.path)) await rm(note, { force: true });
  }
}

function leftoverIn(
  text: string,
): { readonly path: string; readonly server: ProcessIdentity } | null {
  try {
    const read: unknown = JSON.parse(text);
    const server = isObject(read) ? objectAt(read, "server") : null;
    const path = isObject(read) ? stringAt(read, "path") : null;
    if (server === null || path === null || !basename(path).startsWith(NAME)) return null;
    const { pid } = server;
    const word = (name: string) => stringAt(server, name) ?? "";
    if (typeof pid !== "number") return null;
    const identity = { host: word("host"), bootId: word("bootId"), startedAt: word("startedAt") };
    return { path, server: { pid, ...identity } };
  } catch {
    return null;
  }
}

/**
 * False if something is left of it. Other users may write in a part of it, so nothing is removed
 * below what they could have put there: a path through it might lead elsewhere.
 */
async function removeFolder(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return true;
  if (!found.isDirectory() || found.uid !== process.getuid?.()) return false;
  const proofs = join(path, PROOFS);
  await chmod(proofs, 0o700).catch(() => {});
  for (const folder of [proofs, path]) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.slice(0, RUN_FOLDER_ENTRIES_MAX)) {
      const entry = join(folder, name);
      await unlink(entry).catch(() => rmdir(entry).catch(() => {}));
    }
  }
  return rmdir(path).then(
    () => true,
    () => false,
  );
}
