import { lstat, readlink, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, parse, resolve, sep } from "node:path";

/** Links that one path may lead through, as Linux has it. */
const LINKS_MAX = 40;

/**
 * What a path leads to. It is looked up each time, as agents may change links.
 *
 * @typedef {object} Place
 * @property {string} path the real one, without links, `.` and `..`; its end need not exist
 * @property {readonly (string | null)[]} ids what it and the folders that it is in are on the disk,
 *   from its own upward; null for what is not there
 * @property {boolean} isFolder
 * @property {boolean} hasOtherNames
 */

/**
 * Where a place is, seen from one that is guarded: `inside` is that one itself or below it, and
 * `around` is a folder that it is in.
 *
 * @typedef {"inside" | "around" | "apart" | "unknown"} Relation
 */

/**
 * Compares real paths, and files by what they are: links, hard links, mounts, and other spellings
 * on a disk that does not tell letters apart, lead to the same.
 *
 * @param {Place | null} place
 * @param {Place | null} guarded
 * @returns {Relation}
 */
export function relationOf(place, guarded) {
  if (place === null || guarded === null) return "unknown";
  const [id = null] = place.ids;
  const [guardedId = null] = guarded.ids;
  const isInside = guardedId !== null && place.ids.includes(guardedId);
  if (isInside || isBelow(place.path, guarded.path)) return "inside";
  const isAround = id !== null && guarded.ids.includes(id);
  if (isAround || isBelow(guarded.path, place.path)) return "around";
  return place.hasOtherNames && guarded.isFolder ? "unknown" : "apart";
}

/**
 * The places that a path may mean in a directory: `link/..` is where the link leads to for the
 * system, and another place for programs that shorten paths by their letters first.
 *
 * @param {string} path
 * @param {string} directory absolute
 */
export function placesAt(path, directory) {
  const literal = isAbsolute(path) ? path : `${directory}${sep}${path}`;
  return Promise.all([...new Set([literal, resolve(literal)])].map(placeAt));
}

/**
 * Null if it cannot be told, as in folders that may not be read.
 *
 * @param {string} path absolute
 * @returns {Promise<Place | null>}
 */
export async function placeAt(path) {
  const real = await realPath(path);
  if (real === null) return null;
  const all = [real];
  for (let one = real; dirname(one) !== one; one = dirname(one)) all.push(dirname(one));
  const found = await Promise.all(all.map((one) => stat(one, { bigint: true }).catch(() => null)));
  const [own = null] = found;
  return {
    path: real,
    ids: found.map((one) => (one === null ? null : `${one.dev}:${one.ino}`)),
    isFolder: own?.isDirectory() === true,
    hasOtherNames: own?.isFile() === true && own.nlink > 1n,
  };
}

/**
 * A link that leads nowhere yet is followed, too: who writes through it makes its target.
 *
 * @param {string} path
 */
async function realPath(path) {
  const { root } = parse(path);
  const waiting = partsOf(path);
  let place = root;
  let links = 0;
  for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
    const next = part === ".." ? dirname(place) : join(place, part);
    const target = part === ".." ? "" : await targetOf(next);
    if (target === null) return null;
    if (target === "") {
      place = next;
      continue;
    }
    links += 1;
    if (links > LINKS_MAX) return null;
    if (target.startsWith(sep)) place = root;
    waiting.unshift(...partsOf(target));
  }
  return place;
}

/** What is not there, and what cannot be there. */
const ABSENT = new Set(["ENOENT", "ENOTDIR", "ENAMETOOLONG"]);

/** @param {string} path */
function partsOf(path) {
  return path.split(sep).filter((part) => part !== "" && part !== ".");
}

/**
 * What a link leads to; empty if it is no link, or nothing is there. Null if that cannot be told.
 *
 * @param {string} path
 */
async function targetOf(path) {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : "";
  } catch (thrown) {
    const code = Reflect.get(Object(thrown), "code");
    return ABSENT.has(code) ? "" : null;
  }
}

/**
 * By the letters. What is not there yet is nothing on the disk that could be compared, so where
 * file systems do not tell some letters apart they are not told apart here either.
 *
 * @param {string} path
 * @param {string} folder
 */
function isBelow(path, folder) {
  const whole = folder === sep ? sep : `${folder}${sep}`;
  if (process.platform === "linux") return `${path}${sep}`.startsWith(whole);
  return folded(`${path}${sep}`).startsWith(folded(whole));
}

/** @param {string} text */
export function folded(text) {
  return text.normalize("NFC").toLowerCase();
}
