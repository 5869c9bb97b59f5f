import { type BigIntStats, lstat } from "node:fs";
import { realpath, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import {
  LOAD_LOOKS_AT_ONCE_MAX,
  LOAD_SETTLED_MS_MIN,
  SKILL_FILE_BYTES_MAX,
} from "../core/limits.ts";
import { codeOf, isNothingThere } from "./system-error.ts";

/**
 * What one load has seen of the files: where each path leads, and what each file, directory or
 * absence was like, noted before anything was read. While all of that is as it was, another load
 * comes to the same.
 */
export class Footprint {
  readonly #begunMs = Date.now();
  readonly #noted = new Map<string, Sighting>();
  /** A path on each device that was met. */
  readonly #devices = new Map<bigint, string>();
  #newestMs = 0;
  #bytes = 0;
  #isWhole = true;
  /** What has to be looked at again; made when nothing more is noted. */
  #looks: readonly SecondLook[] | null = null;

  /** About what the files that were seen take in memory. */
  get bytes(): number {
    return this.#bytes + this.#noted.size * SIGHTING_BYTES;
  }

  async realpath(path: string): Promise<string> {
    const looked = await LOOKS.location(path);
    this.#note("location", path, looked.found);
    if ("thrown" in looked) throw looked.thrown;
    return looked.value;
  }

  async lstat(path: string): Promise<BigIntStats> {
    const looked = await LOOKS.state(path);
    this.#note("state", path, looked.found);
    if ("thrown" in looked) throw looked.thrown;
    const { dev, size, ctimeMs } = looked.value;
    this.#devices.set(dev, path);
    this.#newestMs = Math.max(this.#newestMs, Number(ctimeMs));
    this.#bytes += Math.min(Number(size), SKILL_FILE_BYTES_MAX);
    return looked.value;
  }

  /** Something counted that does not show in the files, so that nothing says when it changes. */
  spoil() {
    this.#isWhole = false;
  }

  /** The same for a failure, unless it is that there is nothing: the next try may go well. */
  failed(thrown: unknown) {
    if (!isNothingThere(thrown)) this.spoil();
  }

  /**
   * Whether every later change will show. A file that was changed just before it was read may be
   * changed once more within the same tick of the file system's clock; a change time in the future
   * says that this clock or ours was set; and other machines may change files on a file server.
   */
  async isSettled(): Promise<boolean> {
    if (!this.#isWhole || this.#newestMs + LOAD_SETTLED_MS_MIN >= this.#begunMs) return false;
    const local = await Promise.all([...this.#devices.values()].map(isLocal));
    return !local.includes(false);
  }

  async isUnchanged(): Promise<boolean> {
    this.#looks ??= looksAt([...this.#noted.values()]);
    for (let at = 0; at < this.#looks.length; at += LOAD_LOOKS_AT_ONCE_MAX) {
      const batch = this.#looks.slice(at, at + LOAD_LOOKS_AT_ONCE_MAX);
      const same = await Promise.all(batch.map((look) => look()));
      if (same.includes(false)) return false;
    }
    return true;
  }

  #note(kind: Sighting["kind"], path: string, found: string) {
    const name = `${kind} ${path}`;
    const before = this.#noted.get(name);
    if (before !== undefined && before.found !== found) this.spoil();
    if (before === undefined) this.#noted.set(name, { kind, path, found });
    if (found.startsWith(FAILURE) && !ABSENT.has(found)) this.spoil();
  }
}

/** One look at a path, and what came of it. */
interface Sighting {
  readonly kind: "location" | "state";
  readonly path: string;
  readonly found: string;
}

/** Paths and texts of one sighting, about. */
const SIGHTING_BYTES = 512;

type LookResult<Value> = { readonly found: string } & (
  | { readonly value: Value }
  | { readonly thrown: unknown }
);

/** No path and no state begins like this. */
const FAILURE = "\0";
const ABSENT: ReadonlySet<string> = new Set([`${FAILURE}ENOENT`, `${FAILURE}ENOTDIR`]);

const LOOKS = {
  location: (path: string) => looked(realpath(path), (real) => real),
  state: (path: string) => looked(statsOf(path), stateOf),
};

/** Half the price of the same from `node:fs/promises`, and a load is looked at often. */
function statsOf(path: string): Promise<BigIntStats> {
  return new Promise((resolve, reject) => {
    lstat(path, { bigint: true }, (thrown, stats) => {
      if (thrown === null) resolve(stats);
      else reject(thrown);
    });
  });
}

async function looked<Value>(
  look: Promise<Value>,
  nameOf: (value: Value) => string,
): Promise<LookResult<Value>> {
  try {
    const value = await look;
    return { value, found: nameOf(value) };
  } catch (thrown) {
    return { thrown, found: `${FAILURE}${codeOf(thrown)}` };
  }
}

/** What replaces or edits a file, or changes its rights, changes one of these. */
function stateOf({ dev, ino, mode, uid, gid, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, mode, uid, gid, size, mtimeNs, ctimeNs].join(" ");
}

/** Whether something is still as it was seen. */
type SecondLook = () => Promise<boolean>;

/**
 * The fewest looks that tell whether all of this would be seen once more. A path is real as long as
 * it and all above it are there and no links, and most have the same directories above them. What
 * is absent leads nowhere. Only of a path with a link in it the way has to be gone again.
 */
function looksAt(sightings: readonly Sighting[]): readonly SecondLook[] {
  const ofKind = (wanted: Sighting["kind"]) => sightings.filter(({ kind }) => kind === wanted);
  const states = new Map(ofKind("state").map(({ path, found }) => [path, found]));
  const real = new Set<string>();
  const looks: SecondLook[] = [];
  for (const { path, found } of ofKind("location")) {
    if (found === path) addWithAncestors(real, path);
    else if (ABSENT.has(found) && (states.get(path) ?? found) === found) states.set(path, found);
    else looks.push(async () => (await LOOKS.location(path)).found === found);
  }
  for (const path of new Set([...real, ...states.keys()])) {
    looks.push(async () => {
      const looked = await LOOKS.state(path);
      const isSame = looked.found === (states.get(path) ?? looked.found);
      return isSame && (!real.has(path) || ("value" in looked && !looked.value.isSymbolicLink()));
    });
  }
  return looks;
}

/** None that is there already: then so are those above it. */
function addWithAncestors(paths: Set<string>, path: string) {
  for (let at = path; !paths.has(at); at = dirname(at)) paths.add(at);
}

/**
 * Whether this machine alone changes the files there, by what `statfs` calls their file system.
 * What is not known does not count as such.
 */
async function isLocal(path: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  return statfs(path).then(
    ({ type }) => LOCAL_FILE_SYSTEMS.has(type),
    () => false,
  );
}

/** ext2 to ext4, XFS, btrfs, F2FS, ZFS, bcachefs, tmpfs, ramfs, overlay, squashfs, EROFS. */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  ...[0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0xca451a4e],
  ...[0x01021994, 0x858458f6, 0x794c7630, 0x73717368, 0xe0f5e1e2],
]);
