import { parseSessionId, parseUserId } from "../core/id.ts";
import { isObject } from "../core/json.ts";
import {
  DOCUMENT_BYTES_MAX,
  RECORD_TEXT_CHARS_MAX,
  SESSION_AUDIENCE_MAX,
  STORE_NAME_CHARS_MAX,
} from "../core/limits.ts";
import type { SecurityMode } from "../core/policy/risk.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { isSessionName } from "../core/session/name.ts";
import { SESSION_STATES } from "../core/status.ts";
import type { Holder } from "./holder.ts";
import type { ListFilter, Manifest, SessionRecord } from "./store.ts";

/** Which values fit a field. */
type Rule = (value: unknown) => boolean;
type Rules<Shape> = Readonly<Record<keyof Shape, Rule>>;

/** Text that every encoding can carry: half a character would come back as another one. */
export const isText = (value: unknown): value is string =>
  typeof value === "string" && value.isWellFormed();

/** Keys, not texts. */
export const isName = (value: unknown): value is string =>
  isText(value) && value !== "" && value.length <= STORE_NAME_CHARS_MAX;

const isShortText = (value: unknown): value is string =>
  isText(value) && value.length <= RECORD_TEXT_CHARS_MAX;

const isBoolean: Rule = (value) => typeof value === "boolean";

const isCount: Rule = (value) => Number.isSafeInteger(value) && Number(value) >= 0;

export const isId = (value: unknown): boolean =>
  typeof value === "string" && parseSessionId(value) !== null;

const isState: Rule = (value) => SESSION_STATES.some((state) => state === value);

const isUser: Rule = (value) => typeof value === "string" && parseUserId(value) !== null;

const isNameOfSession: Rule = (value) => typeof value === "string" && isSessionName(value);

function isSetOfUsers(value: unknown): boolean {
  return Array.isArray(value) && value.length <= SESSION_AUDIENCE_MAX && value.every(isUser);
}

function isSetOfStates(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > SESSION_STATES.length) return false;
  return value.every(isState);
}

const orNull =
  (rule: Rule): Rule =>
  (value) =>
    value === null || rule(value);

const RECORD: Rules<SessionRecord> = {
  workspaceCwd: isShortText,
  status: isState,
  displayName: orNull(isShortText),
  name: orNull(isNameOfSession),
  parentSessionId: orNull(isId),
  sourceType: orNull(isShortText),
  sourceId: orNull(isShortText),
  closed: isBoolean,
  shared: isBoolean,
  pendingPrompts: isCount,
  agent: orNull(isName),
  createdBy: orNull(isUser),
  audience: orNull(isSetOfUsers),
  updatedAtMs: Number.isSafeInteger,
};

const HOLDER: Rules<Holder> = {
  host: isShortText,
  bootId: isShortText,
  pid: Number.isSafeInteger,
  startedAt: isShortText,
  label: isShortText,
};

const FILTER: Rules<ListFilter> = {
  workspaceCwd: isShortText,
  statuses: isSetOfStates,
  parentSessionId: isId,
  sourceType: isShortText,
  sourceId: isShortText,
  name: isNameOfSession,
  agent: isName,
  closed: isBoolean,
  shared: isBoolean,
  hasPendingPrompts: isBoolean,
  updatedFromMs: Number.isSafeInteger,
  updatedBeforeMs: Number.isSafeInteger,
  createdBy: orNull(isUser),
  visibleTo: orNull(isUser),
  text: isShortText,
};

/** The first field that is missing, unknown or not of its kind; null if there is none. */
export const recordFault = (record: SessionRecord) => faultOf(record, RECORD, RECORD);

export const holderFault = (holder: Holder) => faultOf(holder, HOLDER, HOLDER);

/** A filter names as much as it likes, and nothing that is not a field. */
export const filterFault = (filter: ListFilter) => faultOf(filter, FILTER, filter);

/** Whether all of these are a value's own: what it inherits is not stored with it. */
export function owns(value: object, ...fields: readonly string[]): boolean {
  return fields.every((field) => Object.hasOwn(value, field));
}

function faultOf(value: unknown, rules: Readonly<Record<string, Rule>>, required: object) {
  if (!isObject(value)) return "itself";
  const unknown = Object.keys(value).find((field) => !Object.hasOwn(rules, field));
  if (unknown !== undefined) return unknown;
  const inherited = Object.keys(rules).find((field) => field in value && !owns(value, field));
  if (inherited !== undefined) return inherited;
  return Object.keys(required).find((field) => !rules[field]?.(value[field])) ?? null;
}

