import { parseSessionId } from "../core/id.ts";
import { isObject } from "../core/json.ts";
import { SESSION_STATES } from "../core/status.ts";
import type { Holder } from "./holder.ts";
import type { ListFilter, SessionRecord } from "./store.ts";

/** Which values fit a field. */
type Rule = (value: unknown) => boolean;
type Rules<Shape> = Readonly<Record<keyof Shape, Rule>>;

/** Text that every encoding can carry: half a character would come back as another one. */
export const isText = (value: unknown): value is string =>
  typeof value === "string" && value.isWellFormed();

export const isId = (value: unknown): boolean =>
  typeof value === "string" && parseSessionId(value) !== null;

const isState: Rule = (value) => SESSION_STATES.some((state) => state === value);

const orNull =
  (rule: Rule): Rule =>
  (value) =>
    value === null || rule(value);

const RECORD: Rules<SessionRecord> = {
  workspaceCwd: isText,
  status: isState,
  displayName: orNull(isText),
  parentSessionId: orNull(isId),
  sourceType: orNull(isText),
  sourceId: orNull(isText),
  updatedAtMs: Number.isSafeInteger,
};

const HOLDER: Rules<Holder> = {
  host: isText,
  bootId: isText,
  pid: Number.isSafeInteger,
  startedAt: isText,
  label: isText,
};

const FILTER: Rules<ListFilter> = {
  workspaceCwd: isText,
  statuses: (value) => Array.isArray(value) && value.every(isState),
  parentSessionId: isId,
  sourceType: isText,
  sourceId: isText,
  text: isText,
};

/** The first field that is missing, unknown or not of its kind; null if there is none. */
export const recordFault = (record: SessionRecord) => faultOf(record, RECORD, RECORD);

export const holderFault = (holder: Holder) => faultOf(holder, HOLDER, HOLDER);

/** A filter names as much as it likes, and nothing that is not a field. */
export const filterFault = (filter: ListFilter) => faultOf(filter, FILTER, filter);

function faultOf(value: unknown, rules: Readonly<Record<string, Rule>>, required: object) {
  if (!isObject(value)) return "itself";
  const unknown = Object.keys(value).find((field) => !Object.hasOwn(rules, field));
  if (unknown !== undefined) return unknown;
  return Object.keys(required).find((field) => !rules[field]?.(value[field])) ?? null;
}
