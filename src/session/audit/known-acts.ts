import { EVENT_TABLE, EVENT_TYPES } from "../../core/session/event-table.ts";
import { CHANGE_ACTS, OTHER_ACTS } from "./act.ts";

/** Everything that an entry of the audit may be called, by the alphabet. */
export const AUDIT_ACTS: readonly string[] = [
  ...EVENT_TYPES.filter((type) => EVENT_TABLE[type].audited),
  ...CHANGE_ACTS,
  ...OTHER_ACTS,
].toSorted();
