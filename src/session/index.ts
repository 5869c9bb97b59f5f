/**
 * What fronts know of sessions: one service, and the words of its requests and answers. A front
 * (HTTP today) imports this module and nothing else of `session/`; `test/layering.test.ts` says so.
 */
export type { NewSession } from "./actor/open.ts";
export { changeIn } from "./actor/written.ts";
export {
  AUDIT_FILES,
  type AuditFileFormat,
  type AuditFilter,
  type AuditPage,
  auditFile,
  auditPage,
  isAuditFileFormat,
  WHOLE_AUDIT,
} from "./audit/audit-view.ts";
export { AUDIT_ACTS, type ChangeAct, details } from "./audit/audited.ts";
export { changeEntry, type Steward } from "./audit/entries.ts";
export { type Batch, type Chunk, type Notice, notice, streamError } from "./bus/frame.ts";
export { EXPORT_FORMATS, isExportFormat } from "./export/export.ts";
export { NO_KNOWLEDGE, readKnowledge } from "./knowledge.ts";
export type { Resumed } from "./life/clients.ts";
export type { LiveSession } from "./live.ts";
export {
  ALL_TIME,
  type Balance,
  type StatementLine,
  statementCsv,
  USAGE_GROUPINGS,
  type WaitingForCredit,
} from "./meter/index.ts";
export { sessionPages } from "./replay.ts";
export type { PromptRequest, SessionService, SteerRequest } from "./service.ts";
export { questionFault } from "./side/aside.ts";
export { type Forked, turnOfRecord } from "./side/fork.ts";
export { isUnfinishedFork, UNFINISHED_FORK } from "./side/fork-draft.ts";
export { contextUsage, sessionStats } from "./stats/stats.ts";
export { TenantGate } from "./tenant/tenant-gate.ts";
export { agentState, availableCommands } from "./view/agent-state.ts";
export { approvalsView, askingDoubt } from "./view/approvals.ts";
export { sessionFields } from "./view/fields.ts";
export { isoTime, seenClients, summaryOfLive, summaryOfStored } from "./view/summary.ts";
export { type TranscriptStart, transcriptPage } from "./view/transcript.ts";
export {
  currentTurn,
  promotedMessages,
  promptTerminals,
  settledMessageIds,
  type TurnSource,
  turnOf,
} from "./view/turn-status.ts";
export { givenBy, type SessionWorld } from "./world.ts";
