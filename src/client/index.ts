/**
 * The client of a Fermata server, for browsers and for Node 22 and later. It has one dependency,
 * `eventsource-parser`.
 */
export type { SearchHit } from "../wire/search-hit.ts";
export type { AskChoice, AskHandle } from "./ask-handle.ts";
export { type ClientFault, FermataError } from "./fault.ts";
export {
  type AgentEntry,
  Fermata,
  type ListedSummary,
  type ListedWorkspace,
  type NewSessionOptions,
  type SessionQuery,
} from "./fermata.ts";
export type { EventCursor, FollowedItem, FollowState, ReceivedEvent } from "./follow.ts";
export type {
  PendingPrompt,
  PromptOptions,
  SessionHandle,
  SessionStatus,
} from "./session-handle.ts";
export type { LiveView, TurnInView, ViewOptions, ViewState } from "./session-view.ts";
export type { TenantSession, WatchedChange } from "./tenant-watch.ts";
export type { CallSettings, FermataOptions } from "./transport.ts";
export type {
  ChildSessionPart,
  StagePart,
  ToolCallPart,
  TurnPart,
  VerdictValue,
} from "./turn-fold.ts";
export type { TurnHandle } from "./turn-handle.ts";