const MODES: readonly SecurityMode[] = ["ask", "allowlist", "yolo"];
const KEYS: ReadonlySet<string> = new Set([
  "sessionId",
  "storeId",
  "mode",
  "projectRoot",
  "smState",
  "createdAt",
  "updatedAt",
]);

/** Checks a manifest before it is written or believed; unknown keys are refused, not dropped. */
export function checkManifest(manifest: Manifest, storeId: string): Result<Manifest> {
  const wrong = manifestFault(manifest);
  if (wrong !== null) return fail("invalid_manifest", { path: wrong });
  if (manifest.storeId !== storeId) {
    return fail("resume_mismatch", { stored: manifest.storeId, active: storeId });
  }
  return ok(manifest);
}

/** The path of the first field that is not as it must be. */
function manifestFault(manifest: Manifest): string | null {
  if (!isObject(manifest)) return "manifest";
  const unknown = Object.keys(manifest).find((key) => !KEYS.has(key));
  if (unknown !== undefined) return unknown;
  const inherited = [...KEYS].find((key) => key in manifest && !owns(manifest, key));
  if (inherited !== undefined) return inherited;
  const { sessionId, storeId, mode, projectRoot, smState, createdAt, updatedAt } = manifest;
  if (typeof sessionId !== "string" || sessionId === "") return "sessionId";
  if (typeof storeId !== "string" || storeId.trim() === "") return "storeId";
  if (!MODES.includes(mode)) return "mode";
  if (!isShortText(projectRoot) || !projectRoot.startsWith("/")) return "projectRoot";
  if (smState !== undefined && !isStateRef(smState)) return "smState";
  if (!Number.isSafeInteger(createdAt)) return "createdAt";
  return Number.isSafeInteger(updatedAt) ? null : "updatedAt";
}

function isStateRef(value: unknown): boolean {
  if (!isObject(value) || Object.keys(value).length !== 2) return false;
  const { smExtId, stateSlotRef } = value;
  return owns(value, "smExtId", "stateSlotRef") && isName(smExtId) && isName(stateSlotRef);
}

/**
 * Why a value would not be the same if it were written as JSON and read back: functions, cycles,
 * numbers that JSON has not, half characters. Null if it would. Such a value is refused where it
 * is written, with its path, and not found missing on the day it is needed.
 */
export function jsonFault(value: unknown): JsonFault | null {
  return plainFault(value, "value", { above: [], budget: { values: DOCUMENT_BYTES_MAX } });
}

interface JsonFault {
  readonly path: string;
  readonly reason: string;
}

const DEPTH_MAX = 128;

/**
 * Where a walk through a value stands. Each value is at least a byte of JSON, so their number is
 * bounded like the bytes: a small value that holds one thing many times over, and so on down,
 * would else be walked through for ever.
 */
interface JsonWalk {
  readonly above: readonly unknown[];
  readonly budget: { values: number };
}

function plainFault(value: unknown, path: string, { above, budget }: JsonWalk): JsonFault | null {
  budget.values -= 1;
  if (budget.values < 0) return { path, reason: "it has too many values" };
  if (value === null || typeof value === "boolean") return null;
  if (typeof value === "string") return value.isWellFormed() ? null : half(path);
  if (typeof value === "number")
    return isExact(value) ? null : { path, reason: "it is no JSON number" };
  if (typeof value !== "object") return { path, reason: `a ${typeof value} cannot be stored` };
  if (above.includes(value)) return { path, reason: "it contains itself" };
  if (above.length >= DEPTH_MAX) return { path, reason: "it is nested too deeply" };
  return faultInside(value, path, { above: [...above, value], budget });
}

function faultInside(value: object, path: string, walk: JsonWalk): JsonFault | null {
  const isPlain =
    Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (!isPlain || hasMore(value)) {
    return { path, reason: "only plain objects and lists can be stored" };
  }
  for (const [key, inner] of Object.entries(value)) {
    if (!key.isWellFormed()) return half(path);
    const fault = plainFault(inner, `${path}.${key}`, walk);
    if (fault !== null) return fault;
  }
  return null;
}

/** What JSON would leave out or fill up: symbols, holes in a list, names on a list. */
function hasMore(value: object): boolean {
  if (Object.getOwnPropertySymbols(value).length > 0) return true;
  return Array.isArray(value) && Object.keys(value).length !== value.length;
}

/** Minus zero would come back as zero. */
function isExact(value: number): boolean {
  return Number.isFinite(value) && !Object.is(value, -0);
}

const half = (path: string): JsonFault => ({ path, reason: "it has half a character" });
