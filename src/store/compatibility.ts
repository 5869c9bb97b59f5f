import { isObject } from "../core/json.ts";
import { DONE, fail, type Result } from "../core/result.ts";
import { isContractKnown, isInRange } from "../core/version.ts";
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
} as const satisfies Record<Exclude<keyof SessionStore, "contract" | OptionalFunction>, true>;

type OptionalFunction = "check" | "copyPast" | "search";

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
  if (!versions.ok) return versions;
  const able = checkCapabilities(contract.capabilities);
  if (!able.ok || Reflect.get(Object(contract.capabilities), "search") !== true) return able;
  const searches = typeof Reflect.get(held, "search") === "function";
  return searches
    ? DONE
    : unfit("capabilities.search", "it is true, and there is no such function");
}

function checkVersions(
  { contractVersion, requiredCoreVersion }: Readonly<Record<string, unknown>>,
  coreVersion: string,
): Result<void> {
  const isKnown = isContractKnown(contractVersion, CONTRACT_VERSION);
  if (isKnown === null) return unfit("contractVersion", "it is not a version such as 1.0.0");
  if (!isKnown) {
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
