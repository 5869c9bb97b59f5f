import type { ChildId } from "../id.ts";
import type { Price, TokenUsage } from "../price.ts";
import type { ChildState, ContextUsage } from "../turn.ts";

/** What can have happened to a child session. Its words and asks are events of its parent. */
export interface ChildEvents {
  child_session_started: ChildStarted;
  child_usage_reported: ChildUsage;
  child_session_ended: ChildEnded;
}

/** What a child is begun with. */
export interface ChildStarted {
  childId: ChildId;
  /** The call that it answers, as the door for tools knows it. */
  callId: string;
  /** The tool call of the session's agent, where that is known. */
  toolCallId?: string;
  title: string;
  task: string;
  agent: string;
  model: string | null;
  skills?: readonly string[];
  readOnly: boolean;
  price: Price | null;
  deadlineAtMs: number;
}

interface ChildUsage {
  childId: ChildId;
  usage: ContextUsage;
}

interface ChildEnded {
  childId: ChildId;
  state: ChildState;
  text: string;
  error?: { readonly code: string; readonly message: string };
  /** What is known of it by now. */
  usage: { readonly model: string | null; readonly tokens: TokenUsage; readonly costMicro: number };
}
