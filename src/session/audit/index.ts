export type { ChangeAct } from "./act.ts";
export { changeEntry, type Steward } from "./change.ts";
export { details } from "./details.ts";
export { auditEntries, deletionEntry } from "./entries.ts";
export { AUDIT_ACTS } from "./known-acts.ts";
export { SessionAudit } from "./session-audit.ts";
