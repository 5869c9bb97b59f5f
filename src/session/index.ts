/**
 * What fronts know of sessions: one service, and the words of its requests and answers. A front
 * (HTTP today) imports this module and nothing else of `session/`; `test/layering.test.ts` says so.
 */
export type {
  ForkedSession,
  JoinedSession,
  KnownSession,
  SessionAccess,
} from "./access.ts";
export { changeIn } from "./actor/written.ts";
export {
  AUDIT_FILES,
  type AuditFileFormat,
  type AuditFilter,
  type AuditPage,
  isAuditFileFormat,
  WHOLE_AUDIT,
} from "./audit/audit-view.ts";
export { AUDIT_ACTS, type ChangeAct, details } from "./audit/audited.ts";
export { changeEntry, type Steward } from "./audit/entries.ts";
export { type Batch, type Chunk, type Notice, notice, streamError } from "./bus/frame.ts";
export type { StreamEnd } from "./bus/subscription.ts";
export { EXPORT_FORMAT_NAMES } from "./export/export.ts";
export type { HealthReason } from "./health/health.ts";
export { type Recovery, type RecoveryProgress, reconcileStaleSessions } from "./life/recovery.ts";
export {
  ALL_TIME,
  type Balance,
  type Meter,
  type StatementLine,
  statementCsv,
  USAGE_GROUPINGS,
  type WaitingForCredit,
} from "./meter/index.ts";
export { firstPromptShown, verdictsShown } from "./replay.ts";
export type { ClientCommand, PromptRequest, SteerRequest } from "./requests.ts";
export type { SessionOptions, SessionService } from "./service.ts";
export { questionFault } from "./side/aside.ts";
export { type Member, membersIn, ROSTER, readMembers } from "./tenant/roster.ts";
export { TenantGate } from "./tenant/tenant-gate.ts";
export { policyBody, policyOf } from "./tenant/tenant-policies.ts";
export { discreetLines, discreetUsage } from "./view/discreet-credits.ts";
export { hasEnded } from "./view/ended-turn.ts";
export { isTranscriptCursor, type TranscriptStart } from "./view/transcript.ts";
export { promptTerminals } from "./view/turn-status.ts";
export type { FreshIds } from "./world.ts";
