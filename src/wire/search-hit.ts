import type { SessionSummary } from "./session-summary.ts";

/** A message, or a session's title, in which a search has found all of its words. */
export interface SearchHit {
  readonly session: Pick<
    SessionSummary,
    "sessionId" | "workspaceCwd" | "status" | "updatedAt" | "displayName" | "createdBy" | "closed"
  >;
  /** Who says it; of a tool call its title is found. */
  readonly role: "user" | "assistant" | "tool" | "title";
  /** The turn that it is part of; a title has none. */
  readonly turnId?: string;
  readonly at: string;
  /** On one line; an ellipsis stands for what is left out before and behind. */
  readonly snippet: string;
  /** What was found: from which UTF-16 unit of the snippet, and to which. In order, and apart. */
  readonly marks: readonly (readonly [start: number, end: number])[];
}
