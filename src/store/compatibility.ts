import { isObject } from "../core/json.ts";
import { DONE, fail, type Result } from "../core/result.ts";
import type { SessionStore } from "./store.ts";

/** The version of the contract in store.ts. A store for a newer one may need what is not there. */
export const CONTRACT_VERSION = "1.0.0";

/** Every function that a store must have; complete by its type. */
const FUNCTIONS = {
  init: true,
  activate: true,
  deactivate: true,
  dispose: true,
  create: true,
  open: true,
  seize: true,
  commit: true,
  close: true,
  cutLog: true,
  delete: true,
  readRecord: true,
  readManifest: true,
  readEvents: true,
  readTurns: true,
  readMessages: true,
  readSlots: true,
  list: true,
  tenants: true,
  removeTenant: true,
  appendJournal: true,
  readJournal: true,
  readDocument: true,
  listDocuments: true,
  writeDocument: true,
  writeBlob: true,
  readBlob: true,
} as const satisfies Record<Exclude<keyof SessionStore, "contract" | "check">, true>;

/** Stamped on manifests, and perhaps the name of a folder. */
const STORE_ID = /^[A-Za-z0-9][\w.-]{0,63}$/;

/**
 * Whether a value is a store that this version of Fermata can use. A store may be of a third party
 * and written without types, so nothing of it is taken for granted.
 */
export function checkStore(store: unknown, coreVersion: string): Result<void> {
  const held = typeof store === "object" && store !== null ? store : {};
  const missing = Object.keys(FUNCTIONS).find(
    (name) => typeof Reflect.get(held, name) !== "function",
  );
  if (missing !== undefined) return unfit(missing, "the store has no such function");
  const contract: unknown = Reflect.get(held, "contract");
  if (!isObject(contract)) return unfit("contract", "the store has none");
  if (contract.kind !== "SessionStore") return unfit("kind", 'it must be "SessionStore"');
  const { storeId } = contract;
  if (typeof storeId !== "string" || !STORE_ID.test(storeId)) {
    return unfit("storeId", "it must be a name of letters, digits, dots, dashes and underscores");
  }
  if (!isObject(contract.configSchema)) return unfit("configSchema", "the store has none");
  const versions = checkVersions(contract, coreVersion);
  return versions.ok ? checkCapabilities(contract.capabilities) : versions;
}

/** Within one major version a contract only grows, so an older minor one is understood. */
function checkVersions(
  { contractVersion, requiredCoreVersion }: Readonly<Record<string, unknown>>,
  coreVersion: string,
): Result<void> {
  const wanted = versionOf(contractVersion);
  const [major, minor] = versionOf(CONTRACT_VERSION) ?? [0, 0];
  if (wanted === null) return unfit("contractVersion", "it is not a version such as 1.0.0");
  if (wanted[0] !== major || wanted[1] > minor) {
    const reason = `the store is for version ${contractVersion} of the contract`;
    const advice = `and this Fermata has ${CONTRACT_VERSION}; use a version of the store that fits`;
    return unfit("contractVersion", `${reason}, ${advice}`);
  }
  const range = String(requiredCoreVersion);
  const fits = typeof requiredCoreVersion === "string" ? isInRange(coreVersion, range) : null;
  if (fits === null) return unfit("requiredCoreVersion", "it is not a range such as >=0.1.0");
  if (fits) return DONE;
  const reason = `the store needs Fermata ${range}, and this is ${coreVersion}`;
  return unfit("requiredCoreVersion", `${reason}; update the one or the other`);
}

function checkCapabilities(capabilities: unknown): Result<void> {
  if (!isObject(capabilities)) return unfit("capabilities", "the store declares none");
  const { journaling, snapshotBytesLimit, largeSlotStreaming } = capabilities;
  if (journaling !== true) {
    const reason = "it must be true: a server writes events while a turn runs";
    return unfit("capabilities.journaling", reason);
  }
  if (largeSlotStreaming !== false) {
    const reason = "it must be false: the contract has no slots that are streams";
    return unfit("capabilities.largeSlotStreaming", reason);
  }
  if (!Number.isSafeInteger(snapshotBytesLimit) || Number(snapshotBytesLimit) <= 0) {
    return unfit("capabilities.snapshotBytesLimit", "it must be a positive whole number");
  }
  return DONE;
}

function unfit(path: string, reason: string): Result<never> {
  return fail("invalid_store_config", { path, reason });
}

type Version = readonly [number, number, number];

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:[-+][0-9A-Za-z.+-]+)?$/;

function versionOf(text: unknown): Version | null {
  const [, major, minor, patch] = VERSION.exec(String(text)) ?? [];
  return major === undefined ? null : [Number(major), Number(minor), Number(patch)];
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
