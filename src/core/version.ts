/** A version as npm has it; a pre-release counts as its release. */
type Version = readonly [number, number, number];

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:[-+][0-9A-Za-z.+-]+)?$/;

function versionOf(text: unknown): Version | null {
  const [, major, minor, patch] = VERSION.exec(String(text)) ?? [];
  return major === undefined ? null : [Number(major), Number(minor), Number(patch)];
}

/**
 * Whether what was made for one version of a contract is understood by who has another; null if it
 * is no version. Within one major version a contract only grows, so an older minor one is.
 */
export function isContractKnown(made: unknown, ours: string): boolean | null {
  const wanted = versionOf(made);
  const [major, minor] = versionOf(ours) ?? [0, 0];
  return wanted === null ? null : wanted[0] === major && wanted[1] <= minor;
}

const RANGE_CHARS_MAX = 256;

/**
 * Whether a version is in a range such as `>=0.1.0`, `^1.2`, `~1.2.3`, `1.x` or
 * `>=1 <3 || 5.0.0`; null if the range cannot be read. A pre-release counts as its release.
 */
export function isInRange(version: string, range: string): boolean | null {
  const found = versionOf(version);
  if (found === null || range.length > RANGE_CHARS_MAX) return null;
  const ways = range.split("||").map((way) =>
    way
      .replace(/([<>=^~]) +/g, "$1")
      .trim()
      .split(/ +/)
      .map(boundsOf),
  );
  if (ways.some((bounds) => bounds.includes(null))) return null;
  return ways.some((bounds) =>
    bounds.every((bound) => {
      return bound !== null && !isBelow(found, bound.from) && isBelow(found, bound.below);
    }),
  );
}

interface Bounds {
  readonly from: Version;
  readonly below: Version;
}

const COMPARATOR =
  /^(>=|<=|>|<|=|\^|~)?v?(\d+|[x*])(?:\.(\d+|[x*]))?(?:\.(\d+|[x*]))?(?:-[\w.-]+)?$/;
const FIRST: Version = [0, 0, 0];
const NONE: Version = [Number.POSITIVE_INFINITY, 0, 0];

function boundsOf(text: string): Bounds | null {
  const [all, sign = "=", ...parts] = COMPARATOR.exec(text) ?? [];
  if (all === undefined) return null;
  const wild = parts.findIndex((part) => part === undefined || /[x*]/.test(part));
  const numbers = parts.slice(0, wild < 0 ? 3 : wild).map(Number);
  const [major = 0, minor = 0, patch = 0] = numbers;
  const from: Version = [major, minor, patch];
  const next = after(from, numbers.length - 1);
  if (sign === ">=") return { from, below: NONE };
  if (sign === ">") return { from: next, below: NONE };
  if (sign === "<") return { from: FIRST, below: from };
  if (sign === "<=") return { from: FIRST, below: next };
  if (sign === "~") return { from, below: after(from, Math.min(1, numbers.length - 1)) };
  if (sign !== "^") return { from, below: next };
  const leading = numbers.findIndex((number) => number > 0);
  return { from, below: after(from, leading < 0 ? numbers.length - 1 : leading) };
}

/** The first version that differs from this one at the given position, and is above it. */
function after([major, minor, patch]: Version, position: number): Version {
  if (position < 0) return NONE;
  if (position === 0) return [major + 1, 0, 0];
  return position === 1 ? [major, minor + 1, 0] : [major, minor, patch + 1];
}

function isBelow(version: Version, bound: Version): boolean {
  const at = version.findIndex((number, index) => number !== bound[index]);
  return at >= 0 && (version[at] ?? 0) < (bound[at] ?? 0);
}
