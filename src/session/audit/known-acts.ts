import { EVENT_TYPES } from "../../core/replay/fold.ts";
import { CHANGE_ACTS, OTHER_ACTS } from "./act.ts";
import { isAudited } from "./audited-events.ts";

/** Everything that an entry of the audit may be called, by the alphabet. */
export const AUDIT_ACTS: readonly string[] = [
  ...EVENT_TYPES.filter(isAudited),
  ...CHANGE_ACTS,
  ...OTHER_ACTS,
].toSorted();
