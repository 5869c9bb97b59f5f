import type { Stats } from "node:fs";
import { lstat, readlink, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import { FILE_LINKS_MAX, FILE_PATH_BYTES_MAX } from "../../core/limits.ts";
import { systemCodeOf } from "../system-error.ts";
import { isBelow } from "./own-folders.ts";
import { reasonOf, Trouble } from "./trouble.ts";

/** How far an act may reach. */
export interface Reach {
  /** The workspace's own real path. */
  readonly root: string;
  /** What of it is out of reach: the server's own. */
  isClosed(real: string): boolean;
}

/** Where a path really leads: always within reach, and through no link any more. */
export interface Place {
  readonly reach: Reach;
  /** As much of the path as exists. */
  readonly real: string;
  /** What is there; never a link. */
  readonly stats: Stats;
  /** The names below it that do not exist yet. */
  readonly missing: readonly string[];
  /** The whole, as seen from the workspace. */
  readonly name: string;
}

/**
 * Follows a path by reading each link, opening nothing: to open a device or a pipe is an act
 * already. Whatever ends outside is refused alike, so that an agent cannot learn through our
 * answers what exists there. A relative path begins at the workspace.
 */
export async function locate(
  workspace: string,
  path: string,
  isClosed: Reach["isClosed"] = () => false,
): Promise<Place> {
  if (path === "") throw Trouble.unavailable("the path is empty");
  if (path.includes("\0")) throw Trouble.unavailable("its path holds a NUL character");
  if (Buffer.byteLength(path) > FILE_PATH_BYTES_MAX) {
    throw Trouble.unavailable("its path is too long");
  }
  const root = await rootOf(workspace);
  const reach = { root, isClosed };
  const walk = await walkTo(isAbsolute(path) ? path : `${root}/${path}`);
  if (!isInside(reach, walk.real)) throw new Trouble("path_outside_workspace");
  if (walk.fault !== null) throw Trouble.unavailable(walk.fault);
  const { real, stats } = walk;
  const missing = walk.missing.filter((name) => name !== "" && name !== ".");
  // As for the system: what does not exist has no parent to go back to.
  if (missing.includes("..")) throw Trouble.unavailable("a part of its path does not exist");
  const whole = join(real, ...missing);
  // What the server has not made yet is its own already.
  if (isClosed(whole)) throw new Trouble("path_outside_workspace");
  return { reach, real, stats, missing, name: relative(root, whole) || "." };
}

/** A link may have been put in its way while people were asked; undefined if nobody was. */
export function mustBePermitted(workspace: string, { name }: Place, permitted?: string) {
  if (permitted === undefined || permitted === join(workspace, name)) return;
  throw Trouble.unavailable("it leads elsewhere since it was permitted");
}

/**
 * Of a real path. The kernel's own windows never count as inside, even if somebody works in `/`:
 * the server's environment and memory can be read through them, and with it all secrets.
 */
export function isInside({ root, isClosed }: Reach, real: string): boolean {
  if (KERNEL.some((window) => isBelow(window, real)) || isClosed(real)) return false;
  return isBelow(root, real);
}

const KERNEL = ["/proc", "/sys"];

async function rootOf(workspace: string): Promise<string> {
  try {
    return await realpath(workspace);
  } catch (thrown) {
    throw Trouble.unavailable(`of the workspace itself: ${reasonOf(thrown)}`);
  }
}

interface Walk {
  readonly real: string;
  readonly stats: Stats;
  readonly missing: readonly string[];
  /** Why it went no further; whether that may be told depends on where it was. */
  readonly fault: string | null;
}

/** Like the system, it takes `..` from where the links before it have led. */
async function walkTo(path: string): Promise<Walk> {
  const names = path.split("/").reverse();
  let [real, links] = ["/", 0];
  let stats = await lstat(real);
  for (let name = names.pop(); name !== undefined; name = names.pop()) {
    if (name === "" || name === ".") continue;
    const next = name === ".." ? dirname(real) : join(real, name);
    try {
      const found = await lstat(next);
      if (!found.isSymbolicLink()) {
        [real, stats] = [next, found];
        continue;
      }
      links += 1;
      if (links > FILE_LINKS_MAX) return { real, stats, missing: [], fault: TOO_MANY_LINKS };
      const target = await readlink(next);
      if (isAbsolute(target)) real = "/";
      names.push(...target.split("/").reverse());
    } catch (thrown) {
      const missing = [name, ...names.reverse()];
      const fault = systemCodeOf(thrown) === "ENOENT" ? null : reasonOf(thrown);
      return { real, stats, missing, fault };
    }
  }
  return { real, stats, missing: [], fault: null };
}

const TOO_MANY_LINKS = "it leads through too many links";
