import { parseSessionId } from "../core/id.ts";
import { isObject } from "../core/json.ts";
import { RECORD_TEXT_CHARS_MAX, STORE_NAME_CHARS_MAX } from "../core/limits.ts";
import { SESSION_STATES } from "../core/status.ts";
import type { Holder } from "./holder.ts";
import type { ListFilter, SessionRecord } from "./store.ts";

/** Which values fit a field. */
type Rule = (value: unknown) => boolean;
type Rules<Shape> = Readonly<Record<keyof Shape, Rule>>;

/** Text that every encoding can carry: half a character would come back as another one. */
export const isText = (value: unknown): value is string =>
  typeof value === "string" && value.isWellFormed();

/** Keys, not texts. */
export const isName = (value: unknown): value is string =>
  isText(value) && value !== "" && value.length <= STORE_NAME_CHARS_MAX;

export const isShortText = (value: unknown): value is string =>
  isText(value) && value.length <= RECORD_TEXT_CHARS_MAX;

const isBoolean: Rule = (value) => typeof value === "boolean";

const isCount: Rule = (value) => Number.isSafeInteger(value) && Number(value) >= 0;

export const isId = (value: unknown): boolean =>
  typeof value === "string" && parseSessionId(value) !== null;

const isState: Rule = (value) => SESSION_STATES.some((state) => state === value);

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
  parentSessionId: orNull(isId),
  sourceType: orNull(isShortText),
  sourceId: orNull(isShortText),
  closed: isBoolean,
  shared: isBoolean,
  pendingPrompts: isCount,
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
  closed: isBoolean,
  shared: isBoolean,
  hasPendingPrompts: isBoolean,
  updatedFromMs: Number.isSafeInteger,
  updatedBeforeMs: Number.isSafeInteger,
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
