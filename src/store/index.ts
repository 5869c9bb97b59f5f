/** What stores are made of and held by, as `fermata/store`. */

export { DONE, fail, ok, type Result } from "../core/result.ts";
export { type Excerpt, excerptOf } from "../core/search/excerpt.ts";
export { type SearchedMessage, searchEntries, searchedMessage } from "../core/search/message.ts";
export { readSought, type Sought, type Term } from "../core/search/query.ts";
export { caseSafe, idOfCaseSafe } from "../platform/case-safe.ts";
export type {
  Backend,
  Claim,
  DocumentQuery,
  DocumentRow,
  DocumentText,
  ListPosition,
  ListRange,
  ListRows,
  SuspectPast,
} from "./backend.ts";
export { pageOf } from "./backend.ts";
export {
  checkBytes,
  checkCommit,
  checkCut,
  checkEntries,
  checkEventId,
  checkFilter,
  checkJournal,
  checkKey,
  checkManifestOf,
  checkNames,
  checkOwner,
  checkPosition,
  checkQuery,
  checkTenant,
  commitBytes,
  invalid,
  type Position,
  pageRows,
  trimmedThrough,
  weighed,
} from "./check.ts";
export { CONTRACT_VERSION, checkStore } from "./compatibility.ts";
export { failpoint } from "./failpoint.ts";
export { checkManifest } from "./fields.ts";
export { GuardedStore } from "./guarded.ts";
export * from "./holder.ts";
export {
  activateStore,
  type Candidate,
  configSchema,
  type OptionRules,
  readConfig,
  type StoreConfig,
  storeContract,
  textOption,
} from "./lifecycle.ts";
export { SessionLocator } from "./locator.ts";
export type { StoreSteps } from "./operation.ts";
export { type Redacted, type Redaction, redactCommit } from "./redaction.ts";
export type { FoundRows, SearchPosition, SearchRange, SearchTerms } from "./search.ts";
export { SecretGuard } from "./secret.ts";
export type { SecretPatterns } from "./secret-filter.ts";
export type * from "./store.ts";
export { StoreSurface } from "./surface.ts";
